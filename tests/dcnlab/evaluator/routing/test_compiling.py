"""Workers send messages about compilations to the process that waits for them."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection

import numba
import pytest

from dcnlab.evaluator import compiling


@numba.njit
def _doubled(value: int) -> int:
    return 2 * value


def _say(to: Connection) -> None:
    compiling.report_compilations(to)


def _twice(value: int) -> int:
    return int(_doubled(value))


SPAWN = multiprocessing.get_context("spawn")


def test_a_compilation_is_notified_at_start_and_end() -> None:
    said: list[str] = []
    with (
        compiling.compile_notifications(SPAWN, said.append) as to,
        ProcessPoolExecutor(1, SPAWN, _say, (to,)) as pool,
    ):
        assert pool.submit(_twice, 4).result() == 8
        assert pool.submit(_twice, 5).result() == 10
    assert said == ["_doubled", ""]


def test_a_dead_worker_does_not_block() -> None:
    said: list[str] = []
    with (
        pytest.raises(BrokenProcessPool),
        compiling.compile_notifications(SPAWN, said.append) as to,
        ProcessPoolExecutor(1, SPAWN, _say, (to,)) as pool,
    ):
        pool.submit(os._exit, 1).result()
    assert said == []


def test_of_two_compilations_one_is_named_until_it_ends() -> None:
    said: list[str] = []
    with compiling.compile_notifications(SPAWN, said.append) as to:
        assert to is not None
        for message in ((1, "rows"), (2, "trace"), (1, ""), (2, "")):
            to.send(message)
    assert said == ["rows", "rows", "trace", ""]


def test_without_a_listener_there_is_no_pipe() -> None:
    with compiling.compile_notifications(SPAWN, None) as to:
        assert to is None
