"""Paths through a DCube, node by node, from the dimensions that they cross (Guo et al., DCube, section 4).

A path stays in one sub-network (*block*).  It leaves each switch by the server at place
block * m + dimension, whose second port leads to the server at the same place of the next switch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from addressing.algorithms.disjoint import disjoint_paths
from topos.families.dcube import CubeOfSwitches

#: The nodes of a path, servers and switches alike, ends included.
NodePath = tuple[int, ...]


def path_along(
    cube: CubeOfSwitches, source: int, destination: int, dimensions: Sequence[int], block: int
) -> NodePath:
    """The nodes from ``source`` over the links of ``dimensions`` in sub-network ``block`` to
    ``destination``, which must be on the switch that they lead to."""
    path = [source]
    for dimension in dimensions:
        here = cube.address(path[-1])
        place = block * cube.m + dimension
        _cross(cube, path, cube.server(here, place))
        path.append(cube.server(cube.neighbour(here, dimension), place))
    _cross(cube, path, destination)
    return tuple(path)


def _cross(cube: CubeOfSwitches, path: list[int], server: int) -> None:
    """Append the switch and another server on it; nothing when the path is at that server already."""
    if path[-1] != server:
        path += [cube.switch(cube.address(server)), server]


def simple_paths(
    neighbours: Sequence[Sequence[int]], here: int, there: int, longest: int, avoid: frozenset[int]
) -> Iterator[tuple[int, ...]]:
    """The dimensions of every path of at most ``longest`` switch hops that visits no switch twice
    and none of ``avoid``; ``neighbours[a][j]`` is the neighbour of switch a along dimension j."""
    if here == there:
        yield ()
    elif longest:
        for dimension, following in enumerate(neighbours[here]):
            if following == there or following not in avoid:
                for rest in simple_paths(neighbours, following, there, longest - 1, avoid | {here}):
                    yield (dimension, *rest)


@lru_cache(maxsize=16)
def neighbours(cube: CubeOfSwitches) -> tuple[tuple[int, ...], ...]:
    """By switch the neighbour along each dimension."""
    return tuple(tuple(cube.neighbour(a, j) for j in range(cube.m)) for a in range(2**cube.m))


@lru_cache(maxsize=1 << 12)
def disjoint_switch_paths(cube: CubeOfSwitches, here: int, there: int) -> tuple[tuple[int, ...], ...]:
    """The dimensions of m paths between two switches that share no other switch, the shortest first;
    one path without dimensions where the two are the same."""
    if here == there:
        return ((),)
    paths = _rotations(here ^ there, cube.m) if cube.cube == "hyper" else _searched(cube, here, there)
    return tuple(sorted(paths, key=len))


def _rotations(difference: int, m: int) -> Iterator[tuple[int, ...]]:
    """The bits that differ, from the highest down, rotated to begin with each of them; and for each other
    bit the same with that bit flipped first and last."""
    bits = tuple(bit for bit in reversed(range(m)) if difference >> bit & 1)
    for first in range(len(bits)):
        yield bits[first:] + bits[:first]
    for bit in range(m):
        if bit not in bits:
            yield (bit, *bits, bit)


def _searched(cube: CubeOfSwitches, here: int, there: int) -> Iterator[tuple[int, ...]]:
    """As many disjoint paths over the switches as there are, of least total length.

    Rotating the expansions does not do on the moebius cube: the paths often meet."""
    dimension = {(a, b): j for a, ends in enumerate(neighbours(cube)) for j, b in enumerate(ends)}
    edges = np.array([edge for edge in dimension if edge[0] < edge[1]], dtype=np.int64)
    for path in disjoint_paths(2**cube.m, edges, here, there):
        yield tuple(dimension[step] for step in pairwise(path))
