"""Kernels over next-hop arrays: deterministic routing is a tree towards each destination."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.jit import compiled, inlined, threaded
from topos.fabric import Fabric
from topos.graph import NONE, IntArray

#: Instead of a hop count: the packet is dropped, or loops.
LOST = -1


def uplinks(fabric: Fabric, usable: NDArray[np.bool_]) -> IntArray:
    """Per host its first usable link, ``NONE`` without one; empty where servers relay."""
    hosts = 0 if fabric.relaying else fabric.servers
    live = np.flatnonzero(usable[: fabric.adjacency.start[hosts]])[::-1]
    first = np.full(hosts, NONE, dtype=np.int32)
    first[np.searchsorted(fabric.adjacency.start, live, side="right") - 1] = live
    return first


@threaded
def hops_to(
    out: IntArray,
    destinations: IntArray,
    peer: IntArray,
    usable: NDArray[np.bool_],
    cost: IntArray,
    uplinks: IntArray,
) -> IntArray:
    """``[i, v]``: the hops from v to ``destinations[i]``, ``LOST`` where the packet is not delivered.

    ``out[i, v]`` is the directed link that v uses, ``usable`` the mask of links that are up, and
    ``cost[v]`` the hops that an arrival at v counts.  The first ``len(uplinks)`` nodes are hosts
    that do not relay: they send over their link in ``uplinks``.
    """
    count, size = out.shape
    hosts = len(uplinks)
    hops = np.full((count, size), LOST, np.int32)
    for i in numba.prange(count):
        child, sibling = np.full(size, NONE, np.int32), np.empty(size, np.int32)
        for node in range(hosts, size):
            link = out[i, node]
            if link != NONE and usable[link] and node != destinations[i]:
                sibling[node] = child[peer[link]]
                child[peer[link]] = node
        _hops_down_tree(hops[i], destinations[i], child, sibling, cost)
        for host in range(hosts):
            link = uplinks[host]
            if link != NONE and host != destinations[i] and hops[i, peer[link]] != LOST:
                hops[i, host] = hops[i, peer[link]] + cost[peer[link]]
    return hops


@inlined
def _hops_down_tree(hops: IntArray, to: int, child: IntArray, sibling: IntArray, cost: IntArray) -> None:
    """Write the hops of the nodes whose packets reach ``to``.  Nodes that drop them or send them into
    a loop are not in the tree."""
    queue, head, tail = np.empty(len(hops), np.int32), 0, 1
    hops[to], queue[0] = 0, to
    while head < tail:
        at = queue[head]
        head += 1
        node = child[at]
        while node != NONE:
            hops[node] = hops[at] + cost[at]
            queue[tail] = node
            tail += 1
            node = sibling[node]


@inlined
def by_level(order: NDArray[np.uint32], level: NDArray[Any], farthest: int) -> np.uint32:
    """Sort the nodes at levels 0 to ``farthest`` by level into ``order``; returns their number."""
    first = np.zeros(farthest + 2, np.uint32)
    for node in range(len(level)):
        if 0 <= level[node] <= farthest:
            first[level[node] + 1] += 1
    for at in range(farthest + 1):
        first[at + 1] += first[at]
    for node in range(len(level)):
        if 0 <= level[node] <= farthest:
            order[first[level[node]]] = node
            first[level[node]] += 1
    reached: np.uint32 = first[farthest]
    return reached


@compiled
def hops_along(links: IntArray, peer: IntArray, usable: NDArray[np.bool_], cost: IntArray) -> IntArray:
    """The hops along each row of links (up to its first ``NONE``), ``LOST`` where one is not usable."""
    hops = np.zeros(len(links), np.int32)
    for row in range(len(links)):
        total = 0
        for link in links[row]:
            if link == NONE:
                break
            if not usable[link]:
                total = LOST
                break
            total += cost[peer[link]]
        hops[row] = total
    return hops


@compiled
def tally(
    joint: NDArray[np.float64],
    hops: IntArray,
    distance: NDArray[np.uint16],
    sources: IntArray,
    to: int,
) -> None:
    """Add the delivered pairs of one destination to ``joint[hops, distance]``;
    ``hops`` and ``distance`` have one element per source."""
    for i in range(len(sources)):
        if sources[i] != to and hops[i] != LOST:
            joint[hops[i], distance[i]] += 1


@threaded
def tally_all(
    hops: IntArray,
    columns: IntArray,
    distances: NDArray[np.uint16],
    sources: IntArray,
    destinations: IntArray,
    longest: int,
    farthest: int,
    threads: int,
) -> NDArray[np.float64]:
    """As :func:`tally`, for many destinations with the same sources; one array per thread.

    ``hops[i, columns[k]]`` and ``distances[i, k]`` belong to ``sources[k]`` and ``destinations[i]``.
    """
    joints = np.zeros((threads, longest + 1, farthest + 1))
    for thread in numba.prange(threads):
        for i in range(thread, len(destinations), threads):
            for k in range(len(sources)):
                length = hops[i, columns[k]]
                if length != LOST and sources[k] != destinations[i]:
                    joints[thread, length, distances[i, k]] += 1
    return joints
