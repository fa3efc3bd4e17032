"""Greedy routing by torus distance, vectorised: next hops, and table sizes."""

from __future__ import annotations

from typing import cast

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.algorithms.grid import Grid
from addressing.header import Forward
from addressing.jit import threaded
from addressing.scheme import Scheme
from addressing.schemes.greedy import Greedy
from dcnlab.evaluator.graph.hop_graph import attachment_points
from dcnlab.evaluator.routing.forms import Rule, TableCounts, Tables
from dcnlab.evaluator.routing.tables.prefix_counts import WIDTH, Trie
from dcnlab.evaluator.routing.tables.table_counts import one_next_hop, with_local
from topos.arrays import Words
from topos.families.clot import Clot
from topos.graph import NONE, IntArray, LinkState

#: The most elements of an array of decisions.
_ROOM = 1 << 22


def rule(scheme: Scheme, known_down: LinkState) -> Rule:
    """The first port to a node of least distance; a CLOT switch is one hop from its nearest member."""
    fabric, grid = scheme.fabric, cast(Greedy, scheme).grid
    places, sizes = _places(grid), np.array(grid.sizes, dtype=np.int32)
    first = 0 if fabric.relaying else fabric.servers
    last, final = attachment_points(fabric)
    through_switches, adjacency = isinstance(fabric.family, Clot), fabric.adjacency

    def towards(destinations: IntArray) -> IntArray:
        ends = last[destinations]
        out = _nearest(
            ends, first, places, sizes, grid.wraps, adjacency.start, adjacency.peer, through_switches
        )
        out[np.arange(len(out)), ends] = final[destinations]
        return out

    return towards


def few_steps(scheme: Scheme) -> bool:
    """A node compares its neighbours only."""
    return not scheme.known


def table_counts(scheme: Scheme) -> Tables | None:
    """The fewest prefixes of the labels; None where failures are known, or with more than 64 ports."""
    greedy = cast(Greedy, scheme)
    adjacency, most = scheme.fabric.adjacency, int(np.diff(scheme.fabric.adjacency.start).max(initial=0))
    if scheme.known or most > WIDTH:
        return None
    grid = greedy.grid
    places = _places(grid)
    values = _labels(grid, places)
    trie = Trie.of(values, greedy.vertex_bits)
    ranked = sorted(range(1, most + 1), key=lambda port: repr(Forward(port)))
    bit = np.zeros(most + 1, dtype=np.uint64)
    bit[ranked] = np.uint64(1) << np.arange(most, dtype=np.uint64)
    first = 0 if scheme.fabric.relaying else scheme.fabric.servers
    sizes, step = np.array(grid.sizes, dtype=np.int32), max(1, _ROOM // len(values))

    def transit(nodes: IntArray) -> TableCounts:
        parts = [
            trie.prefixes(
                _decide(
                    nodes[i : i + step], first, places, sizes, grid.wraps, adjacency.start, adjacency.peer, bit
                )
            )
            for i in range(0, len(nodes), step)
        ]
        return one_next_hop(*np.concatenate(parts).T)

    return with_local(greedy, transit)


def _places(grid: Grid) -> IntArray:
    """``[vertex]``: its coordinates."""
    every = np.arange(int(np.prod(grid.sizes)))
    return np.stack(np.unravel_index(every, grid.sizes), axis=1).astype(np.int32)


def _labels(grid: Grid, places: IntArray) -> Words:
    """``[vertex]``: its label; ascending."""
    labels = np.zeros(len(places), dtype=np.uint64)
    for column, width in zip(places.T, grid.widths, strict=True):
        labels = labels << np.uint64(width) | column.astype(np.uint64)
    return labels


@threaded
def _decide(
    nodes: IntArray,
    first: int,
    places: IntArray,
    sizes: IntArray,
    wraps: bool,
    start: NDArray[np.int64],
    peer: IntArray,
    bit: Words,
) -> Words:
    """``[i, vertex]``: the bit of the first port of ``nodes[i]`` to a neighbour of least distance."""
    count = len(places)
    out = np.zeros((len(nodes), count), np.uint64)
    for i in numba.prange(len(nodes)):
        node = nodes[i]
        least = np.full(count, np.iinfo(np.int32).max, np.int32)
        for link in range(start[node], start[node + 1]):
            end = peer[link] - first
            if peer[link] == NONE or end < 0 or end >= count:
                continue
            for vertex in range(count):
                distance = 0
                for dimension in range(len(sizes)):
                    gap = abs(places[end, dimension] - places[vertex, dimension])
                    distance += min(gap, sizes[dimension] - gap) if wraps else gap
                if distance < least[vertex]:
                    least[vertex], out[i, vertex] = distance, bit[link - start[node] + 1]
        if 0 <= node - first < count:
            out[i, node - first] = 0
    return out


@threaded
def _nearest(
    ends: IntArray,
    first: int,
    places: IntArray,
    sizes: IntArray,
    wraps: bool,
    start: NDArray[np.int64],
    peer: IntArray,
    through_switches: bool,
) -> IntArray:
    """``[i, node]``: the first link to a node of least distance from ``ends[i]``."""
    count, size = len(places), len(start) - 1
    far = np.iinfo(np.int32).max
    out = np.full((len(ends), size), NONE, np.int32)
    for i in numba.prange(len(ends)):
        wanted = places[ends[i] - first]
        gaps = np.zeros((len(sizes), sizes.max()), np.int32)
        for dimension in range(len(sizes)):
            for value in range(sizes[dimension]):
                gap = abs(value - wanted[dimension])
                gaps[dimension, value] = min(gap, sizes[dimension] - gap) if wraps else gap
        distance = np.full(size, far, np.int32)
        for vertex in range(count):
            total = 0
            for dimension in range(len(sizes)):
                total += gaps[dimension, places[vertex, dimension]]
            distance[first + vertex] = total
        for switch in range(first + count, size if through_switches else 0):
            for link in range(start[switch], start[switch + 1]):
                distance[switch] = min(distance[switch], distance[peer[link]] + 1)
        for node in range(first, size):
            least = far
            for link in range(start[node], start[node + 1]):
                if peer[link] != NONE and distance[peer[link]] < least:
                    least, out[i, node] = distance[peer[link]], link
    return out
