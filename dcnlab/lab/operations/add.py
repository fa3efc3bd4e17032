"""A running lab gets hosts, links and switches: new ones, and what was removed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
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
    """Add a host, a link or a switch, or what was removed; return when the lab has converged.

    A new host gets a free address, and every host knows it by its name.  It is no node of the topology: `exec`,
    `ping`, `iperf` and `serve` know it.  A new switch has no links yet; a new link joins two switches, and the
    scheme computes its tables again: one that needs a certain topology is refused in one line.
    """

    name: ClassVar[str] = "add"
    examples: ClassVar[tuple[str, ...]] = (
        "dcnlab add LAB host h16 --to s3", "dcnlab add LAB host db --to s3 --address 10.1.0.7",
        "dcnlab add LAB link s0 s12", "dcnlab add LAB switch s20",
    )  # fmt: skip

    kind: str = word("A link, a host or a switch.", metavar="link|host|switch", complete="kinds")
    names: tuple[str, ...] = word("The two nodes of the link, or the node.", metavar="A [B]")
    to: str = argument("The switch of a new host.", default="", metavar="SWITCH", complete="nodes")
    address: str = argument("The IPv4 address of a new host.", default="")

    @classmethod
    def of(cls, kind: str, *names: str, to: str = "", address: str = "") -> Self:
        """``add("host", "h16", to="s3")`` adds a host, ``add("link", "s0", "s12")`` a link."""
        return cls(kind, names, to, address)

    def perform(self, lab: Coordinator, call: Call) -> NetworkChange:
        from dcnlab.lab.coordinator.removals import Removals

        if self.kind == "host" and self.to:
            return self._add_host(lab)
        kind = kind_of(self.kind)
        if self._is_new(lab, kind):
            return self._extend(lab, kind)
        known = lab.own(Removals).add(kind, self.names)
        return NetworkChange(self.kind, list(self.names), known.converged_ms)

    def _is_new(self, lab: Coordinator, kind: str) -> bool:
        """Whether the topology never had it."""
        if kind == "link":
            known = len(self.names) == 2 and all(map(partial(_is_node, lab), self.names))
            return known and not lab.fabric.links_between(*map(lab.node, self.names))
        if self.kind == "host" and len(self.names) == 1 and not _is_node(lab, self.names[0]):
            raise UsageError(f"say at which switch: `host {self.names[0]} --to s1`")
        return len(self.names) == 1 and not _is_node(lab, self.names[0])

    def _extend(self, lab: Coordinator, kind: str) -> NetworkChange:
        from dcnlab.lab.coordinator import growth
        from dcnlab.lab.running.extending import Extending
        from dcnlab.lab.running.local_machine import LocalMachine

        begun, machine = time.monotonic(), lab.machines[0]
        if not isinstance(machine, LocalMachine) or len(lab.machines) > 1:
            raise UsageError(
                "links and switches are added to labs on one machine: begin with a topology that has it"
            )
        with lab.link_lock:
            extending = machine.own(Extending)
            if kind == "link":
                config, scheme = growth.with_link(lab, self.names, extending.next_port)
            else:
                extending.check_name(self.names[0])
                config, scheme = growth.with_switch(lab, self.names[0])
            shards = extending.open_switches(scheme)
            lab.extend(config, scheme)
            extending.follow(config, scheme, shards)
        return NetworkChange(self.kind, list(self.names), round(1000 * (time.monotonic() - begun), 2))

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
        lab.later[host.name] = machine.later[host.name] = host.ip
        ms = round(1000 * (time.monotonic() - begun), 2)
        return NetworkChange(self.kind, [host.name], ms, ipv4.text(host.ip))


def _is_node(lab: Coordinator, name: str) -> bool:
    try:
        lab.node(name)
    except UsageError:
        return False
    return True


def kind_of(kind: str) -> str:
    """``link`` or ``node``, as links are named; UsageError for anything else."""
    if kind not in KINDS:
        raise UsageError(f"say link, host or switch, not {kind!r}")
    return KINDS[kind]
