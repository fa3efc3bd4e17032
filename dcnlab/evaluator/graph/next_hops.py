"""Kernels over next-hop arrays: a scheme without choice is one functional graph per destination."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.jit import compiled, inlined, threaded
from topos.fabric import Fabric
from topos.graph import NONE, IntArray

#: Instead of a number of hops: the packet is dropped, or circles.
LOST = -1


def uplinks(fabric: Fabric, usable: NDArray[np.bool_]) -> IntArray:
    """Per plain host its first usable slot, ``NONE`` without one; empty where servers relay."""
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
    """``[i, v]``: the hops from v to ``destinations[i]``, ``LOST`` where it is not delivered.

    ``out[i, v]`` is the slot that v uses; ``usable`` says which slots lead anywhere;
    ``cost[v]`` is how many hops an arrival at v counts.  The first nodes are plain hosts:
    they send by their slot in ``uplinks`` and do not forward what arrives for others.
    """
    count, size = out.shape
    hosts = len(uplinks)
    hops = np.full((count, size), LOST, np.int32)
    for i in numba.prange(count):
        child, sibling = np.full(size, NONE, np.int32), np.empty(size, np.int32)
        for node in range(hosts, size):
            slot = out[i, node]
            if slot != NONE and usable[slot] and node != destinations[i]:
                sibling[node] = child[peer[slot]]
                child[peer[slot]] = node
        _hops_down_tree(hops[i], destinations[i], child, sibling, cost)
        for host in range(hosts):
            slot = uplinks[host]
            if slot != NONE and host != destinations[i] and hops[i, peer[slot]] != LOST:
                hops[i, host] = hops[i, peer[slot]] + cost[peer[slot]]
    return hops


@inlined
def _hops_down_tree(hops: IntArray, to: int, child: IntArray, sibling: IntArray, cost: IntArray) -> None:
    """Fill in the hops of all whose packets get to ``to``; whoever drops them, or sends them in a
    circle, is never reached from there."""
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
    """Put the nodes at levels 0 to ``farthest`` in the order of their level; returns how many they are."""
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
def hops_along(slots: IntArray, peer: IntArray, usable: NDArray[np.bool_], cost: IntArray) -> IntArray:
    """The hops of each row of slots (up to its first ``NONE``), ``LOST`` where one is not usable."""
    hops = np.zeros(len(slots), np.int32)
    for row in range(len(slots)):
        total = 0
        for slot in slots[row]:
            if slot == NONE:
                break
            if not usable[slot]:
                total = LOST
                break
            total += cost[peer[slot]]
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
    """Count the delivered pairs of one destination by (hops, distance) in ``joint``;
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
    """As :func:`tally`, of many destinations with the same sources: ``hops[i, columns[k]]`` and
    ``distances[i, k]`` are those from ``sources[k]`` to ``destinations[i]``; one array per thread."""
    joints = np.zeros((threads, longest + 1, farthest + 1))
    for thread in numba.prange(threads):
        for i in range(thread, len(destinations), threads):
            for k in range(len(sources)):
                length = hops[i, columns[k]]
                if length != LOST and sources[k] != destinations[i]:
                    joints[thread, length, distances[i, k]] += 1
    return joints
