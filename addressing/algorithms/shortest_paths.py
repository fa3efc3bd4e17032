"""Shortest paths over the links that are up, for full tables and backup paths.

Distances are computed on first use: breadth first from the destination, with one array operation per
hop.  A cache of fixed size keeps them.  Links are bidirectional, so distances cached for one end of a
pair serve the other end too.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from topos.fabric import Fabric
from topos.graph import NONE, IntArray, LinkState

#: The first position of each row of compressed rows.
Starts = np.ndarray[tuple[int], np.dtype[np.int64]]

#: The distance of a node from which there is no path.
UNREACHABLE = -1
#: The size of the cache of distances, in bytes.
_KEPT = 1 << 27
#: Which of equally near neighbours a scheme takes: the first, or by the destination (:func:`spread`).
TIES = ("first", "spread")


def spread(ports: int, destination: int, hops: int) -> int:
    """The number of the port, of so many on shortest paths, that leads to a destination so many hops away."""
    return (destination if hops % 2 else destination // ports) % ports


def one_of(ports: Sequence[int], destination: int, hops: int, ties: str) -> int:
    """The port, of some that are equally near a destination so many hops away, that :data:`TIES` names."""
    return ports[spread(len(ports), destination, hops) if ties == "spread" else 0]


@dataclass(frozen=True, eq=False)
class ShortestPaths:
    """Shortest paths of a fabric without the links in ``down``."""

    fabric: Fabric
    down: LinkState

    def distances_to(self, node: int) -> IntArray:
        """Per node the number of hops to ``node``; UNREACHABLE (-1) where there is no path."""
        kept = self._kept
        if node not in kept:
            while len(kept) >= max(16, _KEPT // (4 * self.fabric.size)):
                kept.popitem(last=False)
            kept[node] = self.search((node,))
        kept.move_to_end(node)
        return kept[node]

    def hops(self, a: int, b: int) -> int:
        """Hops between two nodes; UNREACHABLE without a path.  Uses the distances already cached for
        either of them."""
        if b not in self._kept and a in self._kept:
            return int(self._kept[a][b])
        return int(self.distances_to(b)[a])

    def prepare(self, at: int) -> None:
        """Compute what the next hops from one node to many others need."""
        for node in (*self.fabric.neighbours(at, self.down), at):
            self.distances_to(node)

    def prepare_each(self, count: int, before: ShortestPaths | None = None) -> None:
        """Compute the distances to the first ``count`` nodes at once, if they can be kept; from those of
        ``before``, which has a part of these failures."""
        if 4 * self.fabric.size * count <= _KEPT:
            hops = self.from_each(count) if before is None else self.following(before, before._every(count))
            self._kept.update(enumerate(np.ascontiguousarray(hops.T)))

    @cached_property
    def _every(self) -> Callable[[int], IntArray]:
        """:meth:`from_each`, kept."""
        return lru_cache(maxsize=1)(self.from_each)

    def next_hop_ports(self, at: int, node: int, links: LinkState) -> Iterator[int]:
        """The ports of ``at`` that lie on shortest paths to ``node``, in port order, without those
        whose links are down in ``links``.  Each of them reduces the distance by one."""
        wanted = self.hops(at, node) - 1
        if wanted < 0:
            return
        to = self._kept.get(node)
        for port, end in self.fabric.ports(at, self.down):
            hops = self.hops(end.node, node) if to is None else to[end.node]
            if hops == wanted and self.fabric.link_at(at, port) not in links.down:
                yield port

    def following_to(self, node: int) -> IntArray:
        """Per node the neighbour by the first of :meth:`next_hop_ports` to ``node``; NONE without one."""
        start, peer = self._rows
        hops = self.distances_to(node)
        near = np.repeat(np.arange(self.fabric.size), np.diff(start))
        nearer = np.flatnonzero((hops[peer] >= 0) & (hops[peer] == hops[near] - 1))[::-1]
        neighbours = np.full(self.fabric.size, NONE, dtype=np.int32)
        neighbours[near[nearer]] = peer[nearer]  # of several ports the first is written last
        return neighbours

    def from_each(self, sources: int) -> IntArray:
        """Hops from each of the first ``sources`` nodes: one row per node, one column per source;
        UNREACHABLE without a path."""
        return self.from_nodes(np.arange(sources))

    def following(self, before: ShortestPaths, hops: IntArray) -> IntArray:
        """The same, where ``hops`` is what ``before`` gives, which has a part of these failures.

        Distances are searched again from those sources only to which a node at a failed link has no other
        nearer neighbour."""
        lost = sorted(self.down.down - before.down.down)
        if before.down.down - self.down.down:
            return self.from_each(hops.shape[1])
        distances, concerned = hops.copy(), np.zeros(hops.shape[1], np.bool_)
        for a, _, b, _ in self.fabric.link_ends[lost].tolist():
            for near, far in ((a, b), (b, a)):
                if self.fabric.port_count(far) == 1:  # it leads nowhere: nobody else misses it
                    distances[far] = UNREACHABLE
                    distances[far, far : far + 1] = 0
                    continue
                ends = [end.node for _, end in self.fabric.ports(far, self.down)]
                others = (hops[ends] == hops[far] - 1).any(axis=0)
                concerned |= (hops[near] >= 0) & (hops[far] == hops[near] + 1) & ~others
        columns = np.flatnonzero(concerned)
        distances[:, columns] = self.from_nodes(columns)
        return distances

    def from_nodes(self, sources: NDArray[np.int64]) -> IntArray:
        """Hops from some nodes, a column each: breadth first from all at once, with a bit per source."""
        start, peer = self._rows
        linked = np.flatnonzero(np.diff(start))
        hops = np.full((self.fabric.size, len(sources)), UNREACHABLE, dtype=np.int32)
        hops[sources, np.arange(len(sources))] = 0
        reached = np.packbits(hops == 0, axis=1)
        distance, more = 0, bool(len(linked)) and bool(len(sources))
        while more:
            distance += 1
            fresh = np.bitwise_or.reduceat(reached[peer], start[linked], axis=0) & ~reached[linked]
            more = bool(fresh.any())
            reached[linked] |= fresh
            rows, columns = np.nonzero(np.unpackbits(fresh, axis=1, count=len(sources)))
            hops[linked[rows], columns] = distance
        return hops

    def search(self, sources: Iterable[int], within: int | None = None) -> IntArray:
        """Per node the hops to the nearest of ``sources``; UNREACHABLE beyond ``within`` hops."""
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
    def _kept(self) -> OrderedDict[int, IntArray]:
        """The cache: distances by node, the least recently used first."""
        return OrderedDict()

    @cached_property
    def _rows(self) -> tuple[Starts, IntArray]:
        return live_rows(self.fabric, self.down)


def live_rows(fabric: Fabric, down: LinkState) -> tuple[Starts, IntArray]:
    """Adjacency over the links that are up, in port order: neighbours of v are peer[start[v]:start[v + 1]]."""
    adjacency = fabric.adjacency
    up = adjacency.peer != NONE
    if down:
        up &= ~np.isin(adjacency.link, np.fromiter(down.down, dtype=np.int32))
    before = np.concatenate([[0], np.cumsum(up)])
    return before[adjacency.start], adjacency.peer[up]
