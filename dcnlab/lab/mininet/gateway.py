"""Mininet's NAT node in a fabric.

No scheme has an address outside.  So a server next to the NAT node is the gateway of the others: they send
what leaves the fabric to it through VXLAN tunnels, whose packets go by the scheme as any others do.  What
comes back goes from the gateway to the server without a tunnel.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mininet.link import Intf
from mininet.node import Node
from mininet.nodelib import NAT

from addressing.fields import ipv4
from dcnlab.lab.errors import UsageError
from dcnlab.lab.mininet import members
from dcnlab.lab.mininet.topo import FabricTopo
from dcnlab.lab.outside import networks
from hostagent.runtime.devices import TUN_NAME

#: The interface of a tunnel, and the gateway's address in it.
_TUNNEL, _TUNNEL_MAC = "outside", "02:00:00:00:00:01"
_VXLAN = "type vxlan id 1 dstport 4789 nolearning noudpcsum"


@dataclass
class Gateway:
    """The NAT node of a network, its interface to the fabric, and the server that is the gateway.

    Made before the agents, as :meth:`of` gives the server its link to the NAT node; :meth:`connect` follows
    when servers reach each other.
    """

    topo: FabricTopo
    nat: Node
    server: Node
    interface: Intf

    @classmethod
    def of(cls, topo: FabricTopo) -> Gateway | None:
        """The gateway to the NAT node that is linked with a node of ``topo``; None without such a node.

        A NAT node at a switch, where ``addNAT`` puts it by default, is moved to a server of that switch: no
        table has an entry for it.  UsageError if an address does not fit.
        """
        nodes = members.of(topo)
        for nat, interface in _links_of_nat_nodes():
            node = interface.node
            if node in nodes.values():
                _check(topo, nat)
                server = nodes[_nearest_server(topo, node.name)]
                if server is not node:
                    _move(interface, server)
                return cls(topo, nat, server, interface)
        return None

    def connect(self) -> None:
        """Send what leaves the fabric to the NAT node, from the gateway itself and through the tunnels."""
        own, outside = self._address(self.server), self.nat.IP()
        self._run(
            self.server,
            f"ip link add {_TUNNEL} address {_TUNNEL_MAC} {_VXLAN} local {own}",
            f"ip link set {_TUNNEL} up",
            *self._routes(self.server, self.interface.name),
            *(f"sysctl -qw net.ipv4.conf.{name}.forwarding=1" for name in (_TUNNEL, self.interface.name)),
            f"sysctl -qw net.ipv4.conf.{self.interface.name}.proxy_arp=1",
        )
        for server in members.servers(self.topo):
            if server is not self.server:
                self._run(
                    server,
                    f"ip link add {_TUNNEL} {_VXLAN} local {self._address(server)} remote {own}",
                    f"ip link set {_TUNNEL} up",
                    f"ip neighbour replace {outside} lladdr {_TUNNEL_MAC} dev {_TUNNEL} nud permanent",
                    *self._routes(server, _TUNNEL),
                )

    def _routes(self, server: Node, device: str) -> list[str]:
        """The routes of a server by the interface that leads outside; a reply may arrive by another one."""
        address, outside = self._address(server), self.nat.IP()
        lines = [f"sysctl -qw net.ipv4.conf.{name}.rp_filter=0" for name in ("all", "default", device)]
        if self.topo.fabric.relaying:
            lines.append(f"sysctl -qw net.ipv4.conf.{TUN_NAME}.rp_filter=0")
            assert self.topo.scheme is not None
            lines += [
                f"ip route replace {network} dev {TUN_NAME} src {address}"
                for network in networks.fabric_networks(self.topo.scheme)
            ]
        lines.append(f"ip route replace {outside} dev {device} src {address}")
        lines.append(f"ip route replace default via {outside} dev {device} onlink src {address}")
        return lines

    def _address(self, server: Node) -> str:
        assert self.topo.scheme is not None
        return ipv4.text(self.topo.scheme.ipv4(self.topo.fabric.index(server.name)))

    @staticmethod
    def _run(node: Node, *lines: str) -> None:
        """Run commands in a node; UsageError with the first that fails."""
        shown, _, code = node.pexec(["sh", "-ec", "exec 2>&1\n" + "\n".join(lines)])
        if code:
            raise UsageError(f"{node.name} cannot be connected with the NAT node: {' '.join(shown.split())}")


def _links_of_nat_nodes() -> Iterator[tuple[Any, Any]]:
    """The NAT nodes, and the interfaces to which they are linked."""
    for node in members.alive():
        for own in node.intfList() if isinstance(node, NAT) else ():
            if own.link:
                link: Any = own.link
                yield node, link.intf2 if link.intf1 is own else link.intf1


def _nearest_server(topo: FabricTopo, name: str) -> str:
    """The server itself; of a switch its first server, or the fabric's where it has none."""
    fabric = topo.fabric
    node = fabric.index(name)
    if fabric.is_server(node):
        return name
    here = [end.node for _, end in fabric.ports(node) if fabric.is_server(end.node)]
    return fabric.name(min(here, default=0))


def _move(interface: Intf, server: Node) -> None:
    """Make an interface of a switch that has not started an interface of a server."""
    switch, port = interface.node, server.newPort()
    name = f"{server.name}-eth{port}"
    switch.cmd(f"ip link set {interface.name} down")
    switch.cmd(f"ip link set {interface.name} netns {server.pid} name {name}")
    switch.delIntf(interface)
    interface.node, interface.name = server, name
    server.addIntf(interface, port, moveIntfFn=lambda *_: None)
    server.pexec(["ip", "link", "set", name, "up"])


def _check(topo: FabricTopo, nat: Any) -> None:
    """Raise UsageError unless the NAT node's address is free, and its rules hold for all servers."""
    assert topo.scheme is not None
    addresses, common = networks.servers(topo.scheme), networks.common_network(topo.scheme)
    if ipaddress.IPv4Address(nat.IP() or nat.params["ip"].partition("/")[0]) in addresses:
        raise UsageError(f"a server has the address of {nat.name}: give it another with addNAT(ip='ADDRESS/8')")
    if not common.subnet_of(ipaddress.IPv4Network(_full(nat.subnet), strict=False)):
        advice = f"give Mininet(ipBase='{common}')" if common.is_private else "use another scheme"
        text = f"the servers' addresses are in {common}, not in {nat.subnet}: {advice}"
        raise UsageError(f"{nat.name}: {text}, or dcnlab up --nat")


def _full(network: str) -> str:
    """A network with four numbers; Mininet writes 10.0/8."""
    address, _, length = network.partition("/")
    return ".".join((address.split(".") + ["0"] * 4)[:4]) + f"/{length or 32}"
