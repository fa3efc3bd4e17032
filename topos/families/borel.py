"""Borel Cayley graphs (Tang and Arden): dense graphs of degree 4."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topos.bases.cayley import CayleyGraph
from topos.constructions.galois import is_prime
from topos.constructions.layout import MOST_DRAWN, Points, circle, real, scaled
from topos.family import ParameterError, param


@dataclass(frozen=True)
class Borel(CayleyGraph):
    """borel:p,a,t1,t2 -- the matrices [[a^t, y], [0, 1]] modulo a prime p, written (t, y).

    k is the order of a modulo p; (t, y)(s, z) = (t + s mod k, y + a^t z mod p).
    Generators A = (t1, 1) and B = (t2, 1): port 1 is A, 2 its inverse, 3 is B, 4 its
    inverse.  The vertex number is the label of the generalised chordal ring, y k + t.
    """

    name: ClassVar[str] = "borel"
    example: ClassVar[str] = "borel:7,2,1,2"
    part_name: ClassVar[str] = "coset"
    source: ClassVar[str] = "Tang and Arden, Borel Cayley graphs, definition and GCR representation"

    p: int = param("prime modulus", low=3, high=1_000_000)
    a: int = param("base of the diagonal; its order modulo p is k", low=2)
    t1: int = param("exponent of generator A", low=0)
    t2: int = param("exponent of generator B", low=0)

    def check(self) -> None:
        if not is_prime(self.p):
            raise ParameterError(f"borel: p must be prime, not {self.p}")
        if self.a >= self.p:
            raise ParameterError(f"borel: a must be less than p = {self.p}, not {self.a}")
        for name, t in (("t1", self.t1), ("t2", self.t2)):
            if t >= self.k:
                raise ParameterError(f"borel: {name} must be less than the order of a, {self.k}, not {t}")
            if 2 * t == self.k:
                raise ParameterError(
                    f"borel: {name} = {t} is half the order of a: the generator would be its own inverse"
                )
        if self.t1 == self.t2 or math.gcd(self.t1, self.t2, self.k) > 1:
            raise ParameterError(
                f"borel: t1 and t2 must differ and share no divisor with {self.k}, the order of a:"
                " otherwise the graph is not connected"
            )

    @cached_property
    def k(self) -> int:
        """The multiplicative order of a modulo p."""
        return next(e for e in range(1, self.p) if pow(self.a, e, self.p) == 1)

    @property
    def vertices(self) -> int:
        return self.p * self.k

    @property
    def letters(self) -> tuple[str, ...]:
        return "A", "A^-1", "B", "B^-1"

    @property
    def inverses(self) -> tuple[int, ...]:
        return 2, 1, 4, 3

    def element(self, vertex: int) -> tuple[int, int]:
        """(t, y) of a vertex."""
        return vertex % self.k, vertex // self.k

    def vertex_of(self, t: int, y: int) -> int:
        """The vertex (t mod k, y mod p)."""
        return y % self.p * self.k + t % self.k

    def images(self, vertices: NDArray[np.int64]) -> NDArray[np.int64]:
        power = np.array([pow(self.a, t, self.p) for t in range(self.k)])
        t, y = vertices % self.k, vertices // self.k
        columns = []
        for shift in (self.t1, self.t2):
            back = (t - shift) % self.k
            columns += [(y + power[t]) % self.p * self.k + (t + shift) % self.k]
            columns += [(y - power[back]) % self.p * self.k + back]
        return np.stack(columns, axis=1)

    def product(self, u: int, v: int) -> int:
        (t, y), (s, z) = self.element(u), self.element(v)
        return self.vertex_of(t + s, y + pow(self.a, t, self.p) * z)

    def inverse(self, u: int) -> int:
        t, y = self.element(u)
        return self.vertex_of(-t, -pow(self.a, -t, self.p) * y)

    def vertex_layout(self) -> Points | None:
        """The generalised chordal ring: vertices on a circle in the order of their numbers."""
        if self.vertices > MOST_DRAWN:
            return None
        return scaled(real(circle(self.vertices)), np.stack([np.arange(2), np.arange(1, 3)], axis=1))

    @property
    def layout_caption(self) -> str:
        if self.vertices > MOST_DRAWN:
            return super().layout_caption
        return f"The generalised chordal ring. The {self.k} cosets (t, y) of the same t alternate along it."

    def vertex_part_numbers(self) -> NDArray[np.int64] | None:
        """t of each vertex."""
        return np.arange(self.vertices) % self.k

    def vertex_label(self, vertex: int) -> str:
        return "({},{})".format(*self.element(vertex))

    def vertex_at(self, text: str) -> int | None:
        t, _, y = text.strip("()").partition(",")
        if not (t.isdecimal() and y.isdecimal() and int(t) < self.k and int(y) < self.p):
            return None
        return self.vertex_of(int(t), int(y))
