"""Numba's decorators, typed: kernels are compiled once, cached on disk, and run without the GIL."""

from __future__ import annotations

import hashlib
import importlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, cast

import numba
from numba.core import event
from numba.core.dispatcher import Dispatcher

F = TypeVar("F", bound=Callable[..., Any])

#: How OpenMP's threads wait: ``ACTIVE`` in a loop, ``PASSIVE`` asleep.
_WAIT_POLICY = "OMP_WAIT_POLICY"


def _wait_asleep() -> None:
    """Let the threads of kernels sleep between kernels, unless the user has set how they wait.

    By default they wait in a loop.  On a busy machine that loop takes the processor from the thread that
    they wait for: a kernel of half a millisecond then takes 20 ms of processor time.  OpenMP reads the
    variable when it is loaded; programs that this process starts do not get it.
    """
    if _WAIT_POLICY not in os.environ:
        os.environ[_WAIT_POLICY] = "PASSIVE"
        with suppress(ImportError):  # numba then has threads of another kind
            importlib.import_module("numba.np.ufunc.omppool")
        del os.environ[_WAIT_POLICY]


_wait_asleep()


#: Digests of the modules whose kernels a module calls, by its file.
_CALLED: dict[str, tuple[bytes, ...]] = {}


def called(names: Mapping[str, Any]) -> tuple[bytes, ...]:
    """Digests of the other modules whose kernels a module with these ``names`` calls, directly or through
    others.

    A compiled kernel contains those that it calls, but numba compiles it again only when its own file changes.
    """
    file = names["__file__"]
    if file not in _CALLED:
        others, pending = {file: names}, [names]
        while pending:
            for inside in map(_module_of, pending.pop().values()):
                if inside is not None and inside.get("__file__", file) not in others:
                    others[inside["__file__"]] = inside
                    pending.append(inside)
        _CALLED[file] = tuple(_digest(other) for other in sorted(others) if other != file)
    return _CALLED[file]


@cache
def _digest(file: str) -> bytes:
    return hashlib.sha256(Path(file).read_bytes()).digest()


def _module_of(value: object) -> dict[str, Any] | None:
    """The names of the module of a kernel, or of a module with kernels; None of other values."""
    if isinstance(value, ModuleType):
        return vars(value) if _has_kernels(value) else None
    return value.py_func.__globals__ if isinstance(value, Dispatcher) else None


@cache
def _has_kernels(module: ModuleType) -> bool:
    return any(isinstance(one, Dispatcher) for one in vars(module).values())


def _njit(function: F, **options: Any) -> F:
    """Compile a kernel, and keep it until its module, or one of which it calls kernels, changes."""
    kernel: Any = numba.njit(cache=True, nogil=True, **options)(function)
    with suppress(AttributeError, KeyError, OSError):  # not public; without it only its own module counts
        kept = kernel._cache._cache_file
        if others := called(function.__globals__):
            kept._source_stamp = (kept._source_stamp, *others)
    return cast(F, kernel)


def compiled(function: F) -> F:
    """Compile a kernel for one thread."""
    return _njit(function)


def borrowing(function: F) -> F:
    """Compile a kernel that makes no arrays, without counts of references to those that it is given.

    Numba counts them at each call of an inlined helper, for every array of a named tuple: a search was ten
    times slower by that.  Numba's option for it is not public; without it the kernel is only slower.
    """
    try:
        return _njit(function, _nrt=False)
    except KeyError:
        return compiled(function)


def inlined(function: F) -> F:
    """Compile a helper into each kernel that calls it."""
    return _njit(function, inline="always")


def threaded(function: F) -> F:
    """Compile a kernel whose ``numba.prange`` loops run on all of the process's threads."""
    return _njit(function, parallel=True)


@contextmanager
def compilations(notify: Callable[[str], None]) -> Iterator[None]:
    """Within the block call ``notify`` with a kernel's name when its compilation starts, and with an
    empty name when it ends.  A compilation takes seconds; its result is cached."""
    with event.install_listener("numba:compile", _Listener(notify)):
        yield


def listen(notify: Callable[[str], None]) -> None:
    """As :func:`compilations`, for the rest of the process."""
    event.register("numba:compile", _Listener(notify))  # type: ignore[no-untyped-call]


class _Listener(event.Listener):
    """Reports the outermost compilation only; the functions that a kernel calls are compiled within it."""

    def __init__(self, notify: Callable[[str], None]) -> None:
        self._notify = notify
        self._depth = 0

    def on_start(self, event: Any) -> None:
        self._depth += 1
        if self._depth == 1:
            self._notify(event.data["dispatcher"].py_func.__name__)

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if not self._depth:
            self._notify("")
