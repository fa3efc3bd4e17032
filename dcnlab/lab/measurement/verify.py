"""Proof of what a lab has installed: over all packets none loops, is lost, or arrives at a wrong host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.fields import argument
from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.instruments.proof import Kept, ProofProbe, VerifyResult, prove

if TYPE_CHECKING:
    from dcnlab.lab.network.measured_lab import MeasuredLab


@dataclass(frozen=True)
class Verify(Measurement[VerifyResult]):
    """Prove of what is installed and the agents' rule that no packet loops, is lost, or is misdelivered.

    Nothing is sent. Exit 1 if something is violated.
    """

    name: ClassVar[str] = "verify"
    timed: ClassVar[bool] = False
    command: ClassVar[bool] = False

    any_packet: bool = argument("Also all other packets that servers could send: none may loop.", default=False)
    within: float = argument(
        "Two readings of all tables must agree within this time.", default=10.0, low=0.0, unit="s"
    )

    follow: bool = argument(
        "Check again only what has changed since the last such check of this lab.", default=False
    )

    def run(self, lab: MeasuredLab, context: Context) -> VerifyResult:
        context.progress(0, 1, "reading and checking tables")
        with context.probes(ProofProbe) as probes:
            kept = lab.own(Kept) if self.follow else None
            return prove(lab.scheme, lab.links, lab.config, probes, self.any_packet, self.within, kept)
