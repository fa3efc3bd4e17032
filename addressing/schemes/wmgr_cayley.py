"""WMGR on the underlying group: shortest paths on Cayley graphs from labels alone (Aguirre-Guerrero et al.).

A vertex's label is the ShortLex normal form of its group element; each letter takes as few bits as the
number of possible letters needs.  The path from u to v is the normal form of u^-1 v.  A node appends v's
letters to its own inverse, keeps the result in normal form with the automaton Diff
(:mod:`addressing.automata.reduction`), and sends the packet out of the port of the first letter.  So an
agent needs Diff, which is the same at all nodes, and no entries.  Stretch is 1 on every group.

Tori and BCubes are no Cayley graphs by themselves, but their servers are the vertices of one
(:mod:`addressing.automata.underlying`).  There the server decides a step of the group; in BCube the
switch in between completes it by one entry per port.

Switches cannot compute, so they have entries.  At every vertex of a hypercube, and at the identity of any
group, one prefix of v's label per port determines the first letter of u^-1 v.  At other vertices a
switch needs more: it has the fewest prefixes that give the same ports.  On groups of a hundred elements
these are between a sixth (bubble-sort graph) and two fifths of the entries of a full table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

from addressing.algorithms.cover import prefixes
from addressing.automata import orders
from addressing.automata.coding import Coding
from addressing.automata.differences import Diff, automaton
from addressing.automata.group import Group, of_graph
from addressing.automata.reduction import Reducer
from addressing.automata.underlying import Underlying, underlying
from addressing.header import Forward, Header
from addressing.rule import RuleScheme
from addressing.scheme import ForwardingClass, Scheme
from topos.bases.cayley import CayleyGraph
from topos.family import Family, param
from topos.graph import NONE, LinkState


@dataclass(frozen=True, eq=False)
class Structure:
    """What all nodes share: the group with its letter order, the automaton Diff, and the labels."""

    group: Group
    diff: Diff
    coding: Coding


@lru_cache(maxsize=8)
def structure(family: CayleyGraph, order: str) -> Structure:
    """The structure of a Cayley graph; cached, since schemes are bound again when links fail."""
    group = of_graph(family, orders.read(family, order))
    return Structure(group, automaton(group), Coding.of(group))


@dataclass(frozen=True)
class WmgrCayley(RuleScheme):
    """Word-metric routing on a Cayley graph by the automaton Diff."""

    name: ClassVar[str] = "wmgr-cayley"
    summary: ClassVar[str] = "word-metric routing on Cayley graphs, tori and BCube: shortest paths by Diff"
    source: ClassVar[str] = "Aguirre-Guerrero et al., WMGR, underlying Cayley graph; Algorithm 4 corrected"
    ordered_by_distance = True
    computed: ClassVar[bool] = True

    order: str = param("letter order: natural, lex, colex, search, or ports such as 2.1.3", default="natural")

    def __post_init__(self) -> None:
        orders.check(self.underlying.graph, self.order)

    @classmethod
    def incompatibility(cls, family: Family) -> str | None:
        return None if underlying(family) else "it needs a Cayley graph, a torus or a BCube of several levels"

    def with_failures(self, links: LinkState) -> Scheme:
        bound = super().with_failures(links)
        same = {"structure": self.structure, "_letter": self._letter, "_nodes": self._nodes}
        vars(bound).update(same)  # failures do not change them
        return bound

    @cached_property
    def underlying(self) -> Underlying:
        """The Cayley graph under the topology."""
        group = underlying(self.fabric.family)
        assert group is not None
        return group

    @cached_property
    def structure(self) -> Structure:
        """The group, Diff and the labels."""
        return structure(self.underlying.graph, self.order)

    # --- labels -----------------------------------------------------------------

    @property
    def vertex_bits(self) -> int:
        return self.structure.coding.bits

    def vertex_label(self, vertex: int) -> int:
        return self.structure.coding.labels[self._element(vertex)]

    def find(self, label: int) -> int | None:
        element = self.structure.coding.elements.get(label)
        return None if element is None else self._vertex(element)

    def _element(self, vertex: int) -> int:
        number = self.underlying.vertex(vertex)
        assert number is not None
        return int(self.structure.group.ranks[number])

    def _vertex(self, element: int) -> int:
        return self.underlying.node(int(self.structure.group.vertices[element]))

    # --- the rule ---------------------------------------------------------------

    def rule_bound(self) -> int:
        return int(self.structure.group.lengths[-1]) * self.underlying.links_per_step

    def rule(self, at: int, vertex: int, header: Header) -> Forward | None:
        number = self.underlying.vertex(at)
        if number is None:
            return Forward(self.underlying.completion(at, vertex))
        generator = self.structure.group.generators[self._letter(at, vertex)]
        return Forward(self.underlying.port(number, generator))

    @cached_property
    def _letter(self) -> Callable[[int, int], int]:
        """The first letter from one vertex to another, cached."""
        group, reducer = self.structure.group, Reducer(self.structure.diff)

        def first(at: int, vertex: int) -> int:
            back = reducer.inverse(group.word(self._element(at)))
            return reducer.reduce((*back, *group.word(self._element(vertex))))[0]

        return lru_cache(maxsize=1 << 16)(first)

    def rule_ports(self, at: int) -> Sequence[int] | None:
        if not self.one_class_each:
            return None
        coding, port_to = self.structure.coding, self._ports_at(at)
        ports = [NONE] * self.fabric.size
        for element in range(len(coding.labels)):
            ports[self._nodes[element]] = port_to(element) or NONE
        return ports

    @cached_property
    def _nodes(self) -> list[int]:
        """By element the node of its vertex."""
        return [self._vertex(element) for element in range(self.structure.group.order)]

    @property
    def one_class_each(self) -> bool:
        # Servers compute: fewer classes serve switches only.
        own = type(self).rule_classes is WmgrCayley.rule_classes
        return own and self.fabric.relaying and not self.fabric.switches

    def rule_classes(self, at: int) -> Iterable[ForwardingClass]:
        if self.one_class_each:
            yield from self.each_vertex(at)
            return
        coding = self.structure.coding
        port_to = self._ports_at(at)

        def decide(label: int) -> int | None:
            return port_to(coding.elements[label])

        for block in prefixes(coding.bits, decide, sorted(coding.labels)):
            rest = coding.bits - block.length
            mask = (1 << block.length) - 1 << rest
            yield (
                self.pattern(block.value << rest, mask),
                self.towards(self._vertex(coding.elements[block.sample])),
            )

    def _ports_at(self, at: int) -> Callable[[int], int | None]:
        """Per element the port towards it; None for the node's own element."""
        group, number = self.structure.group, self.underlying.vertex(at)
        if number is None:
            return lambda element: self.underlying.completion(at, self._vertex(element))
        here = int(group.ranks[number])
        ports = [self.underlying.port(number, generator) for generator in group.generators]
        first = group.first[group.translated(int(group.inverse[here]))].tolist()
        return lambda element: None if element == here else ports[first[element]]
