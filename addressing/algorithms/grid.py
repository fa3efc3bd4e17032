"""Vertices at coordinates: the torus of servers, and the grid of switches of a small world."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from topos.fabric import Fabric
from topos.family import Family
from topos.graph import IntArray

Coordinates = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Grid:
    """The coordinates of a fabric whose vertices lie on a torus or a mesh."""

    fabric: Fabric
    sizes: tuple[int, ...]
    #: True on a torus: coordinates wrap around.
    wraps: bool

    @staticmethod
    def fits(family: Family) -> bool:
        """True for families whose vertices have coordinates."""
        return bool(family.grid_sizes)

    @classmethod
    def of(cls, fabric: Fabric) -> Grid:
        """The grid of a fabric that :meth:`fits`."""
        return cls(fabric, fabric.family.grid_sizes, fabric.family.grid_wraps)

    @cached_property
    def _first(self) -> int:
        """The node number of the vertex at the origin: server 0, or switch 0 behind the hosts."""
        return 0 if self.fabric.relaying else self.fabric.servers

    def contains(self, node: int) -> bool:
        """True for nodes that have coordinates."""
        return 0 <= node - self._first < math.prod(self.sizes)

    def coordinates(self, node: int) -> Coordinates:
        """The coordinates of a vertex."""
        if node not in self._coordinates:
            rest, values = node - self._first, []
            for size in reversed(self.sizes):
                rest, value = divmod(rest, size)
                values.append(value)
            self._coordinates[node] = tuple(reversed(values))
        return self._coordinates[node]

    @cached_property
    def _coordinates(self) -> dict[int, Coordinates]:
        """The cache of :meth:`coordinates`: tables of a thousand nodes ask millions of times."""
        return {}

    def node(self, coordinates: Coordinates) -> int:
        """The vertex at given coordinates, taken modulo the sizes."""
        index = 0
        for value, size in zip(coordinates, self.sizes, strict=True):
            index = index * size + value % size
        return self._first + index

    def distance(self, a: Coordinates, b: Coordinates) -> int:
        """The hops along the grid between two places."""
        return sum([gap[x - y] for gap, x, y in zip(self._gaps, a, b, strict=True)])

    def distances(self, places: Sequence[Coordinates], nodes: Sequence[int]) -> IntArray:
        """The distances from places (rows) to vertices (columns)."""
        here = np.array(places)[:, None]
        there = np.stack(np.unravel_index(np.array(nodes) - self._first, self.sizes), axis=1)
        by_dimension = zip(self._gaps, np.moveaxis(here - there, 2, 0), strict=True)
        each = [np.array(gaps, np.int32)[apart] for gaps, apart in by_dimension]
        total: IntArray = np.sum(each, axis=0, dtype=np.int32)
        return total

    @cached_property
    def _gaps(self) -> list[list[int]]:
        """Per dimension, by the difference of two coordinates (also a negative one), how far they are apart."""
        if self.wraps:
            return [[min(gap, size - gap) for gap in range(size)] for size in self.sizes]
        return [[*range(size), *range(size - 1, 0, -1)] for size in self.sizes]

    @property
    def diameter(self) -> int:
        """The largest distance."""
        return sum(size // 2 if self.wraps else size - 1 for size in self.sizes)

    def direction(self, dimension: int, here: int, there: int) -> int:
        """+1 or -1: the shorter direction along a dimension, +1 on ties; 0 when here is there."""
        if here == there:
            return 0
        if not self.wraps:
            return 1 if there > here else -1
        size = self.sizes[dimension]
        return 1 if (there - here) % size <= size // 2 else -1

    def opposite(self, dimension: int, here: int, there: int) -> bool:
        """True for two places half an even ring apart: both directions are as short."""
        size = self.sizes[dimension]
        return self.wraps and 2 * abs(here - there) == size

    # --- labels: the coordinates side by side, dimension 1 first ------------------

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """Bits of each coordinate."""
        return tuple((size - 1).bit_length() for size in self.sizes)

    def pack(self, coordinates: Coordinates) -> int:
        """The label of coordinates."""
        label = 0
        for value, width in zip(coordinates, self.widths, strict=True):
            label = label << width | value
        return label

    def unpack(self, label: int) -> Coordinates | None:
        """The coordinates in a label; None if they lie outside the grid."""
        values: list[int] = []
        for width in reversed(self.widths):
            values.append(label & (1 << width) - 1)
            label >>= width
        values.reverse()
        inside = not label and all(v < size for v, size in zip(values, self.sizes, strict=True))
        return tuple(values) if inside else None
