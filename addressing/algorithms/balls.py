"""Sizes of Thorup and Zwick's clusters on large networks."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.algorithms.shortest_paths import Starts
from addressing.jit import threaded
from topos.graph import IntArray


def sizes_inside(
    nodes: IntArray, radius: IntArray, counted: NDArray[np.bool_], start: Starts, peer: IntArray
) -> IntArray:
    """Per node w of ``nodes`` the number of ``counted`` nodes v with d(w, v) < ``radius[v]``.

    These nodes and those between form a tree from w: a node on a shortest path to one of them is
    one as well.  So a search from w need not leave them."""
    return _sizes_inside(nodes, radius, counted, start, peer, numba.get_num_threads())


@threaded
def _sizes_inside(
    nodes: IntArray, radius: IntArray, counted: NDArray[np.bool_], start: Starts, peer: IntArray, threads: int
) -> IntArray:
    sizes = np.zeros(len(nodes), np.int32)
    for thread in numba.prange(threads):
        depth, queue = np.full(len(radius), -1, np.int32), np.empty(len(radius), np.int32)
        for i in range(thread, len(nodes), threads):
            tail = 0
            if radius[nodes[i]] > 0:
                depth[nodes[i]], queue[0], tail = 0, nodes[i], 1
            head = 0
            while head < tail:
                at = queue[head]
                head += 1
                sizes[i] += counted[at]
                for link in range(start[at], start[at + 1]):
                    end = peer[link]
                    if depth[end] < 0 and depth[at] + 1 < radius[end]:
                        depth[end] = depth[at] + 1
                        queue[tail] = end
                        tail += 1
            for place in range(tail):
                depth[queue[place]] = -1
    return sizes
