"""DCube's printed routes by arrays: one sequence of dimensions per pair of switch addresses."""

from __future__ import annotations

import itertools
from functools import lru_cache
from typing import cast

import numpy as np
from numpy.typing import NDArray

from addressing import mobius
from addressing.scheme import Scheme
from addressing.schemes.dcube import DCube
from evaluator.jit import compiled
from evaluator.vector import Ways
from topos.families.dcube import CubeOfSwitches
from topos.graph import NONE, IntArray, LinkState


def ways(scheme: Scheme, links: LinkState) -> Ways | None:
    """Algorithms 1 and 3 for every pair; None where failures are known: the source searches then."""
    if scheme.known or links:
        return None
    cube, slots = cast(DCube, scheme).cube, scheme.fabric.slots
    order = _orders(cube)
    neighbours = np.array(
        [[cube.neighbour(a, j) for j in range(cube.m)] for a in range(2**cube.m)], dtype=np.int32
    )

    def between(sources: IntArray, destinations: IntArray) -> IntArray:
        return _trace(sources, destinations, order, neighbours, slots.start, cube.n, cube.m)

    return between


@lru_cache(maxsize=4)
def _orders(cube: CubeOfSwitches) -> NDArray[np.int8]:
    """``[here, there]``: the dimensions that are crossed, in order, then -1."""
    size = 2**cube.m
    found = [_dimensions(cube, here, there) for here, there in itertools.product(range(size), repeat=2)]
    longest = max(map(len, found)) + 1
    padded = [(*row, *(NONE for _ in range(longest - len(row)))) for row in found]
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
    """Server slots are port 1 (to the switch) and port 2 (the cable); switch slots are places."""
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
