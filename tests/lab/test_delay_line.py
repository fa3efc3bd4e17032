"""What the delay line does to packets: when they leave, and which."""

from __future__ import annotations

import random

import pytest

from dcnlab.lab.emulation import shaping
from dcnlab.lab.emulation.delay_line import End, Schedule, Settings
from dcnlab.lab.link_shape import Shape


def end(**settings: float) -> End:
    return End(0, lambda packet: None, Settings(**settings))


def test_packets_leave_when_they_have_waited_and_in_order() -> None:
    schedule, slow, fast = Schedule(), end(delay=0.5), end(delay=0.1)
    assert schedule.wait(0.0) is None
    for number in range(5):
        schedule.add(slow, b"%d" % number, 1.0)
    schedule.add(fast, b"first", 1.2)
    assert schedule.wait(1.2) == pytest.approx(0.1)
    assert list(schedule.due(1.29)) == []
    assert list(schedule.due(1.3)) == [(fast, b"first")]
    assert [packet for _, packet in schedule.due(9.0)] == [b"0", b"1", b"2", b"3", b"4"]
    assert (slow.waiting, fast.waiting, schedule.wait(9.0)) == (0, 0, None)


def test_a_change_moves_no_packet_that_waits() -> None:
    schedule, one = Schedule(), end(delay=0.5)
    schedule.add(one, b"a", 0.0)
    one.settings = Settings(delay=0.0)
    schedule.add(one, b"b", 0.1)
    assert [packet for _, packet in schedule.due(0.1)] == [b"b"]
    assert [packet for _, packet in schedule.due(0.5)] == [b"a"]


def test_shares_are_those_that_were_asked_for() -> None:
    schedule = Schedule(random.Random(1).random)
    one = end(loss=0.1, duplicate=0.2, delay=1.0, jitter=0.25)
    for _ in range(5000):
        schedule.add(one, b"x", 0.0)
    assert one.waiting == pytest.approx(5000 * 0.9 * 1.2, rel=0.05)
    assert not list(schedule.due(0.74))
    assert len(list(schedule.due(1.0))) == pytest.approx(2700, rel=0.05)
    assert len(list(schedule.due(1.25))) == pytest.approx(2700, rel=0.05)
    some = end(delay=1.0, reorder=0.25)
    for _ in range(5000):
        schedule.add(some, b"x", 0.0)
    assert len(list(schedule.due(0.0))) == pytest.approx(1250, rel=0.1)


def test_no_more_packets_wait_than_with_netem() -> None:
    schedule, one = Schedule(), end(delay=1.0)
    for _ in range(12_000):
        schedule.add(one, b"x", 0.0)
    assert one.waiting == 10_000


def test_a_shape_is_told_in_seconds_and_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shaping, "has_netem", lambda: False)
    shape = Shape(delay="5ms", jitter="200us", rate="5Mbit", loss="3%", reorder="50%")
    for problem, lost in (("", {}), ("run as root", {"loss": pytest.approx(0.03)})):
        monkeypatch.setattr(shaping.loss, "problem", lambda problem=problem: problem)
        told = {"delay": pytest.approx(0.005), "jitter": pytest.approx(0.0002), "reorder": 0.5}
        assert shaping.waiting(shape) == told | lost
    assert shaping.waiting(Shape(rate="5Mbit")) == {}
    assert Settings(**shaping.waiting(shape)).delay == pytest.approx(0.005)
