"""Distances on a torus in closed form, for schemes whose paths have that length."""

from __future__ import annotations

from collections.abc import Sequence

import numba
import numpy as np

from addressing.jit import threaded
from dcnlab.evaluator.graph.distances import distance_rows
from dcnlab.evaluator.graph.hop_graph import HopGraph
from dcnlab.evaluator.graph.pairs import Pairs
from dcnlab.evaluator.graph.sweeps import Levels
from dcnlab.evaluator.routing.forms import Lengths, PairLengths
from topos.fabric import Fabric
from topos.families.hypercube import Hypercube
from topos.families.torus import Torus
from topos.graph import IntArray


def torus_distances(sizes: Sequence[int]) -> Lengths:
    """The torus distance of all pairs, for servers numbered with the last dimension running fastest."""

    def hops_of(sources: IntArray, destinations: IntArray, cost: IntArray) -> IntArray:
        here, there = _places(sources, sizes), _places(destinations, sizes)
        return _outer(here, there, np.array(sizes, dtype=np.int32))

    return hops_of


def torus_distance_of_pairs(sizes: Sequence[int]) -> PairLengths:
    """The same for single pairs."""

    def hops_of(sources: IntArray, destinations: IntArray, cost: IntArray) -> IntArray:
        gap = np.abs(_places(sources, sizes) - _places(destinations, sizes))
        shorter: IntArray = np.minimum(gap, np.array(sizes, dtype=np.int32)[:, None] - gap)
        hops: IntArray = shorter.sum(axis=0, dtype=np.int32)
        return hops

    return hops_of


def single_torus_distances(fabric: Fabric, pairs: Pairs) -> Levels | None:
    """The distances of single pairs of servers of a whole torus or hypercube, destination by destination.

    None for other networks, and where the destinations share their sources.
    """
    sizes = torus_sizes(fabric)
    if pairs.shared or sizes is None:
        return None
    ends = np.repeat(pairs.destinations, [len(part) for part in pairs.sources])
    hops = torus_distance_of_pairs(sizes)(np.concatenate(pairs.sources), ends, np.zeros(0, np.int32))
    return hops.astype(np.uint16)


def single_shifted_distances(fabric: Fabric, graph: HopGraph, pairs: Pairs) -> Levels | None:
    """The distances of single pairs of servers of a CLOT, NovaCube or torus without failures, destination by
    destination: the coordinates can be shifted, so one search in ``graph`` has all distances.

    None for other networks, with odd radices of CLOT, and where the destinations share their sources.
    """
    family = fabric.family
    if pairs.shared or not fabric.relaying or not (isinstance(family, Torus) and family.shifts):
        return None
    ends = np.repeat(pairs.destinations, [len(part) for part in pairs.sources])
    here, there = _places(np.concatenate(pairs.sources), family.sizes), _places(ends, family.sizes)
    place = np.ravel_multi_index(tuple(there - here), family.sizes, mode="wrap")
    levels: Levels = distance_rows(graph, np.zeros(1, dtype=np.int32))[0, place]
    return levels


def torus_sizes(fabric: Fabric) -> tuple[int, ...] | None:
    """The sizes of the torus that the servers of a whole torus or hypercube form; None for other networks."""
    family = fabric.family
    if not fabric.relaying or type(family) not in (Torus, Hypercube):
        return None
    return family.sizes if isinstance(family, Torus) else (2,) * (fabric.size.bit_length() - 1)


def _places(nodes: IntArray, sizes: Sequence[int]) -> IntArray:
    """``[dimension, i]``: the coordinates of ``nodes[i]``."""
    return np.stack(np.unravel_index(nodes, sizes)).astype(np.int32)


@threaded
def _outer(here: IntArray, there: IntArray, sizes: IntArray) -> IntArray:
    """``[destination, source]``: the distance."""
    hops = np.zeros((there.shape[1], here.shape[1]), np.int32)
    for i in numba.prange(len(hops)):
        for dimension in range(len(sizes)):
            size, wanted = sizes[dimension], there[dimension, i]
            for j in range(hops.shape[1]):
                gap = abs(here[dimension, j] - wanted)
                hops[i, j] += min(gap, size - gap)
    return hops
