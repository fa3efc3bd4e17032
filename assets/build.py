"""Puts the pinned npm packages of the web view where it serves them: `make assets`, and the build of a wheel.

They are not in the repository.  `npm ci` checks them against the hashes in package-lock.json.  Without them
the view works, but has no terminals.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
TARGET = HERE.parent / "dcnlab" / "lab" / "view" / "static" / "vendor"
#: Files of the packages, and their licence.
FILES = (
    "@xterm/xterm/lib/xterm.mjs",
    "@xterm/xterm/css/xterm.css",
    "@xterm/xterm/LICENSE",
    "@xterm/addon-fit/lib/addon-fit.mjs",
)
_SECONDS = 120


def problem() -> str:
    """Install the files; why that is not possible, in one line, or nothing."""
    npm = shutil.which("npm")
    if npm is None:
        return "npm is not installed (apt install npm)"
    with tempfile.TemporaryDirectory() as folder:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / name, folder)
        words = [
            npm,
            "ci",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--fetch-retries=1",
            "--prefix",
            folder,
        ]
        try:
            done = subprocess.run(
                words, cwd=folder, capture_output=True, text=True, timeout=_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return f"npm has not answered for {_SECONDS} s"
        if done.returncode:
            return f"npm: {(done.stderr.strip().splitlines() or ['failed'])[-1]}"
        TARGET.mkdir(exist_ok=True)
        for name in FILES:
            shutil.copyfile(Path(folder, "node_modules", name), TARGET / Path(name).name)
    return ""


def is_installed() -> bool:
    """Whether all files are there."""
    return all((TARGET / Path(name).name).exists() for name in FILES)


if __name__ == "__main__":
    found = problem()
    if found:
        sys.exit(f"the view will have no terminals: {found}")
    print(f"{len(FILES)} files in {TARGET}")
