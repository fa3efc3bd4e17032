"""Processes that somebody needs are started at once, without the pause after ends in a row."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import cast

import pytest

from dcnlab.lab.emulation.running import Running
from dcnlab.lab.errors import LabError
from dcnlab.lab.events.journal import Journal
from dcnlab.lab.running.processes.backoff import MOST
from dcnlab.lab.running.processes.supervised import SupervisedProcess
from dcnlab.lab.running.processes.supervision import Supervision
from topos.graph import LinkState


class Sleeper(SupervisedProcess):
    """A process that does nothing."""

    process: subprocess.Popen[bytes] | None = None

    @property
    def name(self) -> str:
        return "sleep"

    def pid(self) -> int | None:
        return self.process.pid if self.process is not None and self.process.poll() is None else None

    def start(self, state: LinkState) -> None:
        self.process = subprocess.Popen(["sleep", "600"])

    def end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


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
