"""A running lab gets hosts, and links and nodes that were removed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from dcnlab.lab.contract.fields import argument, word
from dcnlab.lab.contract.network import NetworkChange
from dcnlab.lab.contract.operation import Operation
from dcnlab.lab.errors import UsageError

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.coordinator.lab import Coordinator

#: Of what can be removed, and added again.
KINDS = {"link": "link", "host": "node", "switch": "node", "node": "node"}


@dataclass(frozen=True)
class Add(Operation[NetworkChange]):
    """Add a host at a switch, or a link or node that was removed; return when the lab has converged.

    A new host gets a free address, and every host knows it by its name.  It is no node of the topology: `exec`
    runs programs in it, and measurements know the hosts of the launch.
    """

    name: ClassVar[str] = "add"
    examples: ClassVar[tuple[str, ...]] = (
        "dcnlab add LAB host h16 --to s3", "dcnlab add LAB host db --to s3 --address 10.1.0.7",
        "dcnlab add LAB link h1 s3",
    )  # fmt: skip

    kind: str = word("A link, a host or a switch.", metavar="link|host|switch", complete="kinds")
    names: tuple[str, ...] = word("The two nodes of the link, or the node.", metavar="A [B]")
    to: str = argument("The switch of a new host.", default="", metavar="SWITCH", complete="nodes")
    address: str = argument("The IPv4 address of a new host.", default="")

    @classmethod
    def of(cls, kind: str, *names: str, to: str = "", address: str = "") -> Self:
        """``add("host", "h16", to="s3")`` adds a host, ``add("link", "h1", "s3")`` what was removed."""
        return cls(kind, names, to, address)

    def perform(self, lab: Coordinator, call: Call) -> NetworkChange:
        from dcnlab.lab.coordinator.removals import Removals

        if self.kind == "host" and self.to:
            return self._add_host(lab)
        known = lab.own(Removals).add(kind_of(self.kind), self.names)
        return NetworkChange(self.kind, list(self.names), known.converged_ms)

    def _add_host(self, lab: Coordinator) -> NetworkChange:
        from addressing.fields import ipv4
        from dcnlab.lab.running.later_hosts import LaterHosts
        from dcnlab.lab.running.local_machine import LocalMachine

        begun, machine = time.monotonic(), lab.machines[0]
        if not isinstance(machine, LocalMachine) or len(lab.machines) > 1:
            raise UsageError("hosts are added to labs on one machine: give this one its hosts at the launch")
        if len(self.names) != 1:
            raise UsageError("name one host, such as `host h16 --to s3`")
        with lab.link_lock:
            host = machine.own(LaterHosts).add(self.names[0], self.to, self.address)
        lab.later.add(host.name)
        machine.later.add(host.name)
        ms = round(1000 * (time.monotonic() - begun), 2)
        return NetworkChange(self.kind, [host.name], ms, ipv4.text(host.ip))


def kind_of(kind: str) -> str:
    """``link`` or ``node``, as links are named; UsageError for anything else."""
    if kind not in KINDS:
        raise UsageError(f"say link, host or switch, not {kind!r}")
    return KINDS[kind]
