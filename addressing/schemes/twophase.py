"""Two-Phase routing on Borel Cayley graphs (Tang and Arden, section 4).

Phase 1 goes from class to class: from (t, y) to the destination's t, on a shortest path in the circulant
graph C_k(t1, t2).  Then u^-1 v = (0, j) with j = a^-t (y_v - y_u) mod p, and phase 2 follows the stored
path from the identity to (0, j).  There are O(p + k) stored paths, because the graph is vertex-transitive:
a word leads to the corresponding vertex from every vertex.

The tag is 0 in phase 1.  In phase 2 it is the path and the number of its letters done.  A switch
recognises packets of its own hosts by the arrival port, and takes their tag as 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from addressing.broken import Case
from addressing.header import Forward, Header, NextHops, Pattern, only
from addressing.rule import RuleScheme, State, Step
from addressing.scheme import ForwardingClass
from topos.families.borel import Borel
from topos.family import Family
from topos.graph import ALL_UP, NONE, LinkState

Word = tuple[int, ...]


@dataclass(frozen=True)
class TwoPhase(RuleScheme):
    """First to the destination's class, then to its place in the class."""

    name: ClassVar[str] = "twophase"
    summary: ClassVar[str] = "two-phase routing on Borel graphs: to the class, then along a stored path"
    source: ClassVar[str] = "Tang and Arden, Borel Cayley graphs, section 4"
    #: Phase 2 may start with the edge that phase 1 ended with.
    hairpin: ClassVar[bool] = True

    @classmethod
    def incompatibility(cls, family: Family) -> str | None:
        return None if isinstance(family, Borel) else "it needs the classes of a Borel graph"

    @property
    def borel(self) -> Borel:
        """The family's parameters."""
        assert isinstance(self.fabric.family, Borel)
        return self.fabric.family

    # --- labels: t | y; tags: j | letters done ----------------------------------------

    @cached_property
    def _y_bits(self) -> int:
        return (self.borel.p - 1).bit_length()

    @property
    def vertex_bits(self) -> int:
        return (self.borel.k - 1).bit_length() + self._y_bits

    def vertex_label(self, vertex: int) -> int:
        t, y = self.borel.element(self.borel.vertex(vertex))
        return t << self._y_bits | y

    def find(self, label: int) -> int | None:
        t, y = label >> self._y_bits, label & (1 << self._y_bits) - 1
        if t >= self.borel.k or y >= self.borel.p:
            return None
        return self.borel.node_of(self.borel.vertex_of(t, y))

    @cached_property
    def _step_bits(self) -> int:
        return max(map(len, self.paths)).bit_length()

    @property
    def tag_bits(self) -> int:
        return self._y_bits + self._step_bits

    # --- the rule -----------------------------------------------------------------------

    def rule_bound(self) -> int:
        return max(self.class_hops) + max(map(len, self.paths))

    def rule(self, at: int, vertex: int, header: Header) -> Forward | None:
        tag = self._tag(at, header)
        if tag:
            return self._along(tag >> self._step_bits, tag & (1 << self._step_bits) - 1)
        family = self.borel
        (t, _), (wanted, _) = (family.element(family.vertex(node)) for node in (at, vertex))
        if t == wanted:
            return self._along(self.place_in_class(at, vertex), 0)
        return Forward(family.port_of(self.class_ports[(wanted - t) % family.k]), tag=0)

    def place_in_class(self, at: int, vertex: int) -> int:
        """The stored path between two vertices of one class: the j of u^-1 v = (0, j)."""
        family = self.borel
        (t, y), (_, last) = (family.element(family.vertex(node)) for node in (at, vertex))
        return (last - y) * pow(family.a, -t, family.p) % family.p

    def _along(self, j: int, done: int) -> Forward | None:
        """The next letter of the stored path to (0, j)."""
        if j >= self.borel.p or done >= len(self.paths[j]):
            return None
        return Forward(self.borel.port_of(self.paths[j][done]), tag=j << self._step_bits | done + 1)

    def _tag(self, at: int, header: Header) -> int:
        end = self.fabric.peer(at, header.in_port)
        return 0 if end is not None and self.fabric.is_end_host(end.node) else header.tag

    def may_reroute(self, at: int, header: Header) -> bool:
        # In phase 2 a packet must stay on its path: nodes identify the path by the tag only.
        return not self._tag(at, header)

    def steps(self, at: int, links: LinkState) -> Iterator[Step]:
        for step in super().steps(at, links):
            yield replace(step, forward=replace(step.forward, tag=0))

    def _state(self, at: int, header: Header) -> State:
        return at, Header(header.label >> self.host_bits, self._tag(at, header))

    # --- stored paths ---------------------------------------------------------------------

    @property
    def _shifts(self) -> tuple[tuple[int, int], ...]:
        """(port, change of t) of each edge."""
        family = self.borel
        return tuple(enumerate((family.t1, -family.t1, family.t2, -family.t2), start=1))

    @cached_property
    def class_hops(self) -> tuple[int, ...]:
        """Hops in the circulant graph, by difference of t."""
        hops, queue = {0: 0}, [0]
        for at in queue:
            for _, shift in self._shifts:
                end = (at + shift) % self.borel.k
                if end not in hops:
                    hops[end] = hops[at] + 1
                    queue.append(end)
        return tuple(hops[difference] for difference in range(self.borel.k))

    @cached_property
    def class_ports(self) -> tuple[int, ...]:
        """By difference of t: the first port that leads nearer to the class; NONE at difference 0."""
        hops, k = self.class_hops, self.borel.k
        return tuple(
            next((port for port, shift in self._shifts if hops[(ahead - shift) % k] < hops[ahead]), NONE)
            for ahead in range(k)
        )

    @cached_property
    def paths(self) -> tuple[Word, ...]:
        """By j: the first shortest word from the identity to (0, j)."""
        family = self.borel
        moves = family.images(np.arange(family.vertices)).tolist()
        words: dict[int, Word] = {0: ()}
        queue = [0]
        for at in queue:
            for port, end in enumerate(moves[at], start=1):
                if end not in words:
                    words[end] = (*words[at], port)
                    queue.append(end)
        return tuple(words[family.vertex_of(0, j)] for j in range(family.p))

    # --- tables -----------------------------------------------------------------------------

    def transit_classes(self, at: int) -> Iterable[ForwardingClass]:
        yield from super().transit_classes(at)
        yield from self._second_phase[at == self.vertices[0]]

    def class_next_hops(
        self, at: int, classes: Sequence[ForwardingClass], links: LinkState = ALL_UP
    ) -> list[NextHops]:
        if self.known or links:
            return super().class_next_hops(at, classes, links)
        return [self._onward[header.tag] if header.tag else self.next_hops(at, header) for _, header in classes]

    def rule_classes(self, at: int) -> Iterable[ForwardingClass]:
        """Phase 1: one entry per other class, and one per vertex of the own class."""
        family = self.borel
        t, y = family.element(family.vertex(at))
        for other in range(family.k if family.k > 1 else 0):
            mask = (1 << self.vertex_bits) - (1 << self._y_bits)
            if other != t:
                yield from self._fresh(
                    at, self.pattern(other << self._y_bits, mask), family.vertex_of(other, 0)
                )
        for other in range(family.p):
            if other != y:
                vertex = family.vertex_of(t, other)
                yield from self._fresh(at, self.pattern(t << self._y_bits | other), vertex)

    def cases(self, at: int) -> Iterator[Case]:
        for pattern, header in self.each_vertex(at):
            vertex, _ = self.split(header.label)
            assert vertex is not None
            for exact, fresh in self._fresh(at, pattern, self.borel.vertex(vertex)):
                yield Case(fresh, exact, vertex)

    def _fresh(self, at: int, pattern: Pattern, vertex: int) -> Iterator[ForwardingClass]:
        """The classes of packets that enter phase 1: tag 0 from other nodes, any tag from own hosts."""
        header = self.towards(self.borel.node_of(vertex))
        yield replace(pattern, tag_mask=(1 << self.tag_bits) - 1), header
        for _, port in self.hosts(at):
            yield replace(pattern, in_port=port), replace(header, in_port=port)

    @cached_property
    def _second_phase(self) -> tuple[list[ForwardingClass], list[ForwardingClass]]:
        """One class per letter of a stored path: with headers for the first vertex, and for the second, which
        serve at the first.

        Switches match the arrival port as well, so that a host's own source address is not taken for a
        path."""
        family, everything = self.borel, (1 << self.tag_bits) - 1
        first, second = map(self.towards, self.vertices[:2])
        by_phase: tuple[list[ForwardingClass], list[ForwardingClass]] = [], []
        for j, word in enumerate(self.paths):
            for done in range(1, len(word)):
                tag = j << self._step_bits | done
                arrival = 0 if self.fabric.relaying else family.port_of(family.inverses[word[done - 1] - 1])
                pattern = Pattern(tag=tag, tag_mask=everything, in_port=arrival)
                for classes, header in zip(by_phase, (first, second), strict=True):
                    classes.append((pattern, replace(header, tag=tag, in_port=arrival)))
        return by_phase

    @cached_property
    def _onward(self) -> dict[int, NextHops]:
        """By tag the next hops in phase 2, the same at all nodes, while no link is down."""
        steps = ((j, done) for j, word in enumerate(self.paths) for done in range(1, len(word)))
        forwards = {j << self._step_bits | done: self._along(j, done) for j, done in steps}
        return {tag: only(forward) for tag, forward in forwards.items() if forward is not None}
