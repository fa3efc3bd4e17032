"""Worker processes that start as fresh interpreters and do not search the current folder.

``multiprocessing`` starts them as ``python -c``, which imports modules of the current folder first: a
user's ``random.py`` there would run in each.
"""

from __future__ import annotations

import functools
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any, TypeVar

from topos import plugins
from topos.files.file import GraphNote
from topos.spec import SpecError

_VARIABLE = "PYTHONSAFEPATH"
_changing = threading.Lock()


Q = TypeVar("Q")
R = TypeVar("R")


def with_custom(job: Callable[[Q], R]) -> Callable[[Q], R]:
    """A job that can be sent to workers, wherever they were started: it loads the user's own topologies and
    schemes first.  SpecError where a worker has another version of them."""
    return functools.partial(_run_with_custom, plugins.loaded(), plugins.digest(), job)


def _run_with_custom(custom: tuple[str, ...], digest: str, job: Callable[[Q], R], asked: Q) -> R:
    warnings.filterwarnings("ignore", category=GraphNote)  # the user was told where the job was given
    plugins.load(custom)
    if plugins.digest() != digest:
        raise SpecError(f"this worker has loaded another version of {', '.join(custom)}: start it again")
    try:
        return job(asked)
    except Exception as error:
        if text := plugins.custom_error(error):
            raise SpecError(text) from error
        raise


class _SafeProcess(SpawnProcess):
    def start(self) -> None:
        with _safe_path():
            super().start()


class SafeSpawnContext(SpawnContext):
    """``multiprocessing``'s spawn context with Python's safe path."""

    Process = _SafeProcess


def process_pool(
    count: int, context: SafeSpawnContext, begin: Callable[..., None], *arguments: Any
) -> ProcessPoolExecutor:
    """A pool of ``count`` workers, each of which first calls ``begin(*arguments)``."""
    with _safe_path():  # the pool's locks start a helper process
        return ProcessPoolExecutor(count, context, begin, arguments)


@contextmanager
def _safe_path() -> Iterator[None]:
    """While it lasts, Python processes that start do not search the current folder."""
    with _changing:
        before = os.environ.get(_VARIABLE)
        os.environ[_VARIABLE] = "1"
        try:
            yield
        finally:
            if before is None:
                del os.environ[_VARIABLE]
            else:
                os.environ[_VARIABLE] = before
