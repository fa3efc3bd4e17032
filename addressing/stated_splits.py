"""Routing by stated splits: what share of the packets for a server leaves a node by which port.

A file that ``dcnlab throughput --splits`` writes has a class of this base: the splits of the optimum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from addressing.header import Forward, Header, NextHops
from addressing.scheme import Scheme
from addressing.schemes.shortest import Shortest
from topos.family import Family
from topos.graph import ALL_UP, LinkState

#: Node -> server -> port -> weight, a whole number above 0; numbers are texts, as in JSON.
Stated = Mapping[str, Mapping[str, Mapping[str, int]]]


@dataclass(frozen=True)
class StatedSplits(Shortest):
    """Where no split is stated, and while links are down, packets take shortest paths.

    The ports of each server lead to it without a cycle; the next hops of shortest paths come nearer to the
    server, or to a node with a split.  So no packet loops.
    """

    topology: ClassVar[str]
    splits: ClassVar[Stated]

    ordered_by_distance = False

    @classmethod
    def incompatibility(cls, family: Family) -> str | None:
        fits = family.spec == cls.topology
        return None if fits else f"its splits are those of {cls.topology}"

    def next_hops(self, at: int, header: Header, links: LinkState = ALL_UP) -> NextHops:
        if not (self.known.down or links.down):
            stated = self._next_hops.get((at, header.label))
            if stated is not None:
                return stated
        return super().next_hops(at, header, links)

    def changed_labels(self, at: int, before: Scheme) -> None:
        return None

    @cached_property
    def _next_hops(self) -> dict[tuple[int, int], NextHops]:
        return {
            (int(node), int(server)): tuple(
                (Forward(int(port)), weight / sum(ports.values())) for port, weight in ports.items()
            )
            for node, servers in self.splits.items()
            for server, ports in servers.items()
        }
