"""Servers as endpoints of measurements, and the nodes of a lab by name."""

from __future__ import annotations

import socket
from dataclasses import dataclass

from addressing.fields import ipv4, ipv6
from addressing.scheme import Scheme
from dcnlab.lab import naming
from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.errors import UsageError
from topos.fabric import Fabric


@dataclass(frozen=True)
class Endpoint:
    """A server with its namespace and address."""

    name: str
    netns: str
    address: str

    @property
    def version(self) -> int:
        """The IP version of the address."""
        return 6 if ":" in self.address else 4

    def socket(self, kind: int, protocol: int = 0) -> socket.socket:
        """A new socket of the address family in the server's namespace."""
        family = socket.AF_INET6 if self.version == 6 else socket.AF_INET
        return netns.inside(self.netns, lambda: socket.socket(family, kind, protocol))


def of(scheme: Scheme, server: int, version: int = 0) -> Endpoint:
    """A server with its address in an IP version (0: the first that the lab has)."""
    name = scheme.fabric.name(server)
    return Endpoint(name, name, address(scheme, server, version))


def address(scheme: Scheme, server: int, version: int = 0) -> str:
    """A server's address in an IP version (0: the first that the lab has); UsageError for another."""
    return text_of(scheme.ipv4(server), scheme, version)


def text_of(number: int, scheme: Scheme, version: int = 0) -> str:
    """An IPv4 address of a lab's host as text, or the IPv6 address that contains it."""
    if version and version not in scheme.ip_versions:
        raise UsageError(f"the hosts of this lab have no IPv{version} addresses")
    return ipv6.text(ipv6.embed(number)) if (version or scheme.ip_versions[0]) == 6 else ipv4.text(number)


class NamedNodes:
    """A lab whose nodes are named."""

    fabric: Fabric
    #: The scheme as the lab was launched with it.
    launched_scheme: Scheme

    def node(self, name: str) -> int:
        """The node of that name; UsageError with one line."""
        return naming.node(self.fabric, name, self.launched_scheme)

    def node_of_process(self, name: str) -> int | None:
        """The node of a process: a server's agent or a switch's ovs-vswitchd; None for one of the whole lab."""
        return naming.process(self.fabric, name, self.launched_scheme)

    def server(self, name: str) -> int:
        """The server of that name; UsageError for switches."""
        return naming.server(self.fabric, name, self.launched_scheme)

    def two_servers(self, a: str, b: str) -> tuple[int, int]:
        """Two different servers by name; UsageError otherwise."""
        return naming.two_servers(self.fabric, a, b, self.launched_scheme)

    def endpoint(self, server: int, version: int = 0) -> Endpoint:
        """A server for measurements, with its address in an IP version."""
        return of(self.launched_scheme, server, version)

    def two_endpoints(self, a: str, b: str) -> tuple[Endpoint, Endpoint]:
        """The endpoints of two servers by name; UsageError when they are the same."""
        source, destination = self.two_servers(a, b)
        return self.endpoint(source), self.endpoint(destination)

    def address(self, server: int, version: int = 0) -> str:
        """A server's address in an IP version (0: the first that the lab has); UsageError for a version
        that it does not have."""
        return address(self.launched_scheme, server, version)
