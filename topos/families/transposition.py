"""The transposition graph: the Cayley graph of the symmetric group on all transpositions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from topos.bases.cayley import Permutation, PermutationGraph, colex_pairs, transposition


@dataclass(frozen=True)
class Transposition(PermutationGraph):
    """transposition:s -- arrangements of 1..s in lexicographic order; a port per pair of positions i < j,
    which it swaps, in colexicographic order: (1 2), (1 3), (2 3), (1 4), ..."""

    name: ClassVar[str] = "transposition"
    example: ClassVar[str] = "transposition:3"
    source: ClassVar[str] = "Aguirre-Guerrero et al., WMGR, Table I and Fig. 7"

    @property
    def generators(self) -> tuple[Permutation, ...]:
        return tuple(transposition(self.s, i, j) for i, j in colex_pairs(self.s))

    @property
    def letters(self) -> tuple[str, ...]:
        return tuple(f"({i} {j})" for i, j in colex_pairs(self.s))
