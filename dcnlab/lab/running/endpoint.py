"""Servers as endpoints of measurements."""

from __future__ import annotations

import socket
from dataclasses import dataclass

from addressing.fields import ipv4, ipv6
from addressing.scheme import Scheme
from dcnlab.lab.emulation import netns
from dcnlab.lab.errors import UsageError


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
    if version and version not in scheme.ip_versions:
        raise UsageError(f"the hosts of this lab have no IPv{version} addresses")
    number = scheme.ipv4(server)
    return ipv6.text(ipv6.embed(number)) if (version or scheme.ip_versions[0]) == 6 else ipv4.text(number)
