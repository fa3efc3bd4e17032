"""An addressing plan for networks in which programs route: a subnet for each link, loopbacks for routers.

A *subnet* is a link between two nodes that are no switches, or all links of switches that are joined by links:
one broadcast domain.  One of two nodes gets a /31 (RFC 3021) or a /30, larger ones as much as they need.  An
IPv6 address contains the IPv4 address of its interface (:mod:`addressing.fields.ipv6`), so every IPv4 prefix
of length n is an IPv6 prefix of length 96 + n: a /31 becomes a /127 (RFC 6164), a loopback a /128.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from addressing.fields.ipv4 import AddressError
from topos.graph import Port
from topos.routed import RoutedFabric

#: Subnets are numbered from here, and loopbacks from there; both lie in 10.0.0.0/8.
_SUBNETS, _LOOPBACKS, _END = 10 << 24, (10 << 24) + (1 << 23), 11 << 24


@dataclass(frozen=True)
class Subnet:
    """A broadcast domain: its first address, the length of its IPv4 prefix, and the address of each port."""

    network: int
    length: int
    addresses: Mapping[Port, int]


@dataclass(frozen=True)
class AddressingPlan:
    """The plan of a network; ``link_length`` is that of links between two nodes, 31 or 30."""

    fabric: RoutedFabric
    link_length: int = 31

    @cached_property
    def subnets(self) -> Sequence[Subnet]:
        """All subnets, in the order of their links; AddressError where they do not fit into 10.0.0.0/9."""
        subnets, free = [], _SUBNETS
        for ports in self._domains():
            length = self._length(len(ports))
            size = 1 << 32 - length
            free = -(-free // size) * size
            first = free + (0 if length == 31 else 1)
            subnets.append(Subnet(free, length, {port: first + place for place, port in enumerate(ports)}))
            free += size
        if free > _LOOPBACKS:
            raise AddressError(f"{self.fabric.spec} has more links than 10.0.0.0/9 has subnets")
        return subnets

    @cached_property
    def by_port(self) -> Mapping[Port, tuple[int, int]]:
        """The IPv4 address and the length of its prefix, by port of a node that is no switch."""
        return {port: (address, net.length) for net in self.subnets for port, address in net.addresses.items()}

    @cached_property
    def _subnet_of(self) -> Mapping[Port, Subnet]:
        return {port: net for net in self.subnets for port in net.addresses}

    @cached_property
    def _by_node(self) -> Mapping[int, int]:
        """The lowest address of each node without a loopback: that of its first port."""
        return {port.node: address for port, (address, _) in sorted(self.by_port.items(), reverse=True)}

    def loopback(self, router: int) -> int:
        """The address of a router's loopback interface."""
        if (address := _LOOPBACKS + router + 1) >= _END:
            raise AddressError(f"router {router} has no loopback address in 10.128.0.0/9")
        return address

    def address(self, node: int) -> int:
        """The address by which others reach a node: a router's loopback, a host's interface."""
        if node in self.fabric.routers or node not in self._by_node:
            return self.loopback(node)
        return self._by_node[node]

    def gateway(self, host: int) -> int | None:
        """The address of the first router on a plain host's subnet; None without one."""
        if not self.fabric.is_end_host(host):
            return None
        net = next(self._subnet_of[Port(host, number)] for number, _ in self.fabric.ports(host))
        return next((a for port, a in net.addresses.items() if port.node in self.fabric.routers), None)

    def _length(self, members: int) -> int:
        if members <= 2:
            return self.link_length
        return 32 - (members + 1).bit_length()

    def _domains(self) -> Iterator[list[Port]]:
        """The ports, at nodes that are no switches, of each broadcast domain that has any."""
        fabric, domain = self.fabric, list(range(self.fabric.size))

        def find(node: int) -> int:
            while domain[node] != node:
                domain[node] = node = domain[domain[node]]
            return node

        for link in fabric.links():
            if not fabric.is_server(link.a.node) and not fabric.is_server(link.b.node):
                domain[find(link.a.node)] = find(link.b.node)
        members: dict[tuple[str, int], list[Port]] = {}
        for link in fabric.links():
            switch = next((end.node for end in (link.a, link.b) if not fabric.is_server(end.node)), None)
            key = ("link", link.index) if switch is None else ("switches", find(switch))
            members.setdefault(key, []).extend(end for end in (link.a, link.b) if fabric.is_server(end.node))
        yield from (sorted(ports) for ports in members.values() if ports)
