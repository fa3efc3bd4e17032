"""Ways through a DCube, node by node, from the dimensions that they cross.

A way leaves each switch by the server of the next dimension in one sub-network (*block*):
place block m + dimension, whose cable leads to the same place at the next switch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from topos.families.dcube import CubeOfSwitches

#: The nodes of a way, servers and switches alike, ends included.
NodePath = tuple[int, ...]


def along(
    cube: CubeOfSwitches, source: int, destination: int, dimensions: Sequence[int], block: int
) -> NodePath:
    """The nodes from ``source`` over the cables of ``dimensions`` in sub-network ``block`` to
    ``destination``, which must be on the switch where they lead."""
    path = [source]
    for dimension in dimensions:
        here = cube.address(path[-1])
        place = block * cube.m + dimension
        _cross(cube, path, cube.server(here, place))
        path.append(cube.server(cube.neighbour(here, dimension), place))
    _cross(cube, path, destination)
    return tuple(path)


def _cross(cube: CubeOfSwitches, path: list[int], server: int) -> None:
    """Through the switch to another server on it; nothing when the way is there already."""
    if path[-1] != server:
        path += [cube.switch(cube.address(server)), server]


def simple_ways(
    neighbours: Sequence[Sequence[int]], here: int, there: int, longest: int, avoid: frozenset[int]
) -> Iterator[tuple[int, ...]]:
    """The dimensions of every way of at most ``longest`` switch hops that visits no switch twice
    and none of ``avoid``; ``neighbours[a][j]`` is the switch next to a along dimension j."""
    if here == there:
        yield ()
    elif longest:
        for dimension, following in enumerate(neighbours[here]):
            if following == there or following not in avoid:
                for rest in simple_ways(neighbours, following, there, longest - 1, avoid | {here}):
                    yield (dimension, *rest)
