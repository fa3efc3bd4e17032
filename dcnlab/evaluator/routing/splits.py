"""Kernels over weighted next hops: packets for a destination spread over an acyclic graph.

The nodes are sorted so that each comes after all of its next hops.  One pass in this order
computes expectations; one pass in reverse order computes traffic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numba
import numpy as np

from addressing.jit import compiled, inlined, threaded
from dcnlab.evaluator.graph.hop_graph import live_links
from dcnlab.evaluator.graph.next_hops import uplinks
from dcnlab.evaluator.graph.sweeps import UNREACHABLE, Levels
from dcnlab.evaluator.routing.forms import Shares
from topos.arrays import Floats, Longs, Mask
from topos.fabric import Fabric
from topos.graph import NONE, IntArray, LinkState


@dataclass(frozen=True, eq=False)
class Splits:
    """The shares ``share[i, link]`` of the packets towards ``destinations[i]``.

    A host that does not relay sends over its uplink; the destination forwards nothing.  ``usable``
    is the mask of the links that are up.
    """

    fabric: Fabric
    destinations: IntArray
    share: Floats
    usable: Mask

    @classmethod
    def of(cls, fabric: Fabric, towards: Shares, destinations: IntArray, down: LinkState) -> Splits:
        """Call ``towards``; packets sent over a link that is ``down`` are lost."""
        usable, share, start = live_links(fabric, down), towards(destinations), fabric.adjacency.start
        first = uplinks(fabric, usable)
        share[:, : start[len(first)]] = 0.0
        share[:, first[first != NONE]] = 1.0
        for row, to in enumerate(destinations.tolist()):
            share[row, start[to] : start[to + 1]] = 0.0
        return cls(fabric, destinations, share, usable)

    @cached_property
    def order(self) -> IntArray:
        """``[i]``: the nodes, each after all of its next hops; raises ValueError for a cycle."""
        adjacency, share = self.fabric.adjacency, self.share
        order = _topological_order(share, adjacency.start, adjacency.peer, adjacency.peer_port, self.usable)
        if (order[:, -1] == NONE).any():
            raise ValueError("the shares lead into a cycle")
        return order

    def joint(self, cost: IntArray, distance: Levels, farthest: int) -> Floats:
        """``[h, d]``: the expected number of packets delivered after h hops from distance d.

        Every node v sends one packet to ``destinations[i]``, unless ``distance[i, v]`` is
        UNREACHABLE; ``farthest`` is the largest distance.  ``cost[v]`` is the number of hops that an
        arrival at v counts.
        """
        adjacency, threads = self.fabric.adjacency, numba.get_num_threads()
        rest = self.order, self.share, adjacency.start, adjacency.peer, self.usable, cost
        counted = _joint_by_thread(
            self.destinations, *rest, distance, _longest_path(*rest) + 1, farthest, threads
        )
        return np.asarray(counted.sum(axis=0))

    def loads(self, demand: IntArray) -> Floats:
        """Per directed link the expected number of packets, for ``demand[i, v]`` packets from v to
        ``destinations[i]``; a single row of ``demand`` applies to every destination."""
        adjacency, threads = self.fabric.adjacency, numba.get_num_threads()
        rest = self.destinations, self.order, self.share, adjacency.start, adjacency.peer, self.usable, threads
        sent = _sum_loads(demand, *rest)
        return np.asarray(sent.sum(axis=0))

    def delivered(self, demand: IntArray) -> int:
        """The number of packets of ``demand`` that cannot be lost, without those of the destination."""
        adjacency = self.fabric.adjacency
        safe = _safe_nodes(
            self.destinations, self.order, self.share, adjacency.start, adjacency.peer, self.usable
        )
        return int((demand * safe).sum())

    def crossings(self, sources: Sequence[IntArray]) -> tuple[Longs, IntArray, Floats]:
        """(row starts, links, shares): the directed links of each flow, and its share on each, in
        compressed rows.

        ``sources[i]`` are the sources of the flows to ``destinations[i]``.  A flow that may lose
        packets has no links.
        """
        adjacency = self.fabric.adjacency
        counts, crossed, parts = [np.zeros(1, dtype=np.int64)], [], []
        for row, some in enumerate(sources):
            each = _flow_links(
                some, int(self.destinations[row]), self.order[row], self.share[row], adjacency.start,
                adjacency.peer, self.usable,
            )  # fmt: skip
            counts.append(each[0])
            crossed.append(each[1])
            parts.append(each[2])
        return np.cumsum(np.concatenate(counts)), np.concatenate(crossed), np.concatenate(parts)


@threaded
def _topological_order(
    share: Floats, start: Longs, peer: IntArray, peer_port: IntArray, usable: Mask
) -> IntArray:
    count, size = len(share), len(start) - 1
    order = np.full((count, size), NONE, np.int32)
    for i in numba.prange(count):
        left, tail = np.zeros(size, np.int32), 0
        for node in range(size):
            for link in range(start[node], start[node + 1]):
                left[node] += share[i, link] > 0 and usable[link]
            if left[node] == 0:
                order[i, tail] = node
                tail += 1
        head = 0
        while head < tail:
            at = order[i, head]
            head += 1
            for link in range(start[at], start[at + 1]):
                if peer[link] == NONE:
                    continue
                back = start[peer[link]] + peer_port[link] - 1
                if share[i, back] > 0 and usable[back]:
                    left[peer[link]] -= 1
                    if left[peer[link]] == 0:
                        order[i, tail] = peer[link]
                        tail += 1
    return order


@threaded
def _longest_path(
    order: IntArray, share: Floats, start: Longs, peer: IntArray, usable: Mask, cost: IntArray
) -> int:
    """The largest number of hops of any path in use."""
    count, size = order.shape
    most = np.zeros(count, np.int64)
    for i in numba.prange(count):
        length = np.zeros(size, np.int64)
        for node in order[i]:
            for link in range(start[node], start[node + 1]):
                if share[i, link] > 0 and usable[link]:
                    length[node] = max(length[node], length[peer[link]] + cost[peer[link]])
        most[i] = length.max()
    return int(most.max())


@threaded
def _joint_by_thread(
    to: IntArray, order: IntArray, share: Floats, start: Longs, peer: IntArray, usable: Mask, cost: IntArray,
    distance: Levels, width: int, farthest: int, threads: int,
) -> Floats:  # fmt: skip
    """``[thread, hops, distance]``: expected packets.

    ``chance[v, h]``, the probability that a packet from v takes h hops, is computed for one
    destination at a time, in an array that fits the cache, from the fewest hops of v to the most.
    """
    size = order.shape[1]
    joints = np.zeros((threads, width, farthest + 1))
    for thread in numba.prange(threads):
        chance = np.zeros((size, width))
        low, high = np.zeros(size, np.int64), np.full(size, -1, np.int64)
        for i in range(thread, len(to), threads):
            for node in order[i]:
                chance[node, low[node] : high[node] + 1] = 0.0
                low[node], high[node] = width, -1
                if node == to[i]:
                    chance[node, 0], low[node], high[node] = 1.0, 0, 0
                for link in range(start[node], start[node + 1]):
                    part, end = share[i, link], peer[link]
                    if part > 0 and usable[link] and high[end] >= 0:
                        step = cost[end]
                        for hops in range(low[end], high[end] + 1):
                            chance[node, hops + step] += part * chance[end, hops]
                        low[node] = min(low[node], low[end] + step)
                        high[node] = max(high[node], high[end] + step)
                if distance[i, node] != UNREACHABLE:
                    for hops in range(low[node], high[node] + 1):
                        joints[thread, hops, distance[i, node]] += chance[node, hops]
    return joints


@inlined
def _never_lost(to: int, order: IntArray, share: Floats, start: Longs, peer: IntArray, usable: Mask) -> Mask:
    """Mask of the nodes from which no packet can be lost."""
    safe = np.zeros(len(order), np.bool_)
    for node in order:
        hops, good = 0, True
        for link in range(start[node], start[node + 1]):
            if share[link] > 0:
                hops += 1
                good = good and usable[link] and safe[peer[link]]
        safe[node] = node == to or (hops > 0 and good)
    return safe


@compiled
def _safe_nodes(
    to: IntArray, order: IntArray, share: Floats, start: Longs, peer: IntArray, usable: Mask
) -> Mask:
    """``[i, v]``: True where no packet from v to ``to[i]`` can be lost; False for the destination itself."""
    safe = np.empty(order.shape, np.bool_)
    for i in range(len(to)):
        safe[i] = _never_lost(to[i], order[i], share[i], start, peer, usable)
        safe[i, to[i]] = False
    return safe


@threaded
def _sum_loads(
    demand: IntArray,
    to: IntArray,
    order: IntArray,
    share: Floats,
    start: Longs,
    peer: IntArray,
    usable: Mask,
    threads: int,
) -> Floats:
    loads = np.zeros((threads, len(peer)))
    for thread in numba.prange(threads):
        for i in range(thread, len(to), threads):
            safe = _never_lost(to[i], order[i], share[i], start, peer, usable)
            mass = demand[i if len(demand) > 1 else 0] * safe.astype(np.float64)
            for node in order[i, ::-1]:
                for link in range(start[node], start[node + 1]):
                    sent = mass[node] * share[i, link]
                    if sent > 0:
                        loads[thread, link] += sent
                        mass[peer[link]] += sent
    return loads


@compiled
def _flow_links(
    sources: IntArray,
    to: int,
    order: IntArray,
    share: Floats,
    start: Longs,
    peer: IntArray,
    usable: Mask,
) -> tuple[Longs, IntArray, Floats]:
    """(number of links per source, links, shares) of the flows from ``sources`` to ``to``."""
    safe = _never_lost(to, order, share, start, peer, usable)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    counts = np.zeros(len(sources), np.int64)
    crossed, parts = [np.int32(0) for _ in range(0)], [0.0 for _ in range(0)]
    for k in range(len(sources)):
        if not safe[sources[k]]:
            continue
        mass = np.zeros(len(order))
        mass[sources[k]] = 1.0
        for node in order[place[sources[k]] :: -1]:
            if mass[node] == 0:
                continue
            for link in range(start[node], start[node + 1]):
                sent = mass[node] * share[link]
                if sent > 0:
                    crossed.append(np.int32(link))
                    parts.append(sent)
                    mass[peer[link]] += sent
                    counts[k] += 1
    return counts, np.array(crossed, dtype=np.int32), np.array(parts, dtype=np.float64)
