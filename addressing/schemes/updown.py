"""Up*/down* routing: a path goes up a breadth-first tree first, then only down (Autonet, section 6.6.4).

(Level in the tree, node number) gives every link a direction, so channels cannot wait for each other in a
cycle: there is no deadlock, without virtual channels.  A node that reaches the destination by going down
only goes down, on the shortest such path.  Any other node goes up, on the path of least total length.  A
packet that has gone down can always go on down, so the destination alone determines the next hop.  Of ports
that are equally good it is the first, or with ``ties=spread`` one by the destination, as in ``shortest``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from addressing.algorithms.shortest_paths import TIES, Starts, live_rows, one_of
from addressing.header import Forward, Header
from addressing.rule import RuleScheme
from topos.family import Family, param
from topos.graph import NONE, IntArray

#: Ports kept in the cache, over all destinations.
_KEPT = 1 << 22


@dataclass(frozen=True)
class UpDown(RuleScheme):
    """Full tables: one entry per vertex."""

    name: ClassVar[str] = "updown"
    summary: ClassVar[str] = (
        "up*/down* routing: up a spanning tree first, then only down; deadlock-free; ties to one port, or"
        " spread (ties=spread)"
    )
    source: ClassVar[str] = "Schroeder et al., Autonet, IEEE JSAC 1991, section 6.6.4"
    self_healing: ClassVar[bool] = True

    root: int = param("root of the tree: its number among the nodes that forward", low=0, default=0)
    ties: str = param(
        "which of equally short paths: by the first port, or spread by destination",
        choices=TIES,
        default="first",
    )

    @classmethod
    def incompatibility(cls, family: Family) -> str | None:
        return None

    # --- the rule -------------------------------------------------------------

    def rule_bound(self) -> int:
        return self.fabric.size

    def rule(self, at: int, vertex: int, header: Header) -> Forward | None:
        port = self._towards(vertex)[at]
        return None if port == NONE else Forward(port)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The nodes that forward, from the root down: by level, then by number.

        Where failures leave several pieces, the first node of each further piece is its root."""
        nodes = np.arange(0 if self.fabric.relaying else self.fabric.servers, self.fabric.size)
        if not len(nodes):
            return ()
        start, peer = live_rows(self.fabric, self.known)
        level = np.full(self.fabric.size, NONE)
        level[: nodes[0]] = 0  # plain hosts, which no path passes
        for first in (nodes[self.root % len(nodes)], *nodes):
            if level[first] == NONE:
                _find_levels(level, first, start, peer)
        return tuple(nodes[np.argsort(level[nodes], kind="stable")].tolist())

    @cached_property
    def _links(self) -> dict[int, tuple[list[tuple[int, int]], list[tuple[int, int]]]]:
        """Per node the (neighbour, port) pairs up, and those down, in port order."""
        rank = {node: rank for rank, node in enumerate(self.order)}
        links: dict[int, tuple[list[tuple[int, int]], list[tuple[int, int]]]] = {}
        for node in self.order:
            ends = [(end.node, port) for port, end in self.fabric.ports(node, self.known) if end.node in rank]
            above = [item for item in ends if rank[item[0]] < rank[node]]
            links[node] = above, [item for item in ends if rank[item[0]] > rank[node]]
        return links

    def _next_ports(self, vertex: int) -> list[int]:
        """Per node its port towards a vertex, ``NONE`` where there is no path."""
        port, hops = [NONE] * self.fabric.size, {vertex: 0}
        queue = [vertex] if vertex in self._links else []  # no path leads to a host without a link
        for at in queue:
            for end, _ in self._links[at][0]:
                if end not in hops:
                    hops[end] = hops[at] + 1
                    queue.append(end)
        for node in queue[1:]:
            below = [p for end, p in self._links[node][1] if hops.get(end) == hops[node] - 1]
            port[node] = one_of(below, self.ranks[vertex], hops[node], self.ties)
        for node in self.order:
            above = [(hops[end], p) for end, p in self._links[node][0] if end in hops]
            if node not in hops and above:
                hops[node] = min(above)[0] + 1
                nearest = [p for far, p in above if far == hops[node] - 1]
                port[node] = one_of(nearest, self.ranks[vertex], hops[node], self.ties)
        return port

    @cached_property
    def _towards(self) -> Callable[[int], list[int]]:
        return lru_cache(maxsize=max(16, _KEPT // self.fabric.size))(self._next_ports)


def _find_levels(level: NDArray[np.int64], root: int, start: Starts, peer: IntArray) -> None:
    """Write the levels of the nodes that a root reaches over nodes without a level."""
    frontier, depth = np.array([root]), 0
    while len(frontier):
        level[frontier] = depth
        depth += 1
        counts = start[frontier + 1] - start[frontier]
        before = np.cumsum(counts) - counts
        ends = peer[np.repeat(start[frontier] - before, counts) + np.arange(counts.sum())]
        frontier = np.unique(ends[level[ends] == NONE])
