"""The entries of a switch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.fields import word
from dcnlab.lab.contract.operation import Operation, Route
from dcnlab.lab.contract.switches import FlowEntries

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.running.local_machine import LocalMachine


@dataclass(frozen=True)
class Flows(Operation[FlowEntries]):
    """The flow entries of a switch with their counters, of any controller."""

    name: ClassVar[str] = "flows"
    route: ClassVar[Route] = Route.NODE
    at: ClassVar[str] = "switch"
    records: ClassVar[bool] = False
    http: ClassVar[str] = "GET /nodes/{node}/flows"
    returns: ClassVar[str] = (
        "`flows`: table, priority, match, actions, cookie, packets, bytes, seconds; `at`: when."
    )

    switch: str = word("s0, or coordinates.", complete="switches", called="node")

    def perform(self, lab: LocalMachine, call: Call) -> FlowEntries:
        from dcnlab.lab.inspection import flows

        return flows.flows(lab, lab.node(self.switch))
