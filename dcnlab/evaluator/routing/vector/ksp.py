"""K shortest paths, vectorised: path lengths, with a compiled search for each pair of vertices."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from addressing.scheme import Scheme
from addressing.schemes.ksp import Ksp
from dcnlab.evaluator.graph.simple_paths import Longs, path_costs
from dcnlab.evaluator.routing.forms import Spread
from topos.graph import IntArray

Floats = NDArray[np.float64]


def searches(scheme: Scheme) -> int:
    """All ordered pairs of vertices; a table has entries of each."""
    vertices = len(cast(Ksp, scheme).vertices)
    return vertices * (vertices - 1)


def spread(scheme: Scheme) -> Spread:
    """Each of a pair's paths takes an equal share of its packets."""
    ksp = cast(Ksp, scheme)
    start, peer = _rows(ksp)

    def chances(sources: IntArray, destination: int, cost: IntArray) -> Floats:
        vertices, vertex = ksp.homes[sources], int(ksp.homes[destination])
        hops = path_costs(start, peer, vertices, vertex, ksp.k, cost)
        if not ksp.fabric.relaying:
            # The packet first arrives at the source's switch, and last at the destination.
            ends = cost[vertices] + cost[destination]
            hops = np.where(hops < 0, hops, hops + ends[:, None])
        return _shares(hops)

    return chances


def _shares(hops: IntArray) -> Floats:
    """``[pair, hops]``: the share of the paths with so many hops; -1 is no path."""
    chance = np.zeros((len(hops), int(hops.max(initial=0)) + 1))
    pair, path = np.nonzero(hops >= 0)
    np.add.at(chance, (pair, hops[pair, path]), 1.0)
    return np.asarray(chance / np.maximum(chance.sum(axis=1, keepdims=True), 1.0))


def _rows(scheme: Ksp) -> tuple[Longs, IntArray]:
    """The graph that the scheme searches, with neighbours in the order in which the scheme sees them."""
    rows = [list(scheme.graph.adj[node]) if node in scheme.graph else [] for node in range(scheme.fabric.size)]
    start = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    return start, np.array([node for row in rows for node in row], dtype=np.int32)
