"""The wrapped butterfly: the Cayley graph of the wreath product of Z_2 by Z_s."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topos.bases.cayley import CayleyGraph
from topos.constructions.layout import MOST_DRAWN, Points, levels
from topos.family import param
from topos.graph import IntArray


@dataclass(frozen=True)
class Butterfly(CayleyGraph):
    """butterfly:s -- vertices (l, x): level l modulo s, x an s-bit word; number l 2^s + x.

    (l, x)(m, y) = (l + m, x xor y rotated left by l).  Generators g = (1, 0) and
    f = (1, e_0): port 1 (g) leads to (l + 1, x), port 2 (f) to (l + 1, x xor e_l), port 3
    (g^-1) to (l - 1, x), port 4 (f^-1) to (l - 1, x xor e_(l-1)).
    """

    name: ClassVar[str] = "butterfly"
    example: ClassVar[str] = "butterfly:3"
    part_name: ClassVar[str] = "level"
    source: ClassVar[str] = "Annexstein et al., 1990; Aguirre-Guerrero et al., WMGR, Table I"

    s: int = param("levels, and bits of a word", low=3, high=18)

    @property
    def vertices(self) -> int:
        count: int = self.s * 2**self.s
        return count

    @property
    def letters(self) -> tuple[str, ...]:
        return "g", "f", "G", "F"

    @property
    def inverses(self) -> tuple[int, ...]:
        return 3, 4, 1, 2

    def element(self, vertex: int) -> tuple[int, int]:
        """(level, word) of a vertex."""
        return vertex >> self.s, vertex & (2**self.s - 1)

    def vertex_of(self, level: int, word: int) -> int:
        """The vertex at a level (modulo s) with a word."""
        return level % self.s << self.s | word

    def images(self, vertices: NDArray[np.int64]) -> NDArray[np.int64]:
        level, word = vertices >> self.s, vertices & (2**self.s - 1)
        up, down = (level + 1) % self.s, (level - 1) % self.s
        ends = [(up, word), (up, word ^ 1 << level), (down, word), (down, word ^ 1 << down)]
        return np.stack([where << self.s | bits for where, bits in ends], axis=1)

    def product(self, u: int, v: int) -> int:
        (level, word), (more, bits) = self.element(u), self.element(v)
        return self.vertex_of(level + more, word ^ self._rotated(bits, level))

    def inverse(self, u: int) -> int:
        level, word = self.element(u)
        return self.vertex_of(-level, self._rotated(word, self.s - level))

    def vertex_layout(self) -> Points | None:
        """Levels above each other, words from left to right."""
        return levels([2**self.s] * self.s) if self.vertices <= MOST_DRAWN else None

    @property
    def layout_caption(self) -> str:
        return f"{self.s} levels of {2**self.s} words."

    def vertex_part_numbers(self) -> NDArray[np.int64]:
        """The level of each vertex: a coset of the words."""
        return np.arange(self.vertices) >> self.s

    def wraps(self, ends: IntArray) -> NDArray[np.bool_]:
        hosts = self.concentration * self.vertices
        level = (ends.astype(np.int64) - hosts) >> self.s
        return np.asarray((ends >= hosts).all(axis=1) & (np.ptp(level, axis=1) == self.s - 1) & (self.s > 2))

    def vertex_label(self, vertex: int) -> str:
        level, word = self.element(vertex)
        return f"({level},{word:0{self.s}b})"

    def vertex_at(self, text: str) -> int | None:
        level, _, bits = text.strip("()").partition(",")
        if not level.isdecimal() or int(level) >= self.s or len(bits) != self.s or set(bits) - set("01"):
            return None
        return self.vertex_of(int(level), int(bits, 2))

    def _rotated(self, word: int, by: int) -> int:
        return (word << by | word >> (self.s - by)) & ((1 << self.s) - 1)
