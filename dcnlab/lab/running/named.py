"""Nodes of a lab by name, and servers as endpoints."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from dcnlab.lab import naming
from dcnlab.lab.running import endpoint
from dcnlab.lab.running.endpoint import Endpoint

if TYPE_CHECKING:
    from addressing.scheme import Scheme
    from topos.fabric import Fabric


class NamedNodes:
    """A lab whose nodes are named."""

    fabric: Fabric

    @property
    @abstractmethod
    def launched_scheme(self) -> Scheme:
        """The scheme as the lab was launched with it."""

    def node(self, name: str) -> int:
        """The node of that name; UsageError with one line."""
        return naming.node(self.fabric, name, self.launched_scheme)

    def server(self, name: str) -> int:
        """The server of that name; UsageError for switches."""
        return naming.server(self.fabric, name, self.launched_scheme)

    def two_servers(self, a: str, b: str) -> tuple[int, int]:
        """Two different servers by name; UsageError otherwise."""
        return naming.two_servers(self.fabric, a, b, self.launched_scheme)

    def endpoint(self, server: int, version: int = 0) -> Endpoint:
        """A server for measurements, with its address in an IP version."""
        return endpoint.of(self.launched_scheme, server, version)

    def two_endpoints(self, a: str, b: str) -> tuple[Endpoint, Endpoint]:
        """The endpoints of two servers by name; UsageError when they are the same."""
        source, destination = self.two_servers(a, b)
        return self.endpoint(source), self.endpoint(destination)

    def address(self, server: int, version: int = 0) -> str:
        """A server's address in an IP version (0: the first that the lab has); UsageError for a version
        that it does not have."""
        return endpoint.address(self.launched_scheme, server, version)
