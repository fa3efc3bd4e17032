"""How often and when a process is started again."""

from __future__ import annotations

from itertools import pairwise

from dcnlab.lab.running.processes.backoff import LONGEST, MOST, STEADY, Backoff


def crash_at_once(backoff: Backoff, now: float) -> list[float]:
    """The times of restarts of a process that always ends immediately."""
    times = []
    while (due := backoff.due(now)) is not None:
        times.append(due)
        backoff.restarted(due)
        now = due
    return times


def test_the_first_restart_is_at_once_and_pauses_grow_to_a_bound() -> None:
    times = crash_at_once(Backoff(), 100.0)
    assert times[0] == 100.0
    assert len(times) == MOST
    pauses = [after - before for before, after in pairwise(times)]
    assert pauses == sorted(pauses)
    assert 0 < pauses[0] < pauses[-1] <= LONGEST


def test_a_process_that_ran_steadily_has_all_its_restarts_again() -> None:
    backoff = Backoff()
    last = crash_at_once(backoff, 0.0)[-1]
    assert backoff.due(last + 1) is None
    later = last + STEADY + LONGEST + 1
    assert crash_at_once(backoff, later)[0] == later


def test_so_has_one_that_the_user_restarts() -> None:
    backoff = Backoff()
    last = crash_at_once(backoff, 0.0)[-1]
    backoff.forget()
    assert backoff.due(last + 1) == last + 1
