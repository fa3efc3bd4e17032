"""Numba's decorators, typed: kernels are compiled once, cached on disk, and run without the GIL."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar, cast

import numba
from numba.core import event

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


def compiled(function: F) -> F:
    """Compile a kernel for one thread."""
    return cast(F, numba.njit(cache=True, nogil=True)(function))


def borrowing(function: F) -> F:
    """Compile a kernel that makes no arrays, without counts of references to those that it is given.

    Numba counts them at each call of an inlined helper, for every array of a named tuple: a search was ten
    times slower by that.  Numba's option for it is not public; without it the kernel is only slower.
    """
    try:
        options: dict[str, Any] = {"cache": True, "nogil": True, "_nrt": False}
        return cast(F, numba.njit(**options)(function))
    except KeyError:
        return compiled(function)


def inlined(function: F) -> F:
    """Compile a helper into each kernel that calls it."""
    return cast(F, numba.njit(cache=True, nogil=True, inline="always")(function))


def threaded(function: F) -> F:
    """Compile a kernel whose ``numba.prange`` loops run on all of the process's threads."""
    return cast(F, numba.njit(cache=True, nogil=True, parallel=True)(function))


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
