"""An interface of the machine at a switch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.fields import argument, word
from dcnlab.lab.contract.lab import AttachedInterface
from dcnlab.lab.contract.operation import Operation, Route

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.running.local_machine import LocalMachine


@dataclass(frozen=True)
class AttachInterface(Operation[AttachedInterface]):
    """Make an interface of the machine a port of a switch, until the lab ends (docs/outside.md)."""

    name: ClassVar[str] = "attach"
    route: ClassVar[Route] = Route.NODE
    at: ClassVar[str] = "switch"
    examples: ClassVar[tuple[str, ...]] = (
        "dcnlab attach LAB s0 eth1", "dcnlab attach LAB s0 veth1 --as h1", "dcnlab attach LAB s0 eth1 --json",
    )  # fmt: skip

    switch: str = word("h3, s0, coordinates such as '(1,1)', or an IPv4 address.", metavar="NODE")
    interface: str = word("A network interface of the machine that runs the switch.", complete="nothing")
    host: str = argument("Give the interface the port of this plain host.", default="", flag="--as")

    def perform(self, lab: LocalMachine, call: Call) -> AttachedInterface:
        from dcnlab.lab.outside.attachment import Attachments

        return lab.own(Attachments).attach(self.switch, self.interface, self.host)
