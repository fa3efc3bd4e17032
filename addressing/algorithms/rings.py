"""Chordal-ring representations of Borel Cayley graphs (Tang and Arden, sections 3 and 4).

A word of q generators whose product T has order N / q arranges all N vertices on a ring.  With a_i the
product of its first i letters, vertex T^m a_i has the *CR label* m q + i, and the next vertex on the
ring is its neighbour.  The two edges of a vertex that are not ring edges are its chords; which
generators they are depends on i only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from topos.families.borel import Borel

#: Ports of a vertex in the graph: A, its inverse, B, its inverse.
_A, _A_BACK, _B, _B_BACK = 1, 2, 3, 4


def ring_word(family: Borel) -> tuple[int, ...] | None:
    """The generators of one period of the ring, as ports; None when no ring is known.

    For t1 = 0: A^(p-1) B.  For t1 prime to k, r = t2 / t1 mod k: B A^(k-r-1) B A^-(r-1).
    Or the same with A and B exchanged.
    """
    a, b = (_A, _A_BACK), (_B, _B_BACK)
    for t, other, (x, back), (y, _) in ((family.t1, family.t2, a, b), (family.t2, family.t1, b, a)):
        if t == 0:
            return (x,) * (family.p - 1) + (y,)
        if other and math.gcd(t, family.k) == 1:
            r = other * pow(t, -1, family.k) % family.k
            return (y,) + (x,) * (family.k - r - 1) + (y,) + (back,) * (r - 1)
    return None


@dataclass(frozen=True, eq=False)
class Ring:
    """CR labels of all vertices, and their neighbours in the order in which CR routing tries them."""

    family: Borel

    @cached_property
    def word(self) -> tuple[int, ...]:
        """The generators of one period."""
        word = ring_word(self.family)
        assert word is not None
        return word

    @cached_property
    def vertices(self) -> tuple[int, ...]:
        """Vertices by CR label."""
        vertices, at = [0], 0
        for letter in self.word * (self.family.vertices // len(self.word)):
            at = self._moves[at][letter - 1]
            vertices.append(at)
        return tuple(vertices[:-1])

    @cached_property
    def labels(self) -> tuple[int, ...]:
        """CR labels by vertex."""
        labels = [-1] * self.family.vertices
        for label, vertex in enumerate(self.vertices):
            labels[vertex] = label
        return tuple(labels)

    @cached_property
    def order(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """Per vertex (port, neighbour): the two chords in the order A, A^-1, B, B^-1, then +1, then -1."""
        return tuple(
            tuple((port, self._moves[vertex][port - 1]) for port in self._tried(self.labels[vertex]))
            for vertex in range(self.family.vertices)
        )

    def distance(self, a: int, b: int) -> int:
        """The hops along the ring between two CR labels."""
        gap = abs(a - b)
        return min(gap, self.family.vertices - gap)

    def _tried(self, label: int) -> tuple[int, ...]:
        """The ports at a CR label in the order of :attr:`order`."""
        period = len(self.word)
        ahead = self.word[label % period]
        behind = self.family.inverses[self.word[(label - 1) % period] - 1]
        chords = (port for port in (_A, _A_BACK, _B, _B_BACK) if port not in (ahead, behind))
        return (*chords, ahead, behind)

    @cached_property
    def _moves(self) -> list[list[int]]:
        moves: list[list[int]] = self.family.images(np.arange(self.family.vertices)).tolist()
        return moves
