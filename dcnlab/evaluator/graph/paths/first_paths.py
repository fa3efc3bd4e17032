"""The first shortest path between single nodes of a large network, searched from both ends.

At every node the path takes the lowest port of those that lie on a shortest path.  The two searches meet
half-way, so they visit far fewer nodes than a search of the whole network.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from addressing.jit import compiled
from dcnlab.evaluator.graph.nearest import UNVISITED
from topos.graph import NONE, IntArray


class Room(NamedTuple):
    """Memory for one search at a time: depths from both ends (``UNVISITED`` between searches), the nodes
    in the order of the searches, and the path found."""

    depth: IntArray
    queue: IntArray
    trail: IntArray


@compiled
def room(size: int) -> Room:
    """Memory for searches in a network of ``size`` nodes."""
    return Room(
        np.full((2, size), UNVISITED, np.int32), np.empty((2, size), np.int32), np.empty(size, np.int32)
    )


@compiled
def first_path(
    source: int,
    targets: IntArray,
    start: NDArray[np.int64],
    peer: IntArray,
    usable: NDArray[np.bool_],
    memory: Room,
) -> int:
    """The hops from ``source`` to the nearest of ``targets`` over ``usable`` links, ``NONE`` without a path;
    the nodes after the source are then in ``memory.trail``."""
    depth, queue, trail = memory
    tail, level = np.array([1, len(targets)]), np.zeros(2, np.int64)
    depth[0, source], queue[0, 0] = 0, source
    for i in range(len(targets)):
        depth[1, targets[i]], queue[1, i] = 0, targets[i]
    met = _meet(depth, queue, tail, level, start, peer, usable)
    hops = level[0] + level[1] if met else NONE
    if met:
        _mark(depth, queue[0, : tail[0]], level, start, peer, usable)
        at = source
        for hop in range(hops):
            for link in range(start[at], start[at + 1]):
                if usable[link] and depth[1, peer[link]] == hops - hop - 1:
                    at = peer[link]
                    break
            trail[hop] = at
    for side in range(2):
        for place in range(tail[side]):
            depth[:, queue[side, place]] = UNVISITED
    return int(hops)


@compiled
def first_torus_path(
    source: int,
    target: int,
    sizes: IntArray,
    start: NDArray[np.int64],
    peer: IntArray,
    usable: NDArray[np.bool_],
    trail: IntArray,
) -> int:
    """The same for one target on a whole torus of ``sizes``, whose distances need no search."""
    at, hops, left = source, 0, _torus_distance(source, target, sizes)
    while left:
        for link in range(start[at], start[at + 1]):
            if usable[link] and _torus_distance(peer[link], target, sizes) == left - 1:
                at, left = peer[link], left - 1
                break
        trail[hops] = at
        hops += 1
    return hops


@compiled
def _torus_distance(a: int, b: int, sizes: IntArray) -> int:
    """The distance of two nodes that are numbered with the last dimension running fastest."""
    total = 0
    for size in sizes[::-1]:
        gap = abs(a % size - b % size)
        total += min(gap, size - gap)
        a, b = a // size, b // size
    return total


@compiled
def _meet(
    depth: IntArray,
    queue: IntArray,
    tail: NDArray[np.int64],
    level: NDArray[np.int64],
    start: NDArray[np.int64],
    peer: IntArray,
    usable: NDArray[np.bool_],
) -> bool:
    """Search level by level, on the side with fewer nodes to search from, until the searches meet."""
    head, met = np.zeros(2, np.int64), depth[1, queue[0, 0]] == 0
    while not met and head[0] < tail[0] and head[1] < tail[1]:
        side = 0 if tail[0] - head[0] <= tail[1] - head[1] else 1
        last = tail[side]
        for place in range(head[side], last):
            at = queue[side, place]
            for link in range(start[at], start[at + 1]):
                end = peer[link]
                if usable[link] and depth[side, end] == UNVISITED:
                    depth[side, end] = level[side] + 1
                    queue[side, tail[side]] = end
                    tail[side] += 1
                    met = met or depth[1 - side, end] != UNVISITED
        head[side] = last
        level[side] += 1
    return bool(met)


@compiled
def _mark(
    depth: IntArray,
    nodes: IntArray,
    level: NDArray[np.int64],
    start: NDArray[np.int64],
    peer: IntArray,
    usable: NDArray[np.bool_],
) -> None:
    """Write the distance from the targets of all nodes on shortest paths that the source's search reached."""
    hops = level[0] + level[1]
    for at in nodes[::-1]:
        if depth[0, at] == level[0] or depth[1, at] != UNVISITED:
            continue
        for link in range(start[at], start[at + 1]):
            end = peer[link]
            onward = usable[link] and depth[0, end] == depth[0, at] + 1
            if onward and depth[1, end] == hops - depth[0, end]:
                depth[1, at] = hops - depth[0, at]
                break
