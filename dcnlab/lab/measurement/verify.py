"""Proof of what a lab has installed: over all packets none loops, is lost, or arrives at a wrong host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from dcnlab.lab.instruments.arguments import argument
from dcnlab.lab.instruments.conducted import Conducted
from dcnlab.lab.instruments.measurement import Context
from dcnlab.lab.instruments.proof import ProofSide, VerifyResult, prove
from dcnlab.lab.instruments.side import Side

if TYPE_CHECKING:
    from dcnlab.lab.instruments.flow_place import Place
    from dcnlab.lab.running.lab import RunningLab
    from dcnlab.lab.running.network import Network


@dataclass(frozen=True)
class Verify(Conducted[VerifyResult]):
    """Prove of what is installed and the agents' rule that no packet loops, is lost, or is misdelivered.

    Nothing is sent. Exit 1 if something is violated.
    """

    name: ClassVar[str] = "verify"
    command: ClassVar[bool] = False

    any_packet: bool = argument("Also all other packets that servers could send: none may loop.", default=False)
    within: float = argument(
        "Two readings of all tables must agree within this time.", default=10.0, low=0.0, unit="s"
    )

    def side(self, lab: RunningLab, context: Context) -> Side:
        return ProofSide(lab)

    def conduct(
        self, network: Network, impaired: Sequence[Mapping[str, Any]], places: Sequence[Place], context: Context
    ) -> VerifyResult:
        context.progress(0, 1, "reading and checking tables")
        return prove(network, places, self.any_packet, self.within)
