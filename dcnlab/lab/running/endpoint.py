"""Servers as endpoints of measurements."""

from __future__ import annotations

import socket
from dataclasses import dataclass

from dcnlab.lab.emulation import netns


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
