"""Compiled kernels that are kept from one clone of the repository to the next.

numba keeps them beside the source and compiles again when a file is newer: in a fresh clone that takes
minutes.  Here they are kept in the user's cache, by the text of their module and of all modules with
kernels that it imports, directly or through others, since kernels contain the code of kernels that they call.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from functools import cache
from pathlib import Path

from numba.core import caching

ROOT = Path(__file__).parents[1]
PACKAGES = ("addressing", "topos", "dcnlab/evaluator")
#: An import at the top level from one of them.
IMPORT = re.compile(
    rf"^(?:from|import) ((?:{'|'.join(PACKAGES).replace('/', '[.]')})\b[\w.]*)(?: import (\([^)]*\)|.*))?", re.M
)
#: Kernels of other texts are removed after so many seconds without use.
KEPT = 3 * 24 * 3600


def keep() -> None:
    """From here on, in this process; with a numba that has no such setting, as numba does."""
    if hasattr(caching, "CacheImpl"):
        caching.CacheImpl._locator_classes.insert(0, KeptKernels)
        _remove_unused()


def home() -> Path:
    """The folder of all kept kernels."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dcnlab-tests" / "kernels"


@cache
def folder(module: Path) -> Path:
    """The folder for the kernels of a module as it and what it imports are now."""
    digest = hashlib.sha256()
    for name in sorted(reached(str(module))):
        if has_kernels(text := read(name)):
            digest.update(os.path.relpath(name, ROOT).encode() + b"\0" + text)
    found = home() / digest.hexdigest()[:16]
    found.mkdir(parents=True, exist_ok=True)
    os.utime(found)
    return found


@cache
def read(name: str) -> bytes:
    """What a file contains."""
    with open(name, "rb") as file:
        return file.read()


def has_kernels(text: bytes) -> bool:
    """True for modules with kernels, and for the module of their decorators."""
    return b"addressing.jit" in text or b"numba" in text


def reached(module: str) -> set[str]:
    """The module and those of PACKAGES that it imports, directly or through others."""
    found, pending = {module}, [module]
    while pending:
        new = imported(pending.pop()) - found
        found |= new
        pending += new
    return found


@cache
def imported(module: str) -> frozenset[str]:
    """The modules of PACKAGES that a module names at its top level."""
    names = set()
    for source, items in IMPORT.findall(read(module).decode()):
        names |= {source, *(f"{source}.{item}" for item in re.findall(r"\w+", items))}
    bases = [f"{ROOT}/{name.replace('.', '/')}" for name in names]
    files = [path for base in bases for path in (f"{base}.py", f"{base}/__init__.py")]
    return frozenset(path for path in files if os.path.exists(path))


def kept(path: Path) -> bool:
    """True for files of PACKAGES."""
    return any(path.is_relative_to(ROOT / package) for package in PACKAGES)


def _remove_unused() -> None:
    home().mkdir(parents=True, exist_ok=True)
    for other in home().iterdir():
        if other.stat().st_mtime < time.time() - KEPT:
            shutil.rmtree(other, ignore_errors=True)


class KeptKernels(getattr(caching, "_CacheLocator", object)):  # type: ignore[misc]
    """Where numba keeps a kernel of this repository."""

    def __init__(self, path: Path, line: int) -> None:
        self._path, self._line = path, line

    def get_cache_path(self) -> str:
        """A folder per package, as kernels of different packages may have the same name."""
        return str(folder(self._path) / str(self._path.parent.relative_to(ROOT)).replace("/", "."))

    def get_source_stamp(self) -> str:
        """What must be the same for a kernel to be used."""
        return folder(self._path).name

    def get_disambiguator(self) -> str:
        """Tells kernels of the same name in a file apart."""
        return str(self._line)

    @classmethod
    def from_function(cls, py_func: object, py_file: str) -> KeptKernels | None:
        """None for functions of other repositories, which numba keeps itself."""
        path = Path(py_file).resolve()
        if not kept(path):
            return None
        return cls(path, py_func.__code__.co_firstlineno)  # type: ignore[attr-defined]
