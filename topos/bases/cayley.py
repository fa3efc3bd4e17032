"""Cayley graphs: vertices are group elements, port p of each is generator number p.

Element u has an edge to u g for every generator g; the edge leaves u by g's port and
arrives by the port of g's inverse (the same port where g is an involution).  Vertex 0
is always the identity.  An element is given by its vertex number; a family adds
methods for the form of its elements (permutations, words, pairs).
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topos.bases.vertices import SymmetricGraph
from topos.constructions.layout import Points, circle, in_cosets, real
from topos.family import param
from topos.graph import IntArray

Permutation = tuple[int, ...]
#: Graphs of more symbols are not drawn by cosets.
_MOST_SYMBOLS = 7
#: The edges of so many vertices are made at once.
_BLOCK = 1 << 18


@dataclass(frozen=True)
class CayleyGraph(SymmetricGraph):
    """Base of the families that are Cayley graphs."""

    @property
    @abstractmethod
    def letters(self) -> tuple[str, ...]:
        """The generators' names, in port order."""

    @property
    def inverses(self) -> tuple[int, ...]:
        """Per generator, in port order, the port of its inverse; its own port for an involution."""
        return tuple(range(1, len(self.letters) + 1))

    @abstractmethod
    def images(self, vertices: NDArray[np.int64]) -> NDArray[np.int64]:
        """The vertices u g: a row per vertex u, a column per generator in port order."""

    @abstractmethod
    def product(self, u: int, v: int) -> int:
        """The element u v."""

    @abstractmethod
    def inverse(self, u: int) -> int:
        """The element u^-1."""

    def step(self, vertex: int, port: int) -> int:
        """The vertex at the other end of a port of the graph."""
        return int(self.images(np.array([vertex]))[0, port - 1])

    def spell(self, word: tuple[int, ...]) -> int:
        """The product of a word of generators, given as ports."""
        vertex = 0
        for port in word:
            vertex = self.step(vertex, port)
        return vertex

    def edges(self) -> IntArray:
        """Vertex by vertex in port order.  An edge is listed at the end with the lower port; where both ports
        are equal, at the lower vertex."""
        blocks = range(0, self.vertices, _BLOCK)
        return np.concatenate([self._edges_of(first, min(first + _BLOCK, self.vertices)) for first in blocks])

    def _edges_of(self, low: int, high: int) -> IntArray:
        """The edges that are listed at the vertices ``low`` to ``high - 1``."""
        start = np.arange(low, high, dtype=np.int64)
        ports = np.arange(1, len(self.letters) + 1)
        back = np.array(self.inverses)
        end = self.images(start)
        first = (ports < back) | ((ports == back) & (start[:, None] < end))
        row, column = np.nonzero(first)
        return np.stack([low + row, ports[column], end[row, column], back[column]], axis=1).astype(np.int32)


@dataclass(frozen=True)
class Relettered(CayleyGraph):
    """A Cayley graph with its generators at other ports: ``order`` lists the ports of ``base``."""

    name: ClassVar[str] = "relettered"
    example: ClassVar[str] = "relettered"
    source: ClassVar[str] = "Aguirre-Guerrero et al., WMGR, Algorithm 1: the order of the alphabet"

    base: CayleyGraph
    order: tuple[int, ...]

    @property
    def vertices(self) -> int:
        return self.base.vertices

    @property
    def letters(self) -> tuple[str, ...]:
        return tuple(self.base.letters[port - 1] for port in self.order)

    @property
    def inverses(self) -> tuple[int, ...]:
        return tuple(1 + self.order.index(self.base.inverses[port - 1]) for port in self.order)

    def images(self, vertices: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.base.images(vertices)[:, np.array(self.order) - 1]

    def product(self, u: int, v: int) -> int:
        return self.base.product(u, v)

    def inverse(self, u: int) -> int:
        return self.base.inverse(u)


@dataclass(frozen=True)
class PermutationGraph(CayleyGraph):
    """Base of the Cayley graphs of the symmetric group on 1..s.

    Vertices are the arrangements (a_1, ..., a_s) of 1..s in lexicographic order; a
    generator rearranges *positions*: u g has a_g(x) at position x.
    """

    part_name: ClassVar[str] = "coset"

    s: int = param("symbols", low=2, high=10)

    @property
    @abstractmethod
    def generators(self) -> tuple[Permutation, ...]:
        """In port order; entry x of a generator is the position whose symbol moves to position x."""

    @property
    def vertices(self) -> int:
        return math.factorial(self.s)

    def permutation(self, vertex: int) -> Permutation:
        """The arrangement of 1..s with this number."""
        rest, symbols, order = int(vertex), list(range(1, self.s + 1)), []
        for weight in self._weights:
            digit, rest = divmod(rest, weight)
            order.append(symbols.pop(digit))
        return tuple(order)

    def rank(self, permutation: Permutation) -> int:
        """The number of an arrangement of 1..s."""
        smaller = (sum(after < x for after in permutation[at + 1 :]) for at, x in enumerate(permutation))
        return sum(weight * count for weight, count in zip(self._weights, smaller, strict=True))

    def product(self, u: int, v: int) -> int:
        left, right = self.permutation(u), self.permutation(v)
        return self.rank(tuple(left[x - 1] for x in right))

    def inverse(self, u: int) -> int:
        permutation = self.permutation(u)
        return self.rank(tuple(1 + x for x in sorted(range(self.s), key=permutation.__getitem__)))

    def images(self, vertices: NDArray[np.int64]) -> NDArray[np.int64]:
        arrangement = self._arrangements(vertices)
        columns = [self._ranks(arrangement[:, np.array(g) - 1]) for g in self.generators]
        return np.stack(columns, axis=1)

    def vertex_label(self, vertex: int) -> str:
        return "(" + ",".join(map(str, self.permutation(vertex))) + ")"

    def vertex_at(self, text: str) -> int | None:
        parts = text.strip("()").split(",")
        if not all(part.isdecimal() for part in parts):
            return None
        symbols = tuple(map(int, parts))
        return self.rank(symbols) if sorted(symbols) == list(range(1, self.s + 1)) else None

    def vertex_layout(self) -> Points | None:
        """Cosets, the arrangements with the same last symbol, in a circle; each is made of such cosets, and
        those of three symbols are hexagons.  None above seven symbols."""
        if not 2 < self.s <= _MOST_SYMBOLS:
            return None
        if self.s == 3:
            points = np.empty(6, dtype=np.complex128)
            points[[self.spell(tuple(1 + step % 2 for step in range(length))) for length in range(6)]] = circle(
                6
            )
            return real(points)
        inner = dataclasses.replace(self, s=self.s - 1, hosts=0).vertex_layout()
        assert inner is not None
        middle = inner - inner.mean(axis=0)
        return in_cosets(middle[:, 0] + 1j * middle[:, 1], self._cosets, self.edges()[:, [0, 2]])

    @property
    def layout_caption(self) -> str:
        if not 3 < self.s <= _MOST_SYMBOLS:
            return super().layout_caption
        return f"{self.s} cosets in a circle: arrangements with the same last symbol, in hexagons."

    def vertex_part_numbers(self) -> NDArray[np.int64] | None:
        """The last symbol of each arrangement, from 0."""
        if not 3 < self.s <= _MOST_SYMBOLS:
            return None
        return self._arrangements(np.arange(self.vertices))[:, -1].astype(np.int64) - 1

    @property
    def _cosets(self) -> IntArray:
        """A row per last symbol: its arrangements, in the order of those of one symbol less."""
        last = self._arrangements(np.arange(self.vertices))[:, -1]
        return np.stack([np.flatnonzero(last == symbol) for symbol in range(1, self.s + 1)]).astype(np.int32)

    @cached_property
    def _weights(self) -> list[int]:
        """Per position, the number of arrangements for each choice of its symbol."""
        return [math.factorial(rest) for rest in reversed(range(self.s))]

    def _arrangements(self, vertices: NDArray[np.int64]) -> NDArray[np.int8]:
        """Rows of symbols, from the digits of the numbers in the factorial base (Lehmer codes)."""
        symbols = np.zeros((len(vertices), self.s), dtype=np.int8)
        for position in reversed(range(self.s)):
            digit = (vertices // self._weights[position] % (self.s - position)).astype(np.int8)
            later = symbols[:, position + 1 :]
            later += later >= digit[:, None]
            symbols[:, position] = digit
        return symbols + np.int8(1)

    def _ranks(self, arrangements: NDArray[np.int8]) -> NDArray[np.int64]:
        rank = np.zeros(len(arrangements), dtype=np.int64)
        for position, weight in enumerate(self._weights):
            smaller = arrangements[:, position + 1 :] < arrangements[:, position, None]
            rank += weight * smaller.sum(axis=1)
        return rank


def transposition(s: int, i: int, j: int) -> Permutation:
    """The permutation of 1..s that swaps i and j."""
    moved = {i: j, j: i}
    return tuple(moved.get(x, x) for x in range(1, s + 1))


def colex_pairs(s: int) -> tuple[tuple[int, int], ...]:
    """All pairs i < j of 1..s, ordered by j and then by i: the pairs of 1..s-1 come first."""
    return tuple(sorted(itertools.combinations(range(1, s + 1), 2), key=lambda pair: pair[::-1]))
