"""The largest set of node-disjoint paths between two nodes, of least total length.

Minimum-cost flow with every node split in two (Suurballe and Tarjan, 1984, for two paths), stated as an
integer program whose linear relaxation has integral solutions.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from topos.arrays import Longs


def disjoint_paths(
    size: int, edges: Longs, source: int, target: int, shareable: Collection[int] = ()
) -> list[tuple[int, ...]]:
    """The paths, the shortest first, over undirected ``edges`` (an array of shape (edges, 2) of node
    numbers below ``size``).

    Paths share no node except the ends and those in ``shareable``, and no edge except those between
    two such nodes."""
    if source == target:
        return [(source,)]
    free = np.zeros(size, dtype=np.bool_)
    free[[source, target, *shareable]] = True
    node = np.arange(size)
    # A packet enters node v at v and leaves it at size + v.
    tail = np.concatenate([node, size + edges[:, 0], size + edges[:, 1]])
    head = np.concatenate([size + node, edges[:, 1], edges[:, 0]])
    capacity = np.where(np.concatenate([free, *[free[edges].all(axis=1)] * 2]), np.inf, 1.0)
    if ((edges == (source, target)) | (edges == (target, source))).all(axis=1).any():
        capacity[size:][((tail == size + source) & (head == target))[size:]] = 1.0
    cost = np.concatenate([np.zeros(size), np.ones(2 * len(edges))])
    # Every path earns more than the longest one costs, so as many paths as possible are used.
    cost[tail == size + source] -= 4 * size
    cost[head == source] += 4 * size
    inner = np.setdiff1d(np.arange(2 * size), [source, size + source, target, size + target])
    flow = _minimum_cost_flow(tail, head, np.minimum(capacity, size), cost, inner)[size:]
    following: dict[int, list[int]] = {}
    for arc in np.flatnonzero(flow).tolist():
        following.setdefault(int(tail[size + arc]) - size, []).extend([int(head[size + arc])] * int(flow[arc]))
    return sorted(_paths(following, source, target), key=len)


def _minimum_cost_flow(
    tail: NDArray[np.int64], head: NDArray[np.int64], capacity: NDArray[np.float64],
    cost: NDArray[np.float64], inner: NDArray[np.int64],
) -> NDArray[np.int64]:  # fmt: skip
    """The flow over each arc; flow is conserved at the ``inner`` nodes."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # half a second that other schemes need not wait
    from scipy.sparse import coo_array

    arcs = np.arange(len(tail))
    balance = coo_array(
        (np.repeat([1.0, -1.0], len(arcs)), (np.concatenate([tail, head]), np.tile(arcs, 2))),
        shape=(int(max(tail.max(), head.max())) + 1, len(arcs)),
    ).tocsr()
    solved = milp(
        cost, integrality=np.ones(len(arcs), dtype=np.int8), bounds=Bounds(0, capacity),
        constraints=LinearConstraint(balance[inner], 0, 0),
    )  # fmt: skip
    assert solved.x is not None  # zero flow is always feasible
    flow: NDArray[np.int64] = np.round(solved.x).astype(np.int64)
    return flow


def _paths(following: dict[int, list[int]], source: int, target: int) -> list[tuple[int, ...]]:
    """The flow decomposed into paths; ``following`` lists the next nodes per node, and is emptied."""
    paths = []
    while following.get(source):
        path = [source]
        while path[-1] != target:
            path.append(following[path[-1]].pop())
        paths.append(tuple(path))
    return paths
