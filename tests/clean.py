"""Whether files that the documents show pass this repository's checks of style and types."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

from tests import kernels

ROOT = Path(__file__).parents[1]
SETTINGS = str(ROOT / "pyproject.toml")


def check_clean(folder: Path, *files: str) -> None:
    """Ruff and mypy find nothing in these files of a folder.  What mypy found out of the modules that they
    import is kept from one clone to the next."""
    environment = os.environ | {"MYPYPATH": str(ROOT)}
    own = ("--config", SETTINGS, "--config", f"src = ['{ROOT}']")
    kept = kernels.home().parent / "mypy-of-examples"
    kept.mkdir(parents=True, exist_ok=True)
    with (kept / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for words in (
            ("ruff", "check", *own),
            ("ruff", "format", "--check", *own),
            ("mypy", "--config-file", SETTINGS, "--cache-dir", str(kept / "cache")),
        ):
            done = subprocess.run(
                [sys.executable, "-P", "-m", *words, *files],
                cwd=folder, env=environment, capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert done.returncode == 0, done.stdout + done.stderr
