"""A packet's path in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.fields import argument, word
from dcnlab.lab.contract.operation import Operation
from dcnlab.lab.contract.switches import PathStep

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.coordinator.lab import Coordinator


@dataclass(frozen=True)
class Explain(Operation[list[PathStep]]):
    """The path in words, node by node; among branches ``follow`` is "heaviest" or "first"."""

    name: ClassVar[str] = "explain"
    records: ClassVar[bool] = False
    http: ClassVar[str] = "GET /paths/{a}/{b}"
    returns: ClassVar[str] = (
        "The steps: node, reason, the entry that decides, whether it is installed, which it overrides."
    )

    a: str = word("The source.", complete="servers")
    b: str = word("The destination.", complete="servers")
    follow: str = argument(
        "Where several next hops have weights: the heaviest, or the first.",
        default="heaviest", choices=("heaviest", "first"), metavar="heaviest|first",
    )  # fmt: skip

    def perform(self, lab: Coordinator, call: Call) -> list[PathStep]:
        from dcnlab.lab.inspection import live_path
        from dcnlab.lab.instruments.probe import Context
        from dcnlab.lab.measurement.trace import TraceProbe, network

        with Context(call, lab.living).probes(TraceProbe) as probes:
            return live_path.explained(network(lab, probes), self.a, self.b, self.follow)
