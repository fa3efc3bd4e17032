"""Kernels over shares: packets towards a destination spread over a graph without circles.

Nodes are sorted so that each stands behind all that it may send to; then expectations
go up that order in one pass, and traffic goes down it in another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.jit import compiled, inlined, threaded
from dcnlab.evaluator.graph.distances import FAR, Levels
from dcnlab.evaluator.graph.hop_graph import live_links
from dcnlab.evaluator.graph.next_hops import uplinks
from dcnlab.evaluator.routing.forms import Shares
from topos.fabric import Fabric
from topos.graph import NONE, IntArray, LinkState

Floats = NDArray[np.float64]
Offsets = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Splits:
    """The shares ``share[i, slot]`` of packets towards ``destinations[i]``; plain hosts send by
    their uplink and the destination keeps what it gets."""

    fabric: Fabric
    destinations: IntArray
    share: Floats
    usable: Mask

    @classmethod
    def of(cls, fabric: Fabric, towards: Shares, destinations: IntArray, down: LinkState) -> Splits:
        """Ask ``towards``; what goes out of a slot that is ``down`` is lost."""
        usable, share, start = live_links(fabric, down), towards(destinations), fabric.adjacency.start
        first = uplinks(fabric, usable)
        share[:, : start[len(first)]] = 0.0
        share[:, first[first != NONE]] = 1.0
        for row, to in enumerate(destinations.tolist()):
            share[row, start[to] : start[to + 1]] = 0.0
        return cls(fabric, destinations, share, usable)

    @cached_property
    def order(self) -> IntArray:
        """``[i]``: the nodes, each behind all that it may send to; raises ValueError for a circle."""
        slots = self.fabric.adjacency
        found = _sort(self.share, slots.start, slots.peer, slots.peer_port, self.usable)
        if (found[:, -1] == NONE).any():
            raise ValueError("shares that lead in a circle")
        return found

    def joint(self, cost: IntArray, distance: Levels, farthest: int) -> Floats:
        """``[h, d]``: the expected number of packets, one from every v, that reach ``destinations[i]`` after
        h hops from ``distance[i, v]`` = d, at most ``farthest``; none from where that is FAR.  ``cost[v]`` is
        how many hops an arrival at v counts."""
        slots, threads = self.fabric.adjacency, numba.get_num_threads()
        rest = self.order, self.share, slots.start, slots.peer, self.usable, cost
        counted = _count(self.destinations, *rest, distance, _longest(*rest) + 1, farthest, threads)
        return np.asarray(counted.sum(axis=0))

    def loads(self, demand: IntArray) -> Floats:
        """Per slot the expected number of packets, ``demand[i, v]`` from v to ``destinations[i]``; where
        ``demand`` has one row, that goes to each."""
        slots, threads = self.fabric.adjacency, numba.get_num_threads()
        rest = self.destinations, self.order, self.share, slots.start, slots.peer, self.usable, threads
        sent = _send_down(demand, *rest)
        return np.asarray(sent.sum(axis=0))

    def delivered(self, demand: IntArray) -> int:
        """How many of the packets of ``demand``, but those from a destination itself, cannot be lost."""
        slots = self.fabric.adjacency
        sure = _arriving(self.destinations, self.order, self.share, slots.start, slots.peer, self.usable)
        return int((demand * sure).sum())

    def crossings(self, sources: Sequence[IntArray]) -> tuple[Offsets, IntArray, Floats]:
        """Flow by flow the slots that it crosses and the share of it on each, in compressed rows;
        ``sources[i]`` are those of ``destinations[i]``.  A flow that may be lost has none."""
        slots = self.fabric.adjacency
        counts, crossed, parts = [np.zeros(1, dtype=np.int64)], [], []
        for row, some in enumerate(sources):
            each = _cross(
                some, int(self.destinations[row]), self.order[row], self.share[row], slots.start,
                slots.peer, self.usable,
            )  # fmt: skip
            counts.append(each[0])
            crossed.append(each[1])
            parts.append(each[2])
        return np.cumsum(np.concatenate(counts)), np.concatenate(crossed), np.concatenate(parts)


@threaded
def _sort(share: Floats, start: Offsets, peer: IntArray, peer_port: IntArray, usable: Mask) -> IntArray:
    count, size = len(share), len(start) - 1
    order = np.full((count, size), NONE, np.int32)
    for i in numba.prange(count):
        left, tail = np.zeros(size, np.int32), 0
        for node in range(size):
            for slot in range(start[node], start[node + 1]):
                left[node] += share[i, slot] > 0 and usable[slot]
            if left[node] == 0:
                order[i, tail] = node
                tail += 1
        head = 0
        while head < tail:
            at = order[i, head]
            head += 1
            for slot in range(start[at], start[at + 1]):
                if peer[slot] == NONE:
                    continue
                back = start[peer[slot]] + peer_port[slot] - 1
                if share[i, back] > 0 and usable[back]:
                    left[peer[slot]] -= 1
                    if left[peer[slot]] == 0:
                        order[i, tail] = peer[slot]
                        tail += 1
    return order


@threaded
def _longest(
    order: IntArray, share: Floats, start: Offsets, peer: IntArray, usable: Mask, cost: IntArray
) -> int:
    """The largest number of hops of any way that is taken."""
    count, size = order.shape
    most = np.zeros(count, np.int64)
    for i in numba.prange(count):
        length = np.zeros(size, np.int64)
        for node in order[i]:
            for slot in range(start[node], start[node + 1]):
                if share[i, slot] > 0 and usable[slot]:
                    length[node] = max(length[node], length[peer[slot]] + cost[peer[slot]])
        most[i] = length.max()
    return int(most.max())


@threaded
def _count(
    to: IntArray, order: IntArray, share: Floats, start: Offsets, peer: IntArray, usable: Mask, cost: IntArray,
    distance: Levels, width: int, farthest: int, threads: int,
) -> Floats:  # fmt: skip
    """By thread: ``chance[v, h]``, that a packet from v takes h hops, is worked out for one destination at a
    time, in an array that stays near the processor, and only from the fewest hops of v to the most."""
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
                for slot in range(start[node], start[node + 1]):
                    part, end = share[i, slot], peer[slot]
                    if part > 0 and usable[slot] and high[end] >= 0:
                        step = cost[end]
                        for hops in range(low[end], high[end] + 1):
                            chance[node, hops + step] += part * chance[end, hops]
                        low[node] = min(low[node], low[end] + step)
                        high[node] = max(high[node], high[end] + step)
                if distance[i, node] != FAR:
                    for hops in range(low[node], high[node] + 1):
                        joints[thread, hops, distance[i, node]] += chance[node, hops]
    return joints


@inlined
def _sure(to: int, order: IntArray, share: Floats, start: Offsets, peer: IntArray, usable: Mask) -> Mask:
    """The nodes from which no packet can be lost."""
    sure = np.zeros(len(order), np.bool_)
    for node in order:
        ways, good = 0, True
        for slot in range(start[node], start[node + 1]):
            if share[slot] > 0:
                ways += 1
                good = good and usable[slot] and sure[peer[slot]]
        sure[node] = node == to or (ways > 0 and good)
    return sure


@compiled
def _arriving(
    to: IntArray, order: IntArray, share: Floats, start: Offsets, peer: IntArray, usable: Mask
) -> Mask:
    """``[i, v]``: whether no packet from v, another node than ``to[i]``, can be lost."""
    found = np.empty(order.shape, np.bool_)
    for i in range(len(to)):
        found[i] = _sure(to[i], order[i], share[i], start, peer, usable)
        found[i, to[i]] = False
    return found


@threaded
def _send_down(
    demand: IntArray,
    to: IntArray,
    order: IntArray,
    share: Floats,
    start: Offsets,
    peer: IntArray,
    usable: Mask,
    threads: int,
) -> Floats:
    loads = np.zeros((threads, len(peer)))
    for thread in numba.prange(threads):
        for i in range(thread, len(to), threads):
            sure = _sure(to[i], order[i], share[i], start, peer, usable)
            mass = demand[i if len(demand) > 1 else 0] * sure.astype(np.float64)
            for node in order[i, ::-1]:
                for slot in range(start[node], start[node + 1]):
                    sent = mass[node] * share[i, slot]
                    if sent > 0:
                        loads[thread, slot] += sent
                        mass[peer[slot]] += sent
    return loads


@compiled
def _cross(
    sources: IntArray,
    to: int,
    order: IntArray,
    share: Floats,
    start: Offsets,
    peer: IntArray,
    usable: Mask,
) -> tuple[Offsets, IntArray, Floats]:
    """Of each source: how many slots it crosses, which, and with what share."""
    sure = _sure(to, order, share, start, peer, usable)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    counts = np.zeros(len(sources), np.int64)
    crossed, parts = [np.int32(0) for _ in range(0)], [0.0 for _ in range(0)]
    for k in range(len(sources)):
        if not sure[sources[k]]:
            continue
        mass = np.zeros(len(order))
        mass[sources[k]] = 1.0
        for node in order[place[sources[k]] :: -1]:
            if mass[node] == 0:
                continue
            for slot in range(start[node], start[node + 1]):
                sent = mass[node] * share[slot]
                if sent > 0:
                    crossed.append(np.int32(slot))
                    parts.append(sent)
                    mass[peer[slot]] += sent
                    counts[k] += 1
    return counts, np.array(crossed, dtype=np.int32), np.array(parts, dtype=np.float64)
