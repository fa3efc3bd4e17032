"""The bubble-sort graph: the Cayley graph of the symmetric group on adjacent transpositions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from topos.bases.cayley import Permutation, PermutationGraph, transposition


@dataclass(frozen=True)
class BubbleSort(PermutationGraph):
    """bubblesort:s -- arrangements of 1..s in lexicographic order; port i swaps positions i and i + 1."""

    name: ClassVar[str] = "bubblesort"
    example: ClassVar[str] = "bubblesort:4"
    source: ClassVar[str] = "Akers and Krishnamurthy, 1989; Aguirre-Guerrero et al., WMGR, Table I"

    @property
    def generators(self) -> tuple[Permutation, ...]:
        return tuple(transposition(self.s, i, i + 1) for i in range(1, self.s))

    @property
    def letters(self) -> tuple[str, ...]:
        return tuple(f"({i} {i + 1})" for i in range(1, self.s))
