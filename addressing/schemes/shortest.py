"""Full tables: one entry per destination at every node, with the first port on a shortest path.

The reference for stretch and table size.  Distances count links: from server to server through a switch
is two.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from addressing.algorithms.shortest_paths import ShortestPaths
from addressing.header import DELIVER, Forward, Header, NextHops, drop, exact, only
from addressing.scheme import ForwardingClass, Scheme
from topos.family import Family
from topos.graph import ALL_UP, LinkState


@dataclass(frozen=True)
class Shortest(Scheme):
    """A label is the server's number; the next hop is the lowest port on a shortest path."""

    name: ClassVar[str] = "shortest"
    summary: ClassVar[str] = "shortest-path routing with full tables, one entry per server"
    source: ClassVar[str] = "the reference that all papers compare with"

    @classmethod
    def incompatibility(cls, family: Family) -> str | None:
        return None

    @property
    def label_bits(self) -> int:
        return max(1, (self.fabric.servers - 1).bit_length())

    def label(self, node: int) -> int:
        return node

    def hop_bound(self) -> int:
        return self.fabric.size

    def next_hops(self, at: int, header: Header, links: LinkState = ALL_UP) -> NextHops:
        if header.label >= self.fabric.servers:
            return drop("no server has this label")
        if header.label == at:
            return DELIVER
        ports = list(self.shortest_paths.next_hop_ports(at, header.label, links))
        return self.select(ports) if ports else drop("no port on a shortest path is up")

    def select(self, ports: list[int]) -> NextHops:
        """The next hops among the ports on shortest paths: the first."""
        return only(Forward(ports[0]))

    def forwarding_classes(self, at: int) -> Iterable[ForwardingClass]:
        self.shortest_paths.prepare(at)
        for server in range(self.fabric.servers):
            yield exact(server, self.label_bits), Header(server)

    @cached_property
    def shortest_paths(self) -> ShortestPaths:
        """Shortest paths over the links known to be up."""
        return ShortestPaths(self.fabric, self.known)
