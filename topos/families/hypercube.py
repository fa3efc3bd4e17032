"""The binary hypercube: the Cayley graph of Z_2^s on its unit vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topos.bases.cayley import CayleyGraph
from topos.constructions.layout import MAX_BITS, Points, corners
from topos.family import param


@dataclass(frozen=True)
class Hypercube(CayleyGraph):
    """hypercube:s -- vertices are s-bit numbers; port p flips bit p - 1; bit 0 is the lowest."""

    name: ClassVar[str] = "hypercube"
    example: ClassVar[str] = "hypercube:3"
    source: ClassVar[str] = "Aguirre-Guerrero et al., WMGR, Table I"

    s: int = param("dimensions", low=1, high=22)

    @property
    def vertices(self) -> int:
        count: int = 2**self.s
        return count

    @property
    def letters(self) -> tuple[str, ...]:
        return tuple(f"e{bit}" for bit in range(self.s))

    def images(self, vertices: NDArray[np.int64]) -> NDArray[np.int64]:
        return vertices[:, None] ^ (1 << np.arange(self.s))

    def product(self, u: int, v: int) -> int:
        return u ^ v

    def inverse(self, u: int) -> int:
        return u

    def vertex_layout(self) -> Points | None:
        """Up to six dimensions: a cube, or a cube of cubes."""
        return corners(self.s) if 1 < self.s <= MAX_BITS else None

    @property
    def layout_caption(self) -> str:
        if self.s > MAX_BITS:
            return super().layout_caption
        return f"The corners of a cube of {self.s} dimensions; each dimension has a direction of its own."

    def vertex_label(self, vertex: int) -> str:
        return f"({vertex:0{self.s}b})"

    def vertex_at(self, text: str) -> int | None:
        bits = text.strip("()")
        return int(bits, 2) if len(bits) == self.s and not set(bits) - set("01") else None
