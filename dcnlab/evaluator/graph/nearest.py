"""Next hops towards the nearest of a set of nodes, by breadth-first search; the lowest port wins ties."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.jit import compiled, threaded
from topos.graph import NONE, IntArray

#: The depth of a node that the search has not reached.
UNVISITED = -1


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
    """Search from the roots ``queue[:reached]`` (``depth`` 0, all others ``UNVISITED``), each within its
    group, over the links that are ``known`` to be up.

    ``out`` gets, for each node reached, its lowest ``live`` link to a node of the same group
    that is one hop nearer.  Returns the number of nodes in ``queue``.
    """
    roots, head = reached, 0
    while head < reached:
        at = queue[head]
        head += 1
        for link in range(start[at], start[at + 1]):
            end = peer[link]
            if known[link] and depth[end] == UNVISITED and group[end] == group[at]:
                depth[end] = depth[at] + 1
                queue[reached] = end
                reached += 1
    for i in range(roots, reached):
        at = queue[i]
        for link in range(start[at], start[at + 1]):
            end = peer[link]
            if live[link] and group[end] == group[at] and depth[end] == depth[at] - 1:
                out[at] = link
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
    spread: bool = False,
) -> None:
    """Run :func:`bfs_next_hops` from each of ``roots`` alone; root i writes row i of ``out``.

    With ``spread`` each node has the link, of those to nearer nodes, that the digit of the root names
    (``addressing.schemes.shortest``)."""
    size = len(start) - 1
    for i in numba.prange(len(roots)):
        depth, queue = np.full(size, UNVISITED, np.int32), np.empty(size, np.int32)
        depth[roots[i]], queue[0] = 0, roots[i]
        bfs_next_hops(out[i], depth, queue, 1, start, peer, known, live, group)
        for node in range(size if spread else 0):
            if out[i, node] == NONE:
                continue
            nearer = 0
            for link in range(start[node], start[node + 1]):
                nearer += live[link] and depth[peer[link]] == depth[node] - 1
            wanted = (roots[i] if depth[node] % 2 else roots[i] // nearer) % nearer
            for link in range(start[node], start[node + 1]):
                if live[link] and depth[peer[link]] == depth[node] - 1:
                    if wanted == 0:
                        out[i, node] = link
                        break
                    wanted -= 1


@compiled
def ball(
    depth: IntArray,
    queue: IntArray,
    radius: int,
    start: NDArray[np.int64],
    peer: IntArray,
    usable: NDArray[np.bool_],
) -> int:
    """Search from ``queue[0]`` (``depth`` 0, all others ``UNVISITED``) up to ``radius`` hops over ``usable``
    links.  Returns the number of nodes in ``queue``."""
    head, reached = 0, 1
    while head < reached and depth[queue[head]] < radius:
        at = queue[head]
        head += 1
        for link in range(start[at], start[at + 1]):
            end = peer[link]
            if usable[link] and depth[end] == UNVISITED:
                depth[end] = depth[at] + 1
                queue[reached] = end
                reached += 1
    return reached
