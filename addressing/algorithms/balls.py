"""Thorup and Zwick's clusters on large networks: their sizes and their members.

The cluster of w holds the nodes v with d(w, v) < ``radius[v]``.  A node on a shortest path from w to one of
them is one as well, so a search from w need not leave the cluster.  Clusters of neighbours overlap: sizes
are counted by searches from 64 nodes near each other at once, a bit of a machine word for each.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.algorithms.shortest_paths import Starts
from addressing.jit import compiled, inlined, threaded
from topos.arrays import Words
from topos.graph import NONE, IntArray

#: Searches at once, and the bits of a counter.
_BITS = 64
_DIGITS = 32


def sizes_inside(
    nodes: IntArray, radius: IntArray, counted: NDArray[np.bool_], start: Starts, peer: IntArray
) -> IntArray:
    """Per node w of ``nodes`` the number of ``counted`` nodes v with d(w, v) < ``radius[v]``."""
    order = _neighbourhoods(nodes, start, peer)
    sizes = np.empty(len(nodes), np.int32)
    sizes[order] = _sizes_inside(nodes[order], radius, counted, start, peer, numba.get_num_threads())
    return sizes


@threaded
def at_most(radius: IntArray, start: Starts, peer: IntArray) -> NDArray[np.float64]:
    """Per node w a bound of the size of its cluster: the walks from w whose node number j has a radius above j.
    A shortest path to a member is such a walk.  Where networks look like trees the bound is near the size."""
    size, longest = len(radius), radius.max()
    beyond, walks = np.zeros(size), np.zeros(size)
    for step in range(longest - 1, -1, -1):
        for node in numba.prange(size):
            walks[node] = 0.0
            if radius[node] > step:
                walks[node] = 1.0
                for link in range(start[node], start[node + 1]):
                    walks[node] += beyond[peer[link]]
        beyond, walks = walks, beyond
    return beyond


@compiled
def members(
    node: int, radius: IntArray, start: Starts, peer: IntArray, depth: IntArray, queue: IntArray
) -> int:
    """Write the nodes v with d(``node``, v) < ``radius[v]`` into ``queue``, and return their number.

    ``depth`` is -1 everywhere, before and afterwards."""
    head = tail = 0
    if radius[node] > 0:
        depth[node], queue[0], tail = 0, node, 1
    while head < tail:
        at = queue[head]
        head += 1
        for link in range(start[at], start[at + 1]):
            end = peer[link]
            if depth[end] < 0 and depth[at] + 1 < radius[end]:
                depth[end] = depth[at] + 1
                queue[tail] = end
                tail += 1
    for place in range(tail):
        depth[queue[place]] = -1
    return tail


@compiled
def _neighbourhoods(nodes: IntArray, start: Starts, peer: IntArray) -> NDArray[np.int64]:
    """An order of ``nodes`` in which most blocks of ``_BITS`` are near each other: each block grows from the
    first node left, by a search that leaves out the nodes of earlier blocks."""
    place = np.full(len(start) - 1, NONE, np.int32)
    for i in range(len(nodes)):
        place[nodes[i]] = i
    order, count = np.empty(len(nodes), np.int64), 0
    for first in range(len(nodes)):
        if place[nodes[first]] == NONE:
            continue
        head = count
        order[count], count, place[nodes[first]] = first, count + 1, NONE
        while head < count and count % _BITS:
            at = nodes[order[head]]
            head += 1
            for link in range(start[at], start[at + 1]):
                i = place[peer[link]]
                if i != NONE and count % _BITS:
                    order[count], count, place[peer[link]] = i, count + 1, NONE
    return order


@threaded
def _sizes_inside(
    nodes: IntArray, radius: IntArray, counted: NDArray[np.bool_], start: Starts, peer: IntArray, threads: int
) -> IntArray:
    sizes, size = np.zeros(len(nodes), np.int32), len(radius)
    for thread in numba.prange(threads):
        seen, newest, following = (
            np.zeros(size, np.uint64),
            np.zeros(size, np.uint64),
            np.zeros(size, np.uint64),
        )
        queues, touched = np.empty((2, size), np.int32), np.empty(size, np.int32)
        for first in range(thread * _BITS, len(nodes), threads * _BITS):
            block = nodes[first : first + _BITS]
            digits = np.zeros(_DIGITS, np.uint64)
            tail = reached = _begin(block, radius, newest, queues[0], touched, seen)
            _count(digits, queues[0, :tail], newest, counted)
            level = 0
            while tail:
                level += 1
                here, there = queues[(level - 1) % 2], queues[level % 2]
                tail = _advance(here[:tail], there, level, radius, seen, newest, following, start, peer)
                for node in there[:tail]:
                    if seen[node] == 0:
                        touched[reached] = node
                        reached += 1
                    seen[node] |= following[node]
                    newest[node], following[node] = following[node], 0
                _count(digits, there[:tail], newest, counted)
            seen[touched[:reached]] = 0
            for bit in range(len(block)):
                for digit in range(_DIGITS):
                    sizes[first + bit] |= np.int32(digits[digit] >> np.uint64(bit) & np.uint64(1)) << digit
    return sizes


@inlined
def _begin(
    block: IntArray, radius: IntArray, newest: Words, queue: IntArray, touched: IntArray, seen: Words
) -> int:
    """Start a search at every node of the block that is in its own cluster; returns their number."""
    tail = 0
    for bit in range(len(block)):
        node = block[bit]
        if radius[node] > 0:
            seen[node] = newest[node] = np.uint64(1) << np.uint64(bit)
            queue[tail] = touched[tail] = node
            tail += 1
    return tail


@inlined
def _advance(
    here: IntArray, there: IntArray, level: int, radius: IntArray, seen: Words, newest: Words, following: Words,
    start: Starts, peer: IntArray,
) -> int:  # fmt: skip
    """Mark in ``following`` which searches reach a node at ``level``; returns the number of such nodes."""
    tail = 0
    for at in here:
        for link in range(start[at], start[at + 1]):
            end = peer[link]
            fresh = newest[at] & ~seen[end]
            if fresh != 0 and level < radius[end]:
                if following[end] == 0:
                    there[tail] = end
                    tail += 1
                following[end] |= fresh
    return tail


@inlined
def _count(digits: Words, nodes: IntArray, newest: Words, counted: NDArray[np.bool_]) -> None:
    """Add one to the counters of the searches that are ``newest`` at each counted node; word k of ``digits``
    holds binary digit k of the 64 counters."""
    for node in nodes:
        carry, digit = newest[node] if counted[node] else np.uint64(0), 0
        while carry != 0:
            digits[digit], carry = digits[digit] ^ carry, digits[digit] & carry
            digit += 1
