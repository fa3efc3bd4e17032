"""What links have carried in the last minutes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.network import LinkCounts, LinkReadings
from dcnlab.lab.contract.operation import Operation, Route

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.running.local_machine import LocalMachine


@dataclass(frozen=True)
class History(Operation[LinkReadings]):
    """What links have carried in the last 15 minutes."""

    name: ClassVar[str] = "history"
    route: ClassVar[Route] = Route.EVERYWHERE
    records: ClassVar[bool] = False
    http: ClassVar[str] = "GET /history"
    returns: ClassVar[str] = "The time now; when was read, links that were down, counters; the oldest first."

    def perform(self, lab: LocalMachine, call: Call) -> LinkReadings:
        from dcnlab.lab.instruments.counting.history import LinkHistory

        return LinkReadings(time.monotonic(), lab.own(LinkHistory).readings.read())

    @classmethod
    def merge(cls, answers: Sequence[LinkReadings]) -> LinkReadings:
        """Those of one machine; of several, at the times of the one that has read most often, on our clock."""
        return answers[0] if len(answers) == 1 else merged(answers, time.monotonic())


def merged(answers: Sequence[LinkReadings], now: float) -> LinkReadings:
    """The readings of several machines, each with a clock of its own, as if all had answered ``now``.

    A link between machines has counted as the end has that has counted more; a machine is taken as it was at
    its last reading before.
    """
    most = max(answers, key=lambda answer: len(answer.readings))
    times = [one.at - most.now for one in most.readings]
    seen = [_before(answer, times) for answer in answers if answer.readings]
    return LinkReadings(now, [_sum(now + at, together) for at, *together in zip(times, *seen, strict=True)])


def _before(answer: LinkReadings, times: Sequence[float]) -> list[LinkCounts]:
    """For each of these times, which are relative to the answer, the last reading before it, or the first."""
    own, last, taken = [one.at - answer.now for one in answer.readings], 0, []
    for at in times:
        while last + 1 < len(own) and own[last + 1] <= at:
            last += 1
        taken.append(answer.readings[last])
    return taken


def _sum(at: float, readings: Sequence[LinkCounts]) -> LinkCounts:
    """Readings of all machines as one."""
    links = [
        [max(one) for one in zip(*counts, strict=True)]
        for counts in zip(*(each.links for each in readings), strict=True)
    ]
    return LinkCounts(at, sorted({link for each in readings for link in each.down}), links)
