"""The nodes of a lab."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.lab import NodeInfo
from dcnlab.lab.contract.operation import OPTIONAL, Operation

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.coordinator.lab import Coordinator


@dataclass(frozen=True)
class Nodes(Operation[list[NodeInfo]]):
    """Name, kind, label and address of every node, or of those that ``h*`` or ``h0,s1`` names."""

    name: ClassVar[str] = "nodes"
    records: ClassVar[bool] = False
    http: ClassVar[str] = "GET /nodes"
    returns: ClassVar[str] = "Name, kind, label and IPv4 address of each node."

    matching: str = field(default="", metadata={**OPTIONAL, "doc": "Only these: `h*`, or `h0,s1`."})

    def perform(self, lab: Coordinator, call: Call) -> list[NodeInfo]:
        from addressing.fields import ipv4
        from dcnlab.lab import naming

        fabric, scheme = lab.fabric, lab.scheme
        wanted = self.matching
        numbers = naming.nodes_matching(fabric, wanted, scheme) if wanted else range(fabric.size)

        def address(node: int) -> str | None:
            return ipv4.text(scheme.ipv4(node)) if fabric.is_server(node) else None

        return [
            NodeInfo(node.name, node.kind, node.label, address(node.index))
            for node in map(fabric.node, numbers)
        ]
