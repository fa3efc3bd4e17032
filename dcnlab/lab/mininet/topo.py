"""A fabric as a Mininet ``Topo``: the same names and ports, and addresses once its controller is known.

Hosts are h0, h1, ..., switches s0, s1, ... (the datapath id of s<j> is j + 1), and every link joins the same
ports as in the fabric.
"""

from __future__ import annotations

import contextlib
import weakref
from typing import Any, ClassVar, Protocol

from mininet.topo import Topo

from addressing.fields import ipv4, mac
from addressing.scheme import Scheme
from topos.fabric import Fabric
from topos.registry import fabric, known


class Controlling(Protocol):
    """A controller that routes in the fabric of a topology."""

    def bind(self, topo: FabricTopo) -> Scheme:
        """Route in the fabric of ``topo`` from now on; the scheme."""


#: Controllers that have no topology yet, oldest first.  Mininet creates a controller and then asks the
#: topology for the parameters of hosts, and never tells one of the other.
unbound: list[weakref.ref[Controlling]] = []


class FabricTopo(Topo):  # type: ignore[misc]
    """A fabric; the argument is its specification, such as ``bcube:4,1``.

    Subclasses are the families; their arguments are the parameters of the specification.
    """

    family: ClassVar[str] = ""
    fabric: Fabric
    #: The scheme and the relaying hosts, once Mininet builds the network.
    scheme: Scheme | None
    relays: dict[str, Any]

    def build(self, *positional: object, **named: object) -> None:
        """Add nodes and links; raises SpecError when the arguments are wrong."""
        arguments = [str(value) for value in positional] + [f"{key}={value}" for key, value in named.items()]
        text = ",".join(arguments)
        self.fabric = network = fabric(f"{self.family}:{text}" if self.family else text)
        self.scheme, self.relays = None, {}
        for server in range(network.servers):
            self.addHost(network.name(server), fabric=self)
        for switch in range(network.switches):
            self.addSwitch(network.name(network.servers + switch), dpid=f"{switch + 1:016x}", fabric=self)
        for a, a_port, b, b_port in network.link_ends.tolist():
            self.addLink(
                network.name(a), network.name(b), port1=a_port, port2=b_port,
                addr1=mac.text(mac.hardware(a, a_port)), addr2=mac.text(mac.hardware(b, b_port)),
            )  # fmt: skip

    def nodeInfo(self, name: str) -> dict[str, Any]:
        """The parameters of a node; of a host also the addresses that the controller's scheme gives it."""
        info = dict(super().nodeInfo(name))
        if info.get("fabric") is not self or self.isSwitch(name):
            return info
        if self.scheme is None:
            with contextlib.suppress(StopIteration):
                self.scheme = next(_waiting()).bind(self)
        return {**info, **self._addresses(self.fabric.index(name))} if self.scheme else info

    def _addresses(self, server: int) -> dict[str, str]:
        assert self.scheme is not None
        length = 32 if self.fabric.relaying else self.scheme.ipv4_length
        port = next(port for port, _ in self.fabric.ports(server))
        return {
            "ip": f"{ipv4.text(self.scheme.ipv4(server))}/{length}",
            "mac": mac.text(mac.hardware(server, port)),
        }


def _waiting() -> Any:
    """The controllers without a topology; each leaves the list."""
    while unbound:
        if (controller := unbound.pop(0)()) is not None:
            yield controller


def of_family(name: str) -> type[FabricTopo]:
    """The class of a family, named as Mininet prints it: BCubeTopo."""
    return type(f"{known()[name].__name__}Topo", (FabricTopo,), {"family": name})
