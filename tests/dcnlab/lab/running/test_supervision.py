"""Processes that somebody needs are started at once, without the pause after ends in a row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import pytest

from dcnlab.lab.emulation.running import Running
from dcnlab.lab.errors import LabError
from dcnlab.lab.events.journal import Journal
from dcnlab.lab.running.processes.backoff import MOST
from dcnlab.lab.running.processes.supervision import Supervision
from tests.dcnlab.lab.running.sleeper import Sleeper
from topos.graph import LinkState


@pytest.fixture
def sleeper() -> Iterator[Sleeper]:
    part = Sleeper(cast(Running, None))
    yield part
    part.end()


def supervision(part: Sleeper, *, enabled: bool = True) -> Supervision:
    """One that never starts anything by itself: its thread does not run."""
    nothing = frozenset[int]
    return Supervision(
        [part], Journal(), enabled, lambda: LinkState(nothing()), nothing, lambda _: None, lambda _: None
    )


def test_who_needs_a_process_does_not_wait_for_its_pause(sleeper: Sleeper) -> None:
    watched = supervision(sleeper)
    for number in range(MOST):
        sleeper.end()
        watched.hasten([sleeper])
        assert (sleeper.alive, sleeper.restarts) == (True, number + 1)
    watched.hasten([sleeper])  # it runs
    assert sleeper.restarts == MOST


def test_who_needs_a_process_that_was_given_up_is_told(sleeper: Sleeper) -> None:
    watched = supervision(sleeper, enabled=False)
    with pytest.raises(LabError, match="sleep does not run: `dcnlab restart` starts it"):
        watched.hasten([sleeper])
