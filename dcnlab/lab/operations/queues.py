"""What waits at ports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.network import Queue
from dcnlab.lab.contract.operation import Operation, Route

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.running.local_machine import LocalMachine


@dataclass(frozen=True)
class Queues(Operation[list[Queue]]):
    """What waits at each port that has a queue: those of links with a rate, delay or loss."""

    name: ClassVar[str] = "queues"
    route: ClassVar[Route] = Route.EVERYWHERE
    records: ClassVar[bool] = False
    http: ClassVar[str] = "GET /queues"
    returns: ClassVar[str] = "Node, port, neighbour, packets that wait and those dropped, of each queue."

    def perform(self, lab: LocalMachine, call: Call) -> list[Queue]:
        from dcnlab.lab.inspection import queues

        return queues.queues(lab)

    @classmethod
    def merge(cls, answers: Sequence[list[Queue]]) -> list[Queue]:
        """In the order of the nodes: servers before switches, each by its number."""
        queues = [one for each in answers for one in each]
        return sorted(queues, key=lambda one: (one.node[0], int(one.node[1:]), one.port))
