"""Up*/down* routing: links point up a breadth-first tree; a way goes up first, then only down.

Links between nodes are directed by (level in the tree, node number), so that no cycle of
channels can form: there is no deadlock without virtual channels.  A node from which the
destination is reached by going down alone goes down, by the shortest such way; any other
goes up, towards the least total.  A node that a packet has come down to can always go on
down, so nothing but the destination has to be known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

from addressing.header import Forward, Header
from addressing.rule import RuleScheme
from topos.family import Family, param
from topos.graph import NONE

#: Next ports that are remembered, over all destinations.
_REMEMBERED = 1 << 22


@dataclass(frozen=True)
class UpDown(RuleScheme):
    """Full tables: one entry per vertex."""

    name: ClassVar[str] = "updown"
    summary: ClassVar[str] = "up*/down*: up a tree's levels first, then only down; no deadlock"
    source: ClassVar[str] = "Schroeder et al., Autonet, IEEE JSAC 1991, section 6.6.4"
    self_healing: ClassVar[bool] = True

    root: int = param("the node, counted among those that forward, at the top", low=0, default=0)

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
        """The nodes that forward, from the root down: by level, then by number.  Where links that
        are down leave several pieces, the others hang from their first node."""
        nodes = [node for node in range(self.fabric.size) if not self.fabric.is_end_host(node)]
        if not nodes:
            return ()
        level: dict[int, int] = {}
        for first in (nodes[self.root % len(nodes)], *nodes):
            queue = [] if first in level else [first]
            level |= dict.fromkeys(queue, 0)
            for at in queue:
                for end in self.fabric.neighbours(at, self.known):
                    if end not in level and not self.fabric.is_end_host(end):
                        level[end] = level[at] + 1
                        queue.append(end)
        return tuple(sorted(nodes, key=lambda node: (level[node], node)))

    @cached_property
    def _links(self) -> dict[int, tuple[list[tuple[int, int]], list[tuple[int, int]]]]:
        """Per node ((neighbour, port) further up, those further down), in port order."""
        rank = {node: rank for rank, node in enumerate(self.order)}
        found: dict[int, tuple[list[tuple[int, int]], list[tuple[int, int]]]] = {}
        for node in self.order:
            ends = [(end.node, port) for port, end in self.fabric.ports(node, self.known) if end.node in rank]
            above = [item for item in ends if rank[item[0]] < rank[node]]
            found[node] = above, [item for item in ends if rank[item[0]] > rank[node]]
        return found

    def _next_ports(self, vertex: int) -> list[int]:
        """Per node its port towards a vertex, ``NONE`` where there is no way."""
        port, hops = [NONE] * self.fabric.size, {vertex: 0}
        queue = [vertex] if vertex in self._links else []  # a host without a cable has no way in
        for at in queue:
            for end, _ in self._links[at][0]:
                if end not in hops:
                    hops[end] = hops[at] + 1
                    queue.append(end)
        for node in queue[1:]:
            port[node] = next(p for end, p in self._links[node][1] if hops.get(end) == hops[node] - 1)
        for node in self.order:
            above = [(hops[end], p) for end, p in self._links[node][0] if end in hops]
            if node not in hops and above:
                far, port[node] = min(above)
                hops[node] = far + 1
        return port

    @cached_property
    def _towards(self) -> Callable[[int], list[int]]:
        return lru_cache(maxsize=max(16, _REMEMBERED // self.fabric.size))(self._next_ports)
