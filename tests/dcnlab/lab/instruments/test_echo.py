"""When an echo request counts as lost."""

from __future__ import annotations

import pytest

from dcnlab.lab.instruments.packets.echo import Patience, is_lost


@pytest.mark.parametrize(
    ("sent", "answered", "now", "lost"),
    [
        (10, 0, 14, False),  # nothing was answered yet
        (10, 0, 16, True),
        (10, 14, 18, False),  # others are answered: the lab is slow
        (10, 14, 20, True),
        (10, 9, 16, True),  # answers before the request say nothing of it
        (10, 71, 72, True),  # not for ever: sequence numbers are used again
    ],
)
def test_a_request_is_lost_when_no_answers_arrive(sent: float, answered: float, now: float, lost: bool) -> None:
    assert is_lost(sent, answered, now, timeout=5) is lost


def test_a_stop_of_the_machine_is_not_silence_of_the_lab() -> None:
    patience = Patience(10)
    for now in (10.05, 10.1, 70.1, 70.15):  # nothing ran for a minute
        patience.turn(now)
    assert patience.spent < 0.3
    assert not is_lost(0, 0, patience.spent, timeout=5)


def test_turns_add_up_to_the_time_that_passes() -> None:
    patience = Patience(10)
    for turn in range(1, 201):
        patience.turn(10 + turn / 20)
    assert patience.spent == pytest.approx(10)
    assert is_lost(0, 0, patience.spent, timeout=5)
