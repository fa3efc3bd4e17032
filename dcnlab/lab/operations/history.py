"""What links have carried in the last minutes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.links import LinkCounts
from dcnlab.lab.contract.operation import Operation, Route

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.running.local_machine import LocalMachine


@dataclass(frozen=True)
class History(Operation[list[LinkCounts]]):
    """What links have carried in the last 15 minutes; nothing in a lab on several machines."""

    name: ClassVar[str] = "history"
    route: ClassVar[Route] = Route.EVERYWHERE
    records: ClassVar[bool] = False
    http: ClassVar[str] = "GET /history"
    returns: ClassVar[str] = "When it was read, links that were down, counters; the oldest first."

    def perform(self, lab: LocalMachine, call: Call) -> list[LinkCounts]:
        from dcnlab.lab.instruments.counting.history import LinkHistory

        return lab.own(LinkHistory).readings.read()

    @classmethod
    def merge(cls, answers: Sequence[list[LinkCounts]]) -> list[LinkCounts]:
        """Those of one machine; several have not read at the same times."""
        return answers[0] if len(answers) == 1 else []
