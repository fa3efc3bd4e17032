"""A ring of servers with chords."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from topos.family import Centric, Family, param
from topos.graph import IntArray


@dataclass(frozen=True)
class Chordal(Family):
    """chordal:n,chord -- ports 1 to 4 of server i lead to i + 1, i - 1, i + chord and i - chord, modulo n."""

    name: ClassVar[str] = "chordal"
    example: ClassVar[str] = "chordal:8,3"
    centric: ClassVar[Centric] = "server"
    source: ClassVar[str] = "the course of dcnlab"

    n: int = param("servers", low=5)
    chord: int = param("servers that a chord skips, and one more", low=2)

    def counts(self) -> tuple[int, int]:
        return self.n, 0

    def link_ends(self) -> IntArray:
        here = np.arange(self.n, dtype=np.int32)

        def links(step: int, port: int) -> IntArray:
            there = (here + step) % self.n
            return np.stack([here, np.full_like(here, port), there, np.full_like(here, port + 1)], axis=1)

        return np.concatenate([links(1, 1), links(self.chord, 3)])
