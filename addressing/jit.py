"""Typed faces of numba's decorators: compiled once, cached beside the module, run without the GIL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

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
