"""Links come back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.links import LinkChange
from dcnlab.lab.operations.fail import LinkOperation

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.coordinator.lab import Coordinator


@dataclass(frozen=True)
class Restore(LinkOperation[LinkChange]):
    """Bring a failed link or node back; return when the lab has converged.

    A link that was cut by itself stays cut when its node is restored; one whose node is cut comes up
    with the node.
    """

    name: ClassVar[str] = "restore"
    http: ClassVar[str] = "POST /nodes/{node}/restore, POST /links/{link}/restore"
    returns: ClassVar[str] = "As `dcnlab restore --json`."
    examples: ClassVar[tuple[str, ...]] = ("dcnlab restore LAB link h0 s4", "dcnlab restore LAB node h12")

    def perform(self, lab: Coordinator, call: Call) -> LinkChange:
        from dcnlab.lab.coordinator.removals import Removals

        lab.own(Removals).check_restored(self.kind, self.names)
        return self.change(lab, up=True)
