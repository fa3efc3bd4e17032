"""What a wheel of dcnlab holds: its packages with all files, examples, course, licence, and nothing else."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: The npm packages of the view, which are there if the machine that built the wheel has npm.
VENDOR = "dcnlab/lab/view/static/vendor/"
PACKAGES = ("topos", "addressing", "hostagent", "controller", "dcnlab")
_DATA = ("examples", "course")  # they become folders of dcnlab


def wrong(wheel: Path) -> list[str]:
    """One line for each file that is missing or does not belong there."""
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
        licensed = any(name.endswith(".dist-info/licenses/LICENSE") for name in archive.namelist())
    wanted = _wanted() | {name for name in held if name.startswith(VENDOR)}
    lines = [f"missing: {name}" for name in sorted(wanted - held)]
    lines += [f"does not belong there: {name}" for name in sorted(held - wanted)]
    return lines + ([] if licensed else ["missing: LICENSE"])


def _wanted() -> set[str]:
    argv = ["git", "-C", str(ROOT), "ls-files", "-z", *PACKAGES, *_DATA]
    names = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split("\0")
    return {f"dcnlab/{name}" if name.split("/")[0] in _DATA else name for name in names if name}
