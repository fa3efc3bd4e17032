"""Whether the program was replaced under a running lab, whose processes would then mix two versions of it."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path

#: The folder with all packages of the program, and its packages.
_ROOT = Path(__file__).parents[3]
_PACKAGES = ("dcnlab", "hostagent", "controller", "addressing", "topos")
#: When this process began to use the program.
_BEGUN = time.time()
NOTE = "dcnlab was replaced after this lab was launched: end the lab and launch it again"


@cache
def version() -> str:
    """The version of the program, as it was at the first call."""
    from importlib.metadata import PackageNotFoundError, version  # not needed before

    with contextlib.suppress(PackageNotFoundError):
        return version("dcnlab")
    return "unknown"


def was_replaced() -> bool:
    """Whether the file of a module that this process has imported is newer than the process: quick to find."""
    return any_newer(Path(file) for module in tuple(sys.modules.values()) if (file := _file(module)))


def all_replaced(root: Path = _ROOT, since: float = _BEGUN) -> bool:
    """The same for all files of the program, those too that would be imported later."""
    return any_newer((file for package in _PACKAGES for file in (root / package).rglob("*.py")), since)


def any_newer(files: Iterable[Path], since: float = _BEGUN) -> bool:
    """Whether one of these files is newer than that."""
    for file in files:
        with contextlib.suppress(OSError):
            if file.stat().st_mtime > since:
                return True
    return False


def _file(module: object) -> str:
    """The source of a module of the program; empty for others."""
    file = getattr(module, "__file__", None) or ""
    return file if str(getattr(module, "__name__", "")).partition(".")[0] in _PACKAGES else ""
