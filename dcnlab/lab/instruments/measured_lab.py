"""What a measurement knows of the lab that it measures, whether that has one machine or several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from addressing.scheme import Scheme
    from dcnlab.lab.options.config import LabConfig
    from dcnlab.lab.options.link_shape import Shape
    from dcnlab.lab.running.endpoint import Endpoint
    from topos.fabric import Fabric
    from topos.graph import LinkState


class MeasuredLab(Protocol):
    """The network, the links that are down, and nodes by name."""

    config: LabConfig
    fabric: Fabric

    @property
    def scheme(self) -> Scheme:
        """The scheme with the failures that the control plane knows."""

    @property
    def links(self) -> LinkState:
        """The links that are down."""

    @property
    def impairments(self) -> Mapping[int, Shape]:
        """The links that have impairments, by number."""

    def node(self, name: str) -> int:
        """The node of that name; UsageError with one line."""

    def server(self, name: str) -> int:
        """The server of that name; UsageError for switches."""

    def two_servers(self, a: str, b: str) -> tuple[int, int]:
        """Two different servers by name; UsageError otherwise."""

    def endpoint(self, server: int, version: int = 0) -> Endpoint:
        """A server with its address in an IP version (0: the first that the lab has)."""

    def address(self, server: int, version: int = 0) -> str:
        """Its address; UsageError for a version that it does not have."""

    def two_endpoints(self, a: str, b: str) -> tuple[Endpoint, Endpoint]:
        """The endpoints of two servers by name, for sockets in their namespaces; UsageError when they are on
        different machines."""

    def inside(self, name: str, words: list[str]) -> list[str]:
        """The command line that runs ``words`` in a node, where that is on this machine."""
