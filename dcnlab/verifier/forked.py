"""One function for many arguments on all processors, in forked processes: what has been computed is theirs."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any, TypeVar

A = TypeVar("A")
R = TypeVar("R")

#: Fewer arguments a processor are not worth the processes.
_FEW = 4
#: What the processes carry out.
_function: Callable[[Any], Any]


def forked(function: Callable[[A], R], arguments: Sequence[A]) -> Iterator[R]:
    """``map(function, arguments)``; results must be picklable, and no thread may hold a lock meanwhile."""
    cores = len(os.sched_getaffinity(0))
    if cores < 2 or len(arguments) < _FEW * cores:
        yield from map(function, arguments)
        return
    global _function
    _function = function
    gc.freeze()  # collections would touch, and so copy, all that is shared
    context = multiprocessing.get_context("fork")
    alone = signal.SIGINT, signal.SIG_IGN  # this process ends them
    with ProcessPoolExecutor(cores, context, signal.signal, alone) as pool:
        try:
            yield from pool.map(_call, arguments)
        except BaseException:  # interrupted: nobody waits for the remaining results
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        finally:
            gc.unfreeze()


def _call(argument: Any) -> Any:
    return _function(argument)
