"""When an echo request counts as lost."""

from __future__ import annotations

import pytest

from dcnlab.lab.instruments.echo import is_lost


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
