"""Whether the program was replaced under a running lab, whose processes would then mix two versions of it.

The lab's session imports some modules when they are needed first.  Of those that were replaced meanwhile it
imports none: what needs them ends with :data:`NOTE`.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from dcnlab.lab.errors import LabError

#: The folder with all packages of the program, and its packages.
_ROOT = Path(__file__).parents[3]
_PACKAGES = ("dcnlab", "hostagent", "controller", "addressing", "topos")
#: When this process began to use the program.
_BEGUN = time.time()
NOTE = "this lab was started by an older dcnlab: end the lab and launch it again"


class ReplacedError(LabError):
    """What is asked for needs a part of the program that is another one now."""

    def __init__(self) -> None:
        super().__init__(NOTE)


class OwnVersion:
    """Finds modules of the program as they were when this process began; ReplacedError for others."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """As :meth:`importlib.abc.MetaPathFinder.find_spec`; None for modules of others."""
        if fullname.partition(".")[0] not in _PACKAGES:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        other = next((spec for one in others if (spec := one.find_spec(fullname, path, target))), None)
        if all_replaced() if other is None else other.has_location and any_newer([Path(str(other.origin))]):
            raise ReplacedError
        return other


def keep_own() -> None:
    """Have this process import nothing from now on that is replaced later."""
    sys.meta_path.insert(0, OwnVersion())


def check_replaced() -> None:
    """Raise ReplacedError where a new process would run another version of the program."""
    if all_replaced():
        raise ReplacedError


@cache
def version() -> str:
    """The version of the program, and of a clone the commit, as they were at the first call."""
    from importlib.metadata import PackageNotFoundError, version  # not needed before

    installed = "unknown"
    with contextlib.suppress(PackageNotFoundError):
        installed = version("dcnlab")
    commit = _commit()
    return f"{installed.partition('+')[0]} at {commit[:8]}" if commit else installed


def _commit() -> str:
    """The commit of the clone that has the program; empty where it is in none."""
    folder = _ROOT / ".git"
    with contextlib.suppress(OSError):
        if folder.is_file():  # of a worktree
            folder = Path(folder.read_text().removeprefix("gitdir:").strip())
        head = (folder / "HEAD").read_text().strip()
        if not head.startswith("ref:"):
            return head
        shared = folder / "commondir"
        named, all_refs = head.removeprefix("ref:").strip(), folder
        if shared.exists():
            all_refs = folder / shared.read_text().strip()
        if (all_refs / named).exists():
            return (all_refs / named).read_text().strip()
        lines = (all_refs / "packed-refs").read_text().splitlines()
        return next((line.split()[0] for line in lines if line.endswith(f" {named}")), "")
    return ""


def was_replaced() -> bool:
    """Whether the file of a module that this process has imported is newer than the process: quick to find."""
    return any_newer(Path(file) for module in tuple(sys.modules.values()) if (file := _file(module)))


def all_replaced(root: Path = _ROOT, since: float = _BEGUN) -> bool:
    """Return whether any file of the program was replaced, also of those that would be imported later."""
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
