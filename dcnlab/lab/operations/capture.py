"""Packets of a node, or what switches and their controller say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.fields import argument, word
from dcnlab.lab.contract.operation import Operation, Route
from dcnlab.lab.contract.programs import Exit
from dcnlab.lab.errors import UsageError

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.coordinator.lab import Coordinator
    from dcnlab.lab.running.local_machine import LocalMachine


@dataclass(frozen=True)
class Capture(Operation[Exit]):
    """Run tcpdump in a node on the client's descriptors, at one port or at all ports.

    The node may be ``controller``: the OpenFlow messages of all switches, or of one ``switch``.
    """

    name: ClassVar[str] = "capture"
    limit: ClassVar[float | None] = None
    by_hand: ClassVar[bool] = True
    route: ClassVar[Route] = Route.NODE
    descriptors: ClassVar[int] = 3

    node: str = word(
        "h3, s0, coordinates; or the connections to the controller.", "NODE|controller", complete="nodes"
    )
    port: int | None = argument("One port of the node (default: all).", default=None)
    options: tuple[str, ...] = ()
    count: int | None = argument("Stop after this many packets.", default=None, low=1)
    expression: tuple[str, ...] = word(
        "A tcpdump filter: icmp, 'udp port 53'.", "[FILTER...]", "nothing", default=()
    )
    switch: str = argument(
        "With controller: only the messages of this switch.", default="", metavar="SWITCH", optional=True
    )

    def check(self) -> None:
        """Refuse a switch beside a node."""
        super().check()
        if self.switch and self.node != "controller":
            raise UsageError("--switch needs `controller` instead of a node")

    def perform(self, lab: LocalMachine, call: Call) -> Exit:
        from dcnlab.lab.capture import command
        from dcnlab.lab.running import execution

        node, argv = command.requested(lab, command.Wanted(**vars(self)))
        return execution.run(lab, call, node, argv, ours=True)

    def node_of(self, lab: Coordinator) -> int | None:
        from dcnlab.lab.capture import command

        if self.node != command.CONTROLLER_NAME:
            return lab.node(self.node)
        if not self.switch and len(lab.machines) > 1:  # each machine has its own connections
            raise UsageError("switches of several machines talk to a controller: name one with --switch")
        return lab.node(self.switch) if self.switch else None
