"""CR routing on Borel Cayley graphs: greedy on a ring, with look-ahead (Tang and Arden, section 4).

At every hop a node tries the words of up to d generators that never step straight back, depth first,
chords before ring edges.  It takes the first letter of the first word that ends nearest to the
destination along the ring.  Words that start by returning to the node that the packet came from are
left out.  This reproduces the paper's tables but can loop on other graphs.  Nodes detect a path that
returns to itself, and take a shortest path instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import ClassVar

from addressing.algorithms.rings import Ring, ring_word
from addressing.header import Forward, Header
from addressing.rule import RuleScheme
from addressing.scheme import ForwardingClass
from topos.families.borel import Borel
from topos.family import Family, param
from topos.graph import NONE

#: Ends of words kept per scheme.
_KEPT = 1 << 19


@dataclass(frozen=True)
class Cr(RuleScheme):
    """Chordal-ring routing, depth first."""

    name: ClassVar[str] = "cr"
    summary: ClassVar[str] = "greedy routing on a Borel graph's chordal ring, depth-first look-ahead d"
    source: ClassVar[str] = "Tang and Arden, Borel Cayley graphs, section 4"
    ordered_by_distance = True
    computed: ClassVar[bool] = True
    always_delivers: ClassVar[bool] = False
    uses_in_port: ClassVar[bool] = True

    d: int = param("look-ahead in hops", low=1, high=12, default=1)

    @classmethod
    def incompatibility(cls, family: Family) -> str | None:
        if not isinstance(family, Borel):
            return "it needs the rings of a Borel graph"
        return None if ring_word(family) else f"no ring is known for t1 = {family.t1} and t2 = {family.t2}"

    @cached_property
    def ring(self) -> Ring:
        """The ring and its chords."""
        assert isinstance(self.fabric.family, Borel)
        return Ring(self.fabric.family)

    # --- labels: positions on the ring ----------------------------------------------

    @property
    def vertex_bits(self) -> int:
        return (self.ring.family.vertices - 1).bit_length()

    def vertex_label(self, vertex: int) -> int:
        return self.ring.labels[self.ring.family.vertex(vertex)]

    def find(self, label: int) -> int | None:
        family = self.ring.family
        return family.node_of(self.ring.vertices[label]) if label < family.vertices else None

    # --- the rule -------------------------------------------------------------------

    def rule_bound(self) -> int:
        return len(self.ring.family.letters) * self.ring.family.vertices

    def rule(self, at: int, vertex: int, header: Header) -> Forward | None:
        family = self.ring.family
        came, target = self._came_from(at, header.in_port), self.vertex_label(vertex)
        best, port, around = family.vertices, NONE, family.vertices
        for label, first in self._ends(family.vertex(at), came).items():
            gap = abs(label - target)
            distance = min(gap, around - gap)
            if distance < best:
                best, port = distance, first
        return None if port == NONE else Forward(family.port_of(port))

    @cached_property
    def _ends(self) -> Callable[[int, int], dict[int, int]]:
        """By CR label where a word ends: the first letter of the first of :meth:`words` there; cached."""
        kept: int = _KEPT // min(self.ring.family.vertices, 4 * 3**self.d)

        def next_distances(at: int, came: int) -> dict[int, int]:
            ends: dict[int, int] = {}
            for port, end in self.words(at, came):
                ends.setdefault(self.ring.labels[end], port)
            return ends

        return lru_cache(maxsize=max(16, kept))(next_distances)

    def words(self, at: int, came: int) -> Iterator[tuple[int, int]]:
        """(first letter as a port, end) of the words to try from a vertex, in order."""
        for port, end in self.ring.order[at]:
            if end != came:
                yield port, end
                for further in self._deeper(end, at, self.d - 1):
                    yield port, further

    def _deeper(self, at: int, before: int, depth: int) -> Iterator[int]:
        """The ends of words of up to ``depth`` letters, depth first."""
        if not depth:
            return
        for _, end in self.ring.order[at]:
            if end != before:
                yield end
                yield from self._deeper(end, at, depth - 1)

    def _came_from(self, at: int, in_port: int) -> int:
        """The vertex that a packet arrived from; NONE at its source."""
        end = self.fabric.peer(at, in_port)
        return NONE if end is None or self.fabric.is_end_host(end.node) else self.ring.family.vertex(end.node)

    def transit_classes(self, at: int) -> Iterable[ForwardingClass]:
        """Per vertex the class of packets from the source and on most ports, and exceptions per port."""
        ports = [port for port, end in self.fabric.ports(at) if not self.fabric.is_end_host(end.node)]
        for pattern, header in self.each_vertex(at):
            yield pattern, header
            usual = self.next_hops(at, header)
            for port in ports:
                arriving = replace(header, in_port=port)
                if self.next_hops(at, arriving) != usual:
                    yield replace(pattern, in_port=port), arriving
