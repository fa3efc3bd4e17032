"""As many node-disjoint paths between two nodes as there are, of the least total length.

Minimum-cost flow with every node split in two (Suurballe and Tarjan, 1984, for two paths), as
an integer program, which its linear relaxation solves.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

Edges = NDArray[np.int64]


def disjoint_paths(
    size: int, edges: Edges, source: int, target: int, shareable: Collection[int] = ()
) -> list[tuple[int, ...]]:
    """The paths, the shortest first, over undirected ``edges`` (rows of two of ``size`` nodes); they
    have no node but the ends and those in ``shareable`` in common, and no edge but those whose
    two ends both are such."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # wanted for parallel paths only
    from scipy.sparse import coo_array

    if source == target:
        return [(source,)]
    free = np.zeros(size, dtype=np.bool_)
    free[[source, target, *shareable]] = True
    node, count = np.arange(size), len(edges)
    # A packet enters node v at v and leaves it at size + v.
    tail = np.concatenate([node, size + edges[:, 0], size + edges[:, 1]])
    head = np.concatenate([size + node, edges[:, 1], edges[:, 0]])
    most = np.where(np.concatenate([free, *[free[edges].all(axis=1)] * 2]), np.inf, 1.0)
    if ((edges == (source, target)) | (edges == (target, source))).all(axis=1).any():
        most[size:][((tail == size + source) & (head == target))[size:]] = 1.0
    cost = np.concatenate([np.zeros(size), np.ones(2 * count)])
    cost[tail == size + source] -= 4 * size
    cost[head == source] += 4 * size
    arcs = np.arange(len(tail))
    balance = coo_array(
        (np.repeat([1.0, -1.0], len(arcs)), (np.concatenate([tail, head]), np.tile(arcs, 2))),
        shape=(2 * size, len(arcs)),
    ).tocsr()
    inner = np.setdiff1d(np.arange(2 * size), [source, size + source, target, size + target])
    solved = milp(
        cost, integrality=np.ones(len(arcs), dtype=np.int8), bounds=Bounds(0, np.minimum(most, size)),
        constraints=LinearConstraint(balance[inner], 0, 0),
    )  # fmt: skip
    assert solved.x is not None  # no flow at all is a solution
    flow = np.round(solved.x[size:]).astype(int)
    following: dict[int, list[int]] = {}
    for arc in np.flatnonzero(flow).tolist():
        following.setdefault(int(tail[size + arc]) - size, []).extend([int(head[size + arc])] * int(flow[arc]))
    return sorted(_walks(following, source, target), key=len)


def _walks(following: dict[int, list[int]], source: int, target: int) -> list[tuple[int, ...]]:
    """The flow taken apart into paths from the source."""
    found = []
    while following.get(source):
        walk = [source]
        while walk[-1] != target:
            walk.append(following[walk[-1]].pop())
        found.append(tuple(walk))
    return found
