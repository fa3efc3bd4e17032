"""The pancake graph: the Cayley graph of the symmetric group on prefix reversals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from topos.bases.cayley import Permutation, PermutationGraph


@dataclass(frozen=True)
class Pancake(PermutationGraph):
    """pancake:s -- arrangements of 1..s in lexicographic order; port i reverses the first i + 1 positions."""

    name: ClassVar[str] = "pancake"
    example: ClassVar[str] = "pancake:4"
    source: ClassVar[str] = "Akers and Krishnamurthy, 1989"

    @property
    def generators(self) -> tuple[Permutation, ...]:
        return tuple((*range(i, 0, -1), *range(i + 1, self.s + 1)) for i in range(2, self.s + 1))

    @property
    def letters(self) -> tuple[str, ...]:
        return tuple(f"r{i}" for i in range(2, self.s + 1))
