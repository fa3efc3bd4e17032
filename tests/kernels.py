"""Compiled kernels that are kept from one clone of the repository to the next.

numba keeps them beside the source and compiles again when a file is newer: in a fresh clone that takes
minutes.  Here they are kept in the user's cache, by the text of all modules with kernels: a change to any
of them compiles all again, since kernels contain the code of kernels that they call.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from functools import lru_cache
from pathlib import Path

from numba.core import caching

ROOT = Path(__file__).parents[1]
PACKAGES = ("addressing", "topos", "dcnlab/evaluator")
#: Kernels of other texts are removed after so many seconds without use.
KEPT = 3 * 24 * 3600


def keep() -> None:
    """From here on, in this process; with a numba that has no such setting, as numba does."""
    if hasattr(caching, "CacheImpl"):
        caching.CacheImpl._locator_classes.insert(0, KeptKernels)
        _remove_unused()


@lru_cache(maxsize=1)
def folder() -> Path:
    """The folder for the kernels of the present text."""
    digest = hashlib.sha256()
    for path in sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        text = path.read_bytes()
        if b"addressing.jit" in text or b"numba" in text:
            digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + text)
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return home / "dcnlab-tests" / "kernels" / digest.hexdigest()[:16]


def _remove_unused() -> None:
    used = folder()
    used.mkdir(parents=True, exist_ok=True)
    os.utime(used)
    for other in used.parent.iterdir():
        if other.stat().st_mtime < time.time() - KEPT:
            shutil.rmtree(other, ignore_errors=True)


class KeptKernels(getattr(caching, "_CacheLocator", object)):  # type: ignore[misc]
    """Where numba keeps a kernel of this repository."""

    def __init__(self, path: Path, line: int) -> None:
        self._path, self._line = path, line

    def get_cache_path(self) -> str:
        """A folder per package, as kernels of different packages may have the same name."""
        return str(folder() / str(self._path.parent.relative_to(ROOT)).replace("/", "."))

    def get_source_stamp(self) -> str:
        """What must be the same for a kernel to be used."""
        return folder().name

    def get_disambiguator(self) -> str:
        """Tells kernels of the same name in a file apart."""
        return str(self._line)

    @classmethod
    def from_function(cls, py_func: object, py_file: str) -> KeptKernels | None:
        """None for functions of other repositories, which numba keeps itself."""
        path = Path(py_file).resolve()
        if not any(path.is_relative_to(ROOT / package) for package in PACKAGES):
            return None
        return cls(path, py_func.__code__.co_firstlineno)  # type: ignore[attr-defined]
