"""The k-ary n-dimensional torus of servers (CamCube); base of CLOT and NovaCube."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topos.constructions.layout import Points, grid
from topos.family import Centric, Family, ParameterError, param
from topos.graph import IntArray


@dataclass(frozen=True)
class Torus(Family):
    """torus:4x4x4 -- servers at coordinates (a_1, ..., a_n), linked to +-1 in each dimension.

    Dimension i (from 1) uses port 2i - 1 towards a_i + 1 and port 2i towards a_i - 1.
    A radix of 2 gives one link, from port 2i - 1 of coordinate 0 to port 2i of coordinate 1.
    Servers are numbered with a_n running fastest.
    """

    name: ClassVar[str] = "torus"
    example: ClassVar[str] = "torus:3x4"
    centric: ClassVar[Centric] = "server"
    source: ClassVar[str] = "Abu-Libdeh et al., CamCube, SIGCOMM 2010; Wang et al., CLOT, section 3"

    sizes: tuple[int, ...] = param("radix of each dimension", low=2)

    def counts(self) -> tuple[int, int]:
        return math.prod(self.sizes), 0

    def link_ends(self) -> IntArray:
        return torus_links(self.sizes)

    def coordinates(self, server: int) -> tuple[int, ...]:
        """(a_1, ..., a_n) of a server."""
        rest, coordinates = int(server), []
        for size in reversed(self.sizes):
            rest, value = divmod(rest, size)
            coordinates.append(value)
        return tuple(reversed(coordinates))

    def server(self, coordinates: tuple[int, ...]) -> int:
        """The server at coordinates, which are taken modulo the radices."""
        index = 0
        for value, size in zip(coordinates, self.sizes, strict=True):
            index = index * size + value % size
        return index

    @property
    def torus_radices(self) -> tuple[int, ...]:
        return self.sizes

    @property
    def grid_sizes(self) -> tuple[int, ...]:
        return self.sizes

    @property
    def halves(self) -> tuple[int, ...]:
        """k_i // 2 per dimension: the largest distance of two coordinates."""
        return tuple(size // 2 for size in self.sizes)

    @property
    def shifts(self) -> bool:
        """True where a shift of coordinates maps the network onto itself."""
        return True

    def require_even(self) -> None:
        """Raise ParameterError unless every radix is even: only then the farthest server is unique."""
        odd = [size for size in self.sizes if size % 2]
        if odd:
            raise ParameterError(
                f"{self.name}: every radix must be even, not {odd[0]}: with an odd radix the farthest"
                " server is not unique (torus takes any radix)"
            )

    def distance(self, a: tuple[int, ...], b: tuple[int, ...]) -> int:
        """The distance of two coordinates over torus links."""
        gaps = (abs(x - y) for x, y in zip(a, b, strict=True))
        return sum(min(gap, size - gap) for gap, size in zip(gaps, self.sizes, strict=True))

    def layout(self) -> Points | None:
        """Two or three dimensions: servers at their coordinates."""
        return grid(self.sizes)

    @property
    def layout_caption(self) -> str:
        if grid(self.sizes) is None:
            return super().layout_caption
        shape = " x ".join(map(str, self.sizes))
        return f"A grid of {shape} servers."

    def label(self, node: int) -> str:
        return "(" + ",".join(map(str, self.coordinates(node))) + ")"

    def locate(self, text: str) -> int | None:
        parts = text.strip("()").split(",")
        if len(parts) != len(self.sizes) or not all(part.strip().isdecimal() for part in parts):
            return None
        values = tuple(map(int, parts))
        return self.server(values) if all(v < s for v, s in zip(values, self.sizes, strict=True)) else None


def torus_links(sizes: tuple[int, ...]) -> IntArray:
    """The links of a torus, by node and then by dimension, each in the direction +1."""
    nodes = np.arange(math.prod(sizes))
    where = np.stack(np.unravel_index(nodes, sizes), axis=1)
    rows: list[NDArray[np.int64]] = []
    for dimension, size in enumerate(sizes):
        ahead = where.copy()
        ahead[:, dimension] = (ahead[:, dimension] + 1) % size
        peer = np.ravel_multi_index(tuple(ahead.T), sizes)
        plus, minus = 2 * dimension + 1, 2 * dimension + 2
        row = np.stack([nodes, np.full_like(nodes, plus), peer, np.full_like(nodes, minus)], axis=1)
        rows.append(row if size > 2 else row[where[:, dimension] == 0])
    return np.concatenate(rows).astype(np.int32)
