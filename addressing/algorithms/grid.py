"""Vertices at coordinates: the torus of servers, and the grid of switches of a small world."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from topos.fabric import Fabric
from topos.family import Family

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
        rest, values = node - self._first, []
        for size in reversed(self.sizes):
            rest, value = divmod(rest, size)
            values.append(value)
        return tuple(reversed(values))

    def node(self, coordinates: Coordinates) -> int:
        """The vertex at given coordinates, taken modulo the sizes."""
        index = 0
        for value, size in zip(coordinates, self.sizes, strict=True):
            index = index * size + value % size
        return self._first + index

    def distance(self, a: Coordinates, b: Coordinates) -> int:
        """The hops along the grid between two places."""
        total = 0
        for x, y, size in zip(a, b, self.sizes, strict=True):
            gap = abs(x - y)
            total += min(gap, size - gap) if self.wraps else gap
        return total

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
