"""K shortest paths, vectorised: compiled searches for path lengths, and for the paths of tables."""

from __future__ import annotations

import itertools
from typing import cast

import numpy as np

from addressing.scheme import Scheme
from addressing.schemes.ksp import Ksp
from dcnlab.evaluator.graph.paths.simple_lengths import GIVEN_UP, path_lengths
from dcnlab.evaluator.graph.paths.simple_paths import k_shortest, path_costs
from dcnlab.evaluator.routing.forms import Spread
from topos.arrays import Floats, Longs
from topos.graph import IntArray

#: More pairs are not searched for tables.
_MOST_PATHS = 250_000


def searches(scheme: Scheme) -> int:
    """All ordered pairs of vertices; a table has entries of each."""
    vertices = len(cast(Ksp, scheme).vertices)
    return vertices * (vertices - 1)


def spread(scheme: Scheme) -> Spread:
    """Each of a pair's paths takes an equal share of its packets."""
    ksp = cast(Ksp, scheme)
    start, peer = _rows(ksp)

    known: dict[int, tuple[IntArray, IntArray]] = {}

    def chances(sources: IntArray, destination: int, cost: IntArray) -> Floats:
        vertices, vertex = ksp.homes[sources], int(ksp.homes[destination])
        wanted, place = np.unique(vertices, return_inverse=True)
        if vertex not in known or not np.isin(wanted, known[vertex][0]).all():
            known.clear()  # destinations at the same switch follow one another
            known[vertex] = wanted, path_hops(start, peer, wanted, vertex, ksp.k, cost)
        searched, hops = known[vertex]
        hops = hops[np.searchsorted(searched, wanted)[place]]
        if not ksp.fabric.relaying:
            # The packet first arrives at the source's switch, and last at the destination.
            ends = cost[vertices] + cost[destination]
            hops = np.where(hops < 0, hops, hops + ends[:, None])
        return _shares(hops)

    return chances


def table_counts(scheme: Scheme) -> None:
    """No form: tables are compiled, from paths that are searched here, which takes a fraction of the time."""
    ksp = cast(Ksp, scheme)
    if searches(scheme) > _MOST_PATHS:
        return
    start, peer = _rows(ksp)
    ports = {(a, b): of["ports"][a] for u, v, of in ksp.graph.edges(data=True) for a, b in ((u, v), (v, u))}
    for source, vertex in itertools.permutations(ksp.vertices, 2):
        nodes, first = k_shortest(start, peer, source, vertex, ksp.k)
        steps = [(a, ports.get((a, b), 0)) for a, b in itertools.pairwise(nodes.tolist())]
        ksp.known_paths[source, vertex] = tuple(
            tuple(steps[i : j - 1]) for i, j in itertools.pairwise(first.tolist())
        )  # a step from the end of a path to the beginning of the next is left out


def path_hops(start: Longs, peer: IntArray, sources: IntArray, target: int, k: int, cost: IntArray) -> IntArray:
    """The hops of each path: where all links count alike it does not matter which of several paths is taken."""
    if not (cost == 1).all():
        return path_costs(start, peer, sources, target, k, cost)
    hops = path_lengths(start, peer, sources, target, k)
    rest = np.flatnonzero(hops[:, 0] == GIVEN_UP)
    hops[rest] = path_costs(start, peer, sources[rest], target, k, cost)
    return hops


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
