"""Next hops towards the nearest of some nodes, by breadth-first search: lowest port first."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.jit import compiled, threaded
from topos.graph import IntArray

#: What stands for the depth of a node that was not reached.
UNSEEN = -1


@compiled
def bfs_next_hops(
    out: IntArray,
    depth: IntArray,
    queue: IntArray,
    reached: int,
    start: NDArray[np.int64],
    peer: IntArray,
    known: NDArray[np.bool_],
    live: NDArray[np.bool_],
    group: IntArray,
) -> int:
    """Spread from ``queue[:reached]`` (at ``depth`` 0, all else ``UNSEEN``) inside their groups,
    over the slots that are ``known`` to be up.

    Every node reached later gets, in ``out``, its lowest ``live`` slot that leads to a node of
    its own group and one hop nearer.  Returns how many nodes ``queue`` holds in the end.
    """
    roots, head = reached, 0
    while head < reached:
        at = queue[head]
        head += 1
        for slot in range(start[at], start[at + 1]):
            end = peer[slot]
            if known[slot] and depth[end] == UNSEEN and group[end] == group[at]:
                depth[end] = depth[at] + 1
                queue[reached] = end
                reached += 1
    for i in range(roots, reached):
        at = queue[i]
        for slot in range(start[at], start[at + 1]):
            end = peer[slot]
            if live[slot] and group[end] == group[at] and depth[end] == depth[at] - 1:
                out[at] = slot
                break
    return reached


@threaded
def bfs_next_hops_each(
    out: IntArray,
    roots: IntArray,
    start: NDArray[np.int64],
    peer: IntArray,
    known: NDArray[np.bool_],
    live: NDArray[np.bool_],
    group: IntArray,
) -> None:
    """Row i of ``out`` gets what :func:`descend` finds from ``roots[i]`` alone."""
    size = len(start) - 1
    for i in numba.prange(len(roots)):
        depth, queue = np.full(size, UNSEEN, np.int32), np.empty(size, np.int32)
        depth[roots[i]], queue[0] = 0, roots[i]
        bfs_next_hops(out[i], depth, queue, 1, start, peer, known, live, group)
