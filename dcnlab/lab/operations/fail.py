"""Links fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.links import LinkChange, LinkOperation

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.coordinator.lab import Coordinator


@dataclass(frozen=True)
class Fail(LinkOperation[LinkChange]):
    """Take down a link, or all links of a node; return when the lab has converged."""

    name: ClassVar[str] = "fail"
    http: ClassVar[str] = "POST /nodes/{node}/fail, POST /links/{link}/fail"
    returns: ClassVar[str] = "As `dcnlab fail --json`."
    examples: ClassVar[tuple[str, ...]] = ("dcnlab fail LAB link h0 s4", "dcnlab fail LAB node h12")

    def perform(self, lab: Coordinator, call: Call) -> LinkChange:
        return self.change(lab, up=False)
