"""The table of a node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.fields import word
from dcnlab.lab.contract.operation import Operation, Route
from dcnlab.lab.contract.switches import TableComparison

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.running.local_machine import LocalMachine


@dataclass(frozen=True)
class Tables(Operation[TableComparison]):
    """The table of a node, as the scheme predicts it and as Open vSwitch holds it."""

    name: ClassVar[str] = "tables"
    route: ClassVar[Route] = Route.NODE
    records: ClassVar[bool] = False
    http: ClassVar[str] = "GET /nodes/{node}/table"
    returns: ClassVar[str] = "`predicted` by the scheme; `installed` and `equal`: null for servers."

    node: str = word("h3, s0 or coordinates.", complete="nodes")

    def perform(self, lab: LocalMachine, call: Call) -> TableComparison:
        from dcnlab.lab.inspection import tables

        return tables.compare(lab, lab.node(self.node))
