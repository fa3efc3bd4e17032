"""The ports of a torus in AACM, by the fixed numbering of interfaces (CLOT, section 6).

Dimension i (from 1) has port 2i - 1 towards a_i + 1 and port 2i towards a_i - 1.  A radix of 2 has one link,
from port 2i - 1 of coordinate 0 to port 2i of coordinate 1.
"""

from __future__ import annotations

from collections.abc import Iterator

Coordinates = tuple[int, ...]


def opposite(port: int) -> int:
    """The port at the other end of a correct cable at ``port``."""
    return port + 1 if port % 2 else port - 1


def step(place: Coordinates, port: int, sizes: Coordinates) -> Coordinates:
    """The coordinates to which ``port`` of ``place`` should lead."""
    dimension = (port - 1) // 2
    moved = (place[dimension] + (1 if port % 2 else -1)) % sizes[dimension]
    return (*place[:dimension], moved, *place[dimension + 1 :])


def linked_ports(place: Coordinates, sizes: Coordinates) -> frozenset[int]:
    """All ports of ``place`` that should have a cable."""
    return frozenset(incoming(place, sizes)) | frozenset(outgoing(place, sizes))


def incoming(place: Coordinates, sizes: Coordinates) -> Iterator[int]:
    """The ports at which ``place`` gets Configs: minus where it is not zero, plus where it is maximal."""
    for dimension, (value, size) in enumerate(zip(place, sizes, strict=True)):
        if value:
            yield 2 * dimension + 2
        if value == size - 1 and size > 2:
            yield 2 * dimension + 1


def outgoing(place: Coordinates, sizes: Coordinates) -> Iterator[int]:
    """The ports by which ``place`` sends Configs: plus unless it is maximal, minus where it is zero."""
    for dimension, (value, size) in enumerate(zip(place, sizes, strict=True)):
        if value < size - 1:
            yield 2 * dimension + 1
        if not value and size > 2:
            yield 2 * dimension + 2
