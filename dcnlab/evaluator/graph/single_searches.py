"""Breadth-first searches one by one, compiled: for few sources in a graph of which a table has no room.

A graph is given as ``start``, ``peer`` of a :class:`~dcnlab.evaluator.graph.hop_graph.HopGraph`; levels
are divided by its ``scale``.
"""

from __future__ import annotations

import numba
import numpy as np

from addressing.jit import compiled, threaded
from dcnlab.evaluator.graph.sweeps import UNREACHABLE, Levels
from topos.arrays import Longs
from topos.graph import IntArray


@threaded
def rows_singly(start: Longs, peer: IntArray, sources: IntArray, scale: int) -> Levels:
    """The rows of :func:`.sweeps.rows`, one search per source: for few sources in little memory."""
    size = len(start) - 1
    out = np.full((len(sources), size), UNREACHABLE, np.uint16)
    for i in numba.prange(len(sources)):
        queue, head, tail = np.empty(size, np.int32), 0, 1
        depth = np.full(size, -1, np.int32)
        queue[0], depth[sources[i]] = sources[i], 0
        while head < tail:
            at = queue[head]
            head += 1
            out[i, at] = depth[at] // scale
            for link in range(start[at], start[at + 1]):
                end = peer[link]
                if depth[end] < 0:
                    depth[end] = depth[at] + 1
                    queue[tail] = end
                    tail += 1
    return out


@threaded
def bidirectional(
    start: Longs, peer: IntArray, sources: IntArray, targets: IntArray, scale: int, threads: int
) -> Levels:
    """The distance of each pair by breadth-first search from both ends, level by level, on the side with
    the smaller frontier."""
    size = len(start) - 1
    out = np.full(len(sources), UNREACHABLE, np.uint16)
    for thread in numba.prange(threads):
        # Depths are positive from the source and negative from the target, 0 where neither has been.
        depth, queues = np.zeros(size, np.int32), np.empty((2, size), np.int32)
        for pair in range(thread, len(sources), threads):
            distance = _meet(start, peer, sources[pair], targets[pair], depth, queues)
            if distance >= 0:
                out[pair] = distance // scale
    return out


@compiled
def _meet(start: Longs, peer: IntArray, source: int, target: int, depth: IntArray, queues: IntArray) -> int:
    """The number of links between two nodes, -1 without a path.  ``depth`` is 0 before and afterwards."""
    if source == target:
        return 0
    head, tail = np.zeros(2, np.int64), np.ones(2, np.int64)
    queues[0, 0], queues[1, 0] = source, target
    depth[source], depth[target] = 1, -1
    best = -1
    while best < 0 and head[0] < tail[0] and head[1] < tail[1]:
        side = 0 if tail[0] - head[0] <= tail[1] - head[1] else 1
        sign, level_end = 1 - 2 * side, tail[side]
        # No path is shorter than the first that is found: the searches met at no earlier level.
        while best < 0 and head[side] < level_end:
            at = queues[side, head[side]]
            head[side] += 1
            for link in range(start[at], start[at + 1]):
                end = peer[link]
                if depth[end] == 0:
                    depth[end] = depth[at] + sign
                    queues[side, tail[side]] = end
                    tail[side] += 1
                elif depth[end] * sign < 0:
                    best = abs(depth[at]) + abs(depth[end]) - 1
                    break
    for side in range(2):
        for place in range(tail[side]):
            depth[queues[side, place]] = 0
    return best
