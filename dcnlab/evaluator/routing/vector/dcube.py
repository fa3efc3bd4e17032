"""DCube's published routing, vectorised: one sequence of dimensions per pair of switch addresses."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import lru_cache
from typing import cast

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.algorithms import mobius
from addressing.jit import compiled, threaded
from addressing.scheme import Scheme
from addressing.schemes.dcube import DCube, DCubeRouted
from addressing.schemes.shortest import Shortest
from dcnlab.evaluator.routing.forms import Lengths, Rule, SourceRoutes, Tables
from dcnlab.evaluator.routing.reroute import blockwise, with_backup_routes
from dcnlab.evaluator.routing.tables.table_counts import by_kind
from dcnlab.evaluator.routing.vector import shortest
from topos.families.dcube import CubeOfSwitches
from topos.graph import NONE, IntArray, LinkState


def source_routes(scheme: Scheme, known_down: LinkState) -> SourceRoutes:
    """Algorithms 1 and 3 of the paper for every pair, with shortest paths around known failures."""
    published = _published_routes(cast(DCube, scheme))
    down = scheme.all_failures(known_down)
    if not down:
        return published
    return with_backup_routes(
        scheme.fabric, [published], backup_next_hops(scheme, down), down, fits(cast(DCube, scheme))
    )


def table_counts(scheme: Scheme) -> Tables:
    """All servers have tables of equal size, and so have all switches."""
    return by_kind(scheme, lambda nodes: (nodes < scheme.fabric.servers).astype(np.int64))


def backup_next_hops(scheme: Scheme, down: LinkState) -> Rule:
    """The first link of a shortest path over the links that are up."""
    return blockwise(scheme.fabric, shortest.rule(Shortest(scheme.fabric, known=down), down))


def fits(scheme: DCubeRouted) -> Callable[[IntArray], NDArray[np.bool_]]:
    """Mask of the routes whose links between servers fit into the packet's tag."""
    fabric = scheme.fabric
    owner = np.repeat(np.arange(fabric.size), np.diff(fabric.adjacency.start))
    direct = np.append((owner < fabric.servers) & (fabric.adjacency.peer < fabric.servers), False)
    return lambda links: direct[links].sum(axis=1) <= scheme.max_hops


def _published_routes(scheme: DCube) -> SourceRoutes:
    cube, adjacency = scheme.cube, scheme.fabric.adjacency
    order = _orders(cube)
    neighbours = np.array(
        [[cube.neighbour(a, j) for j in range(cube.m)] for a in range(2**cube.m)], dtype=np.int32
    )

    def routes_of(sources: IntArray, destinations: IntArray) -> IntArray:
        return _trace(sources, destinations, order, neighbours, adjacency.start, cube.n, cube.m)

    return routes_of


def lengths(scheme: Scheme) -> Lengths:
    """One link between servers per dimension, and one switch hop at each change of the position."""
    cube = cast(DCube, scheme).cube
    order = _orders(cube)

    def hops_of(sources: IntArray, destinations: IntArray, cost: IntArray) -> IntArray:
        return _count(sources, destinations, order, cost[0], cost[0] + cost[-1], cube.n, cube.m)

    return hops_of


@lru_cache(maxsize=4)
def _orders(cube: CubeOfSwitches) -> NDArray[np.int8]:
    """``[here, there]``: the dimensions to cross, in order, then ``NONE``."""
    size = 2**cube.m
    rows = [_dimensions(cube, here, there) for here, there in itertools.product(range(size), repeat=2)]
    longest = max(map(len, rows)) + 1
    padded = [(*row, *(NONE for _ in range(longest - len(row)))) for row in rows]
    return np.array(padded, dtype=np.int8).reshape(size, size, longest)


def _dimensions(cube: CubeOfSwitches, here: int, there: int) -> tuple[int, ...]:
    if cube.cube == "mobius1":
        return mobius.dimensions(here, there, cube.m)
    return tuple(bit for bit in reversed(range(cube.m)) if (here ^ there) >> bit & 1)


@compiled
def _trace(
    sources: IntArray,
    destinations: IntArray,
    order: NDArray[np.int8],
    neighbours: IntArray,
    start: NDArray[np.int64],
    n: int,
    m: int,
) -> IntArray:
    """A server has port 1 to its switch and port 2 to another server; a switch's port is the position + 1."""
    servers = n * len(neighbours)
    out = np.full((len(sources), 3 * order.shape[2] + 2), NONE, np.int32)
    for pair in range(len(sources)):
        at, place = sources[pair] // n, sources[pair] % n
        there, last = destinations[pair] // n, destinations[pair] % n
        first, hop = place // m * m, 0
        for dimension in order[at, there]:
            wanted = last if dimension == NONE else first + dimension
            if wanted != place:
                out[pair, hop] = start[at * n + place]
                out[pair, hop + 1] = start[servers + at] + wanted
                place, hop = wanted, hop + 2
            if dimension == NONE:
                break
            out[pair, hop] = start[at * n + place] + 1
            at, hop = neighbours[at, dimension], hop + 1
    return out


@threaded
def _count(
    sources: IntArray,
    destinations: IntArray,
    order: NDArray[np.int8],
    direct: int,
    switch: int,
    n: int,
    m: int,
) -> IntArray:
    """``direct`` is the number of hops that a link between servers counts, ``switch`` that of a switch."""
    hops = np.zeros((len(destinations), len(sources)), np.int32)
    for i in numba.prange(len(destinations)):
        there, last = destinations[i] // n, destinations[i] % n
        for k in range(len(sources)):
            at, place = sources[k] // n, sources[k] % n
            first, total = place // m * m, 0
            for dimension in order[at, there]:
                wanted = last if dimension == NONE else first + dimension
                if wanted != place:
                    place, total = wanted, total + switch
                if dimension == NONE:
                    break
                total += direct
            hops[i, k] = total
    return hops
