"""Shortest ways over the links that are up: what full tables and all detours rest on.

Distances are found breadth first from the destination, one array operation per
distance, on first use; as many of them are kept as fit into a fixed memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from topos.graph import NONE, Fabric, IntArray, LinkState

#: Distance of a node from which there is no way.
UNREACHABLE = -1
#: Bytes of distances that one state of one fabric keeps.
_KEPT = 1 << 27


@dataclass(frozen=True, eq=False)
class Ways:
    """The fabric without the links in ``down``."""

    fabric: Fabric
    down: LinkState

    def to(self, node: int) -> IntArray:
        """Per node the number of hops to ``node``; UNREACHABLE (-1) where there is no way."""
        return self._kept(node)

    def nearer(self, at: int, node: int, links: LinkState) -> Iterator[int]:
        """The ports of ``at`` that lie on shortest ways to ``node``, in port order, less those
        that ``links`` holds down: whichever of them is taken, the distance falls."""
        distance = self.to(node)
        wanted = distance[at] - 1
        if wanted < 0:
            return
        for port, end in self.fabric.ports(at, self.down):
            if distance[end.node] == wanted and self.fabric.link_at(at, port) not in links.down:
                yield port

    def search(self, sources: Iterable[int], within: int | None = None) -> IntArray:
        """Hops from every node to the nearest of ``sources``, those over ``within`` left out."""
        start, peer = self._rows
        distance = np.full(self.fabric.size, UNREACHABLE, dtype=np.int32)
        frontier = np.fromiter(sources, dtype=np.int64)
        distance[frontier] = 0
        hops = 0
        while len(frontier) and hops != within:
            hops += 1
            first, count = start[frontier], start[frontier + 1] - start[frontier]
            before = np.cumsum(count) - count
            reached = peer[np.repeat(first - before, count) + np.arange(int(count.sum()))]
            reached = reached[distance[reached] == UNREACHABLE]
            distance[reached] = hops
            frontier = np.unique(reached)
        return distance

    @cached_property
    def _kept(self) -> Callable[[int], IntArray]:
        room = max(16, _KEPT // (4 * self.fabric.size))
        return lru_cache(maxsize=room)(lambda node: self.search((node,)))

    @cached_property
    def _rows(self) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], IntArray]:
        """Adjacency over links that are up: neighbours of v are peer[start[v]:start[v + 1]]."""
        slots = self.fabric.slots
        up = slots.peer != NONE
        if self.down:
            up &= ~np.isin(slots.link, np.fromiter(self.down.down, dtype=np.int32))
        before = np.concatenate([[0], np.cumsum(up)])
        return before[slots.start], slots.peer[up]
