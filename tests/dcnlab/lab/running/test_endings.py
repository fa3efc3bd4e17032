"""Ends of watched processes are seen at once, also of one that was started again."""

from __future__ import annotations

import os
from typing import cast

from dcnlab.lab.emulation.running import Running
from dcnlab.lab.running.processes.endings import Endings
from tests.dcnlab.lab.running.sleeper import Sleeper
from topos.graph import LinkState


def sleepers(number: int) -> list[Sleeper]:
    parts = [Sleeper(cast(Running, None)) for _ in range(number)]
    for part in parts:
        part.start(LinkState(frozenset()))
    return parts


def running(endings: Endings, parts: list[Sleeper]) -> list[bool]:
    return list(map(endings.running(), parts))


def test_the_end_of_one_of_several_is_seen_without_a_wait() -> None:
    endings, parts = Endings(), sleepers(3)
    try:
        assert running(endings, parts) == [False, False, False], "nobody has said that they are to be watched"
        endings.renew(parts)
        assert running(endings, parts) == [True, True, True]
        parts[1].end()
        assert running(endings, parts) == [True, False, True]
        endings.wait(60)  # returns at once
        assert running(endings, parts) == [True, False, True]
    finally:
        for part in parts:
            part.end()


def test_one_that_was_started_again_is_watched_again() -> None:
    endings, (part,) = Endings(), sleepers(1)
    try:
        endings.renew([part])
        part.end()
        part.start(LinkState(frozenset()))
        assert running(endings, [part]) == [False]
        endings.renew([part])
        assert running(endings, [part]) == [True]
        endings.renew([])
        assert running(endings, [part]) == [False]
    finally:
        part.end()


def test_descriptors_of_ended_processes_are_closed() -> None:
    endings, (part,) = Endings(), sleepers(1)
    endings.renew([part])
    part.end()
    before = len(os.listdir("/proc/self/fd"))
    endings.renew([part])
    assert len(os.listdir("/proc/self/fd")) == before - 1
    endings.wake()
    endings.wait(60)  # returns at once
