"""Compiled kernels that are kept from one clone of the repository to the next.

numba keeps them beside the source and compiles again when a file is newer: in a fresh clone that takes
minutes.  Here they are kept in the user's cache, by the text of their module and of all modules with
kernels that it imports, directly or through others, since kernels contain the code of kernels that they call.

Commands and worker processes that tests start know nothing of that.  So in a clone where no module was compiled
yet the kept kernels are put beside the sources (:func:`lend`), and what those processes compiled is kept at the
end (:func:`collect`).
"""

from __future__ import annotations

import hashlib
import importlib
import os
import re
import shutil
import time
from functools import cache
from pathlib import Path
from typing import Any

from numba.core import caching

from addressing.jit import called

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
    path = home() / digest.hexdigest()[:16]
    path.mkdir(parents=True, exist_ok=True)
    os.utime(path)
    return path


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
    known, pending = {module}, [module]
    while pending:
        new = imported(pending.pop()) - known
        known |= new
        pending += new
    return known


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


def lend() -> list[Path]:
    """Put kept kernels beside those sources that have none there; these sources."""
    if not all(hasattr(caching, name) for name in ("CacheImpl", "InTreeCacheLocator")):
        return []
    fresh = [source for source in sources() if os.access(source.parent, os.W_OK) and not beside(source)]
    for source in fresh:
        for index in kept_beside(source).glob(f"{source.stem}.*.nbi"):
            _copy(_kept_index(source, index.stem), _numbas_index(source, index.stem))
    return fresh


def collect(fresh: list[Path]) -> None:
    """Keep what was compiled beside sources that had no kernels there before."""
    for source in fresh:
        for index in beside(source):
            kept_beside(source).mkdir(exist_ok=True)
            _copy(_numbas_index(source, index.stem), _kept_index(source, index.stem))


def sources() -> list[Path]:
    """The modules of PACKAGES with kernels."""
    files = [file for package in PACKAGES for file in (ROOT / package).rglob("*.py")]
    return [file for file in files if has_kernels(read(str(file)))]


def beside(source: Path) -> list[Path]:
    """The indices of kernels that numba itself has kept of a module."""
    return list((source.parent / "__pycache__").glob(f"{source.stem}.*.nbi"))


def kept_beside(source: Path) -> Path:
    """The folder in which kernels of a module are kept here."""
    return folder(source) / str(source.parent.relative_to(ROOT)).replace("/", ".")


def _kept_index(source: Path, name: str) -> Any:
    return _index(str(kept_beside(source)), name, _stamp(source, folder(source).name))


def _numbas_index(source: Path, name: str) -> Any:
    (source.parent / "__pycache__").mkdir(exist_ok=True)
    locator: Any = caching.InTreeCacheLocator(_copy, str(source))  # type: ignore[no-untyped-call]
    stamp = _stamp(source, locator.get_source_stamp())
    return _index(str(source.parent / "__pycache__"), name, stamp)


def _stamp(source: Path, own: str | bytes) -> Any:
    """The stamp of the kernels of a module, from its own."""
    name = ".".join(source.relative_to(ROOT).with_suffix("").parts)
    others = called(vars(importlib.import_module(name.removesuffix(".__init__"))))
    return (own, *others) if others else own


def _index(*words: Any) -> Any:
    """The index of a kernel in a folder, by its name, which is of use if a stamp is that of the source."""
    return caching.IndexDataCacheFile(*words)  # type: ignore[no-untyped-call]


def _copy(given: Any, taken: Any) -> None:
    """Copy the kernels of one index that the other lacks."""
    given_index, present = given._load_index(), taken._load_index()
    for key in given_index.keys() - present.keys():
        taken.save(key, given.load(key))


class KeptKernels(getattr(caching, "_CacheLocator", object)):  # type: ignore[misc]
    """Where numba keeps a kernel of this repository."""

    def __init__(self, path: Path, line: int) -> None:
        self._path, self._line = path, line

    def get_cache_path(self) -> str:
        """A folder per package, as kernels of different packages may have the same name."""
        return str(kept_beside(self._path))

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
