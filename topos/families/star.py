"""The star graph: the Cayley graph of the symmetric group on the transpositions with position 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from topos.bases.cayley import Permutation, PermutationGraph, transposition


@dataclass(frozen=True)
class Star(PermutationGraph):
    """star:s -- arrangements of 1..s in lexicographic order; port i swaps positions 1 and i + 1."""

    name: ClassVar[str] = "star"
    example: ClassVar[str] = "star:4"
    source: ClassVar[str] = "Akers and Krishnamurthy, 1989; Aguirre-Guerrero et al., WMGR, Table I"

    @property
    def generators(self) -> tuple[Permutation, ...]:
        return tuple(transposition(self.s, 1, i) for i in range(2, self.s + 1))

    @property
    def letters(self) -> tuple[str, ...]:
        return tuple(f"(1 {i})" for i in range(2, self.s + 1))
