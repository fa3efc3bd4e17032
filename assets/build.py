"""Puts pinned npm packages where the web view and the documentation site serve them.

    build.py                of the view: `make assets`, and the build of a wheel
    build.py site FOLDER    of the site: `make docs`

They are not in the repository.  `npm ci` checks them against the hashes in package-lock.json.  Without them
the view works, but has no terminals, and maps have no coast; the site has no diagrams and, read from the disk,
no search.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

HERE = Path(__file__).parent
TARGET = HERE.parent / "dcnlab" / "lab" / "view" / "static" / "vendor"
#: Files of the packages, with their licences, and the names that they get.
FILES = {
    "@xterm/xterm/lib/xterm.mjs": "xterm.mjs",
    "@xterm/xterm/css/xterm.css": "xterm.css",
    "@xterm/xterm/LICENSE": "LICENSE",
    "@xterm/addon-fit/lib/addon-fit.mjs": "addon-fit.mjs",
    "world-atlas/land-50m.json": "land.json",
    "world-atlas/LICENSE": "land.LICENSE",
}
SITE_FILES = {
    "@mermaid-js/tiny/dist/mermaid.tiny.js": "mermaid.js",
    "@mermaid-js/tiny/LICENSE": "mermaid.LICENSE",
    "iframe-worker/shim/index.js": "iframe-worker.js",
    "iframe-worker/LICENSE": "iframe-worker.LICENSE",
}
_SECONDS = 120


def problem(packages: Path = HERE, target: Path = TARGET, files: Mapping[str, str] = FILES) -> str:
    """Install these files of the packages; why that is not possible, in one line, or nothing."""
    npm = shutil.which("npm")
    if npm is None:
        return "npm is not installed (apt install npm)"
    with tempfile.TemporaryDirectory() as folder:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(packages / name, folder)
        argv = [
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
                argv, cwd=folder, capture_output=True, text=True, timeout=_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return f"npm has not answered for {_SECONDS} s"
        if done.returncode:
            return f"npm: {(done.stderr.strip().splitlines() or ['failed'])[-1]}"
        target.mkdir(exist_ok=True)
        for source, name in files.items():
            shutil.copyfile(Path(folder, "node_modules", source), target / name)
    return ""


def main(argv: Sequence[str]) -> None:
    """Install what is asked for; exit code 1, with one line, where that is not possible."""
    match argv:
        case []:
            trouble, without = problem(), "the view will have no terminals and no coasts"
        case ["site", folder]:
            trouble = problem(HERE / "site", Path(folder), SITE_FILES)
            without = "the site will have no diagrams and, read from the disk, no search"
        case _:
            sys.exit("usage: build.py [site FOLDER]")
    if trouble:
        sys.exit(f"{without}: {trouble}")
    print(f"the pinned npm packages are in {Path(argv[1]) if argv else TARGET}")


if __name__ == "__main__":
    main(sys.argv[1:])
