"""Permutation sort: each Cayley family's own rule from arrangement to arrangement.

The bubble-sort graph removes inversions, star and transposition graph resolve cycles, the hypercube
corrects bits, the butterfly goes around its levels: all on shortest paths.  The pancake graph flips
symbols into position, with at most two flips per symbol.  Labels are chosen so that the rule is a few
mask entries per vertex (:mod:`addressing.algorithms.sorting`); the butterfly has prefixes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from addressing.algorithms import sorting
from addressing.header import Forward, Header
from addressing.rule import RuleScheme
from addressing.scheme import ForwardingClass
from topos.bases.cayley import CayleyGraph
from topos.families.bubblesort import BubbleSort
from topos.families.butterfly import Butterfly
from topos.families.hypercube import Hypercube
from topos.families.pancake import Pancake
from topos.families.star import Star
from topos.families.transposition import Transposition
from topos.family import Family

_SORTERS: dict[type[CayleyGraph], type[sorting.Sorter[Any]]] = {
    BubbleSort: sorting.BubbleSorter,
    Butterfly: sorting.ButterflySorter,
    Hypercube: sorting.BitSorter,
    Pancake: sorting.PancakeSorter,
    Star: sorting.StarSorter,
    Transposition: sorting.TranspositionSorter,
}


@dataclass(frozen=True)
class PermSort(RuleScheme):
    """Routing by sorting."""

    name: ClassVar[str] = "permsort"
    summary: ClassVar[str] = "routing on Cayley graphs by sorting permutations, bits or levels"
    source: ClassVar[str] = "Akers and Krishnamurthy, 1989; a baseline of Aguirre-Guerrero et al., WMGR"
    ordered_by_distance = True

    @classmethod
    def incompatibility(cls, family: Family) -> str | None:
        return None if type(family) in _SORTERS else "it has no sorting rule for this graph"

    @cached_property
    def _graph(self) -> CayleyGraph:
        assert isinstance(self.fabric.family, CayleyGraph)
        return self.fabric.family

    @cached_property
    def _sorter(self) -> sorting.Sorter[Any]:
        return _SORTERS[type(self._graph)](self._graph)

    @property
    def vertex_bits(self) -> int:
        return self._sorter.bits

    def vertex_label(self, vertex: int) -> int:
        return self._sorter.label(self._graph.vertex(vertex))

    def find(self, label: int) -> int | None:
        vertex = self._sorter.find(label)
        return None if vertex is None else self._graph.node_of(vertex)

    def rule_bound(self) -> int:
        return self._sorter.bound

    def rule(self, at: int, vertex: int, header: Header) -> Forward | None:
        port = self._sorter.port(self._graph.vertex(at), self._graph.vertex(vertex))
        return Forward(self._graph.port_of(port))

    def rule_classes(self, at: int) -> Iterable[ForwardingClass]:
        entries = self._sorter.entries(self._graph.vertex(at))
        if entries is None:
            return self.covered(at)
        return (
            (self.pattern(value, mask), self.towards(self._graph.node_of(vertex)))
            for value, mask, vertex in entries
        )
