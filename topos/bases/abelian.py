"""Cayley graphs of products of cyclic groups: tori, and the generalised hypercubes under BCube."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topos.bases.cayley import CayleyGraph
from topos.family import Centric


@dataclass(frozen=True)
class Abelian(CayleyGraph):
    """The Cayley graph of Z_r1 x ... x Z_rn: ``names[g]`` adds ``steps[g]`` to the coordinates.

    It is no topology of its own, but the graph under one (see :mod:`addressing.automata.underlying`).
    Vertices are numbered with the last coordinate running fastest.
    """

    name: ClassVar[str] = "abelian"
    example: ClassVar[str] = "abelian"
    centric: ClassVar[Centric] = "symmetric"
    source: ClassVar[str] = "Heydemann and Ducourthial, Cayley graphs and interconnection networks, 1997"

    radices: tuple[int, ...]
    names: tuple[str, ...]
    steps: tuple[tuple[int, ...], ...]

    @property
    def vertices(self) -> int:
        return int(np.prod(self.radices, dtype=np.int64))

    @property
    def letters(self) -> tuple[str, ...]:
        return self.names

    @property
    def inverses(self) -> tuple[int, ...]:
        steps = [self._reduced(step) for step in self.steps]
        return tuple(1 + steps.index(self._reduced(tuple(-x for x in step))) for step in steps)

    def images(self, vertices: NDArray[np.int64]) -> NDArray[np.int64]:
        columns = [
            np.ravel_multi_index(tuple((self._coordinates(vertices) + np.array(step)).T), self.radices, "wrap")
            for step in self.steps
        ]
        return np.stack(columns, axis=1).astype(np.int64)

    def product(self, u: int, v: int) -> int:
        return self._vertex(self._coordinates(np.array([u, v])).sum(axis=0))

    def inverse(self, u: int) -> int:
        return self._vertex(-self._coordinates(np.array([u]))[0])

    def _coordinates(self, vertices: NDArray[np.int64]) -> NDArray[np.int64]:
        """A row of coordinates per vertex."""
        return np.stack(np.unravel_index(vertices, self.radices), axis=1)

    def _vertex(self, coordinates: NDArray[np.int64]) -> int:
        return int(np.ravel_multi_index(tuple(coordinates), self.radices, "wrap"))

    def _reduced(self, step: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(x % radix for x, radix in zip(step, self.radices, strict=True))
