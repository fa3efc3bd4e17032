"""Delay, loss, rate and errors of links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from dcnlab.lab.contract.fields import argument, named, word
from dcnlab.lab.contract.network import ImpairedLinks
from dcnlab.lab.contract.operation import Route
from dcnlab.lab.errors import UsageError
from dcnlab.lab.operations.fail import LinkOperation

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.running.local_machine import LocalMachine

_VALUES = {
    "delay": "One-way delay, such as 5ms.",
    "jitter": "By how much the delay varies, such as 1ms.",
    "loss": "Share of packets that are lost, such as 1%.",
    "rate": "Bandwidth, such as 50Mbit.",
    "duplicate": "Share of packets that arrive twice, such as 1%.",
    "reorder": "Share of packets that overtake delayed ones.",
    "corrupt": "Share of packets that get a wrong bit.",
}


@dataclass(frozen=True)
class Impair(LinkOperation[ImpairedLinks]):
    """Change delay, loss, rate and errors of links, in both directions or one; without a link, show them.

    Values that are not given stay as they are; the value `none` removes an impairment, and so does 0
    where it is no rate.  A change does not lose queued packets, except where netem is added to a rate that the
    launch gave.  Without netem in the kernel, htb imposes the rate, eBPF loss (as root), and a process of the
    lab the others.
    """

    name: ClassVar[str] = "impair"
    by_hand: ClassVar[bool] = True
    route: ClassVar[Route] = Route.EVERYWHERE
    http: ClassVar[str] = "POST /links/{link}/impair, GET /impairments"
    returns: ClassVar[str] = "As `dcnlab impair --json`."
    examples: ClassVar[tuple[str, ...]] = (
        "dcnlab impair LAB link h0 s4 --delay 5ms --jitter 1ms --loss 1% --rate 50Mbit",
        "dcnlab impair LAB link h* s4 --loss 1%",
        "dcnlab impair LAB link h0 s4 --from h0 --loss 1%",
        "dcnlab impair LAB all --rate 100Mbit",
        "dcnlab impair LAB all --clear",
        "dcnlab impair LAB",
    )

    kind: str = word(
        "A link, a node with all its links, or all links.",
        metavar="link|node|all",
        complete="kinds",
        default="",
    )
    names: tuple[str, ...] = word(
        "The two nodes of the link, which may be patterns, a port such as s0:3, or the node.",
        metavar="A [B [NUMBER]]",
        default=(),
    )
    values: Mapping[str, str] = named(_VALUES)
    sender: str = argument(
        "Only in the direction in which this node sends; a pattern names several.",
        default="", flag="--from", metavar="NODE", complete="nodes", optional=True,
    )  # fmt: skip
    clear: bool = argument("Return to the values of the launch.", default=False)

    @property
    def recorded(self) -> bool:
        return bool(self.kind)

    def to_json(self) -> Mapping[str, Any]:
        return super().to_json() if self.kind else {}

    def check(self) -> None:
        """Refuse a change of nothing, or of no link."""
        super().check()
        if self.kind and not self.values and not self.clear:
            raise UsageError("say what to change, such as loss 1%, or clear")
        if (self.values or self.clear or self.sender) and not self.kind:
            raise UsageError("say which links: `link A B`, `node A` or `all`")
        if self.values and self.clear:
            raise UsageError("clear takes no other values")

    def perform(self, lab: LocalMachine, call: Call) -> ImpairedLinks:
        from dcnlab.lab.running import impairing

        values = None if self.clear else self.values
        return impairing.change(lab, self.kind, self.names, self.sender, values)

    @classmethod
    def merge(cls, answers: Sequence[ImpairedLinks]) -> ImpairedLinks:
        """Every machine knows the shape of every link, and imposes it at its ends."""
        return answers[0]
