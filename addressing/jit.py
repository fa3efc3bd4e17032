"""Typed faces of numba's decorators: compiled once, cached beside the module, run without the GIL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import numba
from numba.core import event

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile a kernel for one thread."""
    return cast(F, numba.njit(cache=True, nogil=True)(function))


def inlined(function: F) -> F:
    """Compile a helper into each kernel that calls it."""
    return cast(F, numba.njit(cache=True, nogil=True, inline="always")(function))


def threaded(function: F) -> F:
    """Compile a kernel whose ``numba.prange`` loops run on all of the process's threads."""
    return cast(F, numba.njit(cache=True, nogil=True, parallel=True)(function))


@contextmanager
def compilations(notify: Callable[[str], None]) -> Iterator[None]:
    """Meanwhile ``tell`` hears the name of every kernel when its compilation begins, which takes seconds
    and is kept for the next time, and an empty one when it is done."""
    with event.install_listener("numba:compile", _Listener(notify)):
        yield


def listen(notify: Callable[[str], None]) -> None:
    """As :func:`compilations`, for as long as the process lives."""
    event.register("numba:compile", _Listener(notify))  # type: ignore[no-untyped-call]


class _Listener(event.Listener):
    """Tells of the outermost: a kernel's parts are compiled within it."""

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
