"""CR routing on Borel Cayley graphs: greedy on a ring, with look-ahead (Tang and Arden, section 4).

At every hop a node tries the words of up to d generators that never step straight back, depth first,
chords before ring edges.  It takes the first letter of the first word that ends nearest to the
destination along the ring.  Words that start by returning to the node that the packet came from are
left out.  This reproduces the paper's tables but can loop on other graphs.  Nodes detect a path that
returns to itself, and take a shortest path instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from addressing.algorithms.deciding import Bytes, arriving, descending
from addressing.algorithms.rings import Ring, ring_word
from addressing.header import DELIVER, Forward, Header, NextHops
from addressing.rule import RuleScheme, towards
from addressing.scheme import Decided, ForwardingClass, Redecided, Scheme
from addressing.table import InOrder
from topos.families.borel import Borel
from topos.family import Family, param
from topos.graph import ALL_UP, NONE, LinkState

#: Ends of words kept per scheme.
_KEPT = 1 << 19
#: All decisions are computed for one of so many nodes, and where they are no more than this.
_WORTH, _MOST = 8, 1 << 26


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

    # --- all decisions at once ----------------------------------------------------------

    def prepare_tables(self, nodes: Sequence[int]) -> None:
        size = (1 + len(self.ring.family.letters)) * len(self.vertices) ** 2
        if self.fabric.relaying and len(nodes) * _WORTH >= len(self.vertices) and size <= _MOST:
            _ = self._ports

    @property
    def _prepared_ports(self) -> Bytes | None:
        """:attr:`_ports`, if they have been computed (:meth:`prepare_tables`)."""
        return vars(self).get("_ports")

    @cached_property
    def _ports(self) -> Bytes:
        """``[v, p, t]``: the port by which a packet for t leaves v that arrived by port p (0: at its source);
        NONE where no path is up."""
        family, nodes = self.ring.family, self.vertices
        ends = family.images(np.arange(family.vertices))
        down = [(v, p) for v in nodes for p in range(1, 5) if self.fabric.link_at(v, p) in self.known.down]
        up = ends.copy()
        for v, p in down:
            up[v, p - 1] = NONE
        letters = self._rule_letters
        distances = self.shortest_paths.from_each(len(nodes))[: len(nodes)]
        arrives = arriving(letters, up, np.array(family.inverses))
        return np.where(arrives, letters, descending(distances, up)[:, None, :].astype(np.int8))

    @cached_property
    def _rule_letters(self) -> Bytes:
        """As :attr:`_ports`, by the rule alone.  Schemes that differ in known failures share them."""
        ends = self.ring.family.images(np.arange(self.ring.family.vertices))
        return np.stack([self._letters(v, [NONE, *each]) for v, each in enumerate(ends.tolist())])

    def with_failures(self, links: LinkState) -> Scheme:
        bound = super().with_failures(links)
        if "_rule_letters" in vars(self):
            vars(bound)["_rule_letters"] = self._rule_letters
        return bound

    def _letters(self, at: int, before: list[int]) -> Bytes:
        """The letters of the rule at a vertex, by the vertex that a packet comes from, and target."""
        around, targets = self.ring.family.vertices, np.array(self.ring.labels)
        letters = np.full((len(before), around), NONE, np.int8)
        for row, came in enumerate(before):
            ends = self._ends(at, came)
            if ends:
                gaps = np.abs(np.array(list(ends))[:, None] - targets)
                nearest = np.minimum(gaps, around - gaps).argmin(axis=0)
                letters[row] = np.array(list(ends.values()))[nearest]
        return letters

    def forwarding_classes(self, at: int) -> Iterable[ForwardingClass]:
        if self._prepared_ports is None:
            return super().forwarding_classes(at)
        places, ports = np.nonzero(self._exceptions(at))
        by_port = self._classes
        exceptions = [
            by_port[port + 1][place] for place, port in zip(places.tolist(), ports.tolist(), strict=True)
        ]
        return InOrder((*exceptions, *by_port[0]))

    def class_next_hops(
        self, at: int, classes: Sequence[ForwardingClass], links: LinkState = ALL_UP
    ) -> list[NextHops]:
        decided = self._prepared_ports
        if decided is None or not isinstance(classes, InOrder) or not links.down <= self.known.down:
            return super().class_next_hops(at, classes, links)
        there = decided[at][:, self._in_label_order].T
        chosen = [*there[:, 1:][self._exceptions(at)].tolist(), *there[:, 0].tolist()]
        outcomes = [towards(port) for port in chosen]
        outcomes[len(chosen) - len(there) + self._in_label_order.index(at)] = DELIVER
        return outcomes

    def decided(self, at: int) -> Decided | None:
        ports = self._prepared_ports
        if ports is None:
            return None
        there, exceptions = ports[at][:, self._in_label_order].T, self._exceptions(at)
        places, before = np.nonzero(exceptions)
        labels = self._sorted_labels
        chosen = np.concatenate([there[:, 1:][exceptions], there[:, 0]]).astype(np.int64) - NONE
        hops = [*map(towards, range(NONE, 1 + len(self.ring.family.letters))), DELIVER]
        chosen[len(places) + self._in_label_order.index(at)] = len(hops) - 1
        arrivals = np.concatenate([before + 1, np.zeros_like(labels)])
        return Decided(np.concatenate([labels[places], labels]), arrivals, chosen, hops)

    def redecided(self, before: Scheme) -> Redecided | None:
        now, then = self._prepared_ports, before._prepared_ports if isinstance(before, Cr) else None
        if now is None or then is None:
            return None
        nodes, targets = np.nonzero((now != then).any(axis=1))
        nodes, targets = nodes[nodes != targets], targets[nodes != targets]
        chosen = now[nodes, :, targets].astype(np.int64)
        rows, ports = np.nonzero(chosen[:, 1:] != chosen[:, :1])
        each = np.concatenate([rows, np.arange(len(nodes))])
        arrivals = np.concatenate([ports + 1, np.zeros_like(nodes)])
        labels = np.array([*map(self.vertex_label, self.vertices)])[targets]
        hops = [*map(towards, range(NONE, 1 + len(self.ring.family.letters)))]
        return Redecided(nodes[each], labels[each], arrivals, chosen[each, arrivals] - NONE, hops)

    def _exceptions(self, at: int) -> NDArray[np.bool_]:
        """Per vertex in the order of labels the ports whose packets leave by another port than others."""
        there = self._ports[at][:, self._in_label_order].T
        exceptions: NDArray[np.bool_] = there[:, 1:] != there[:, :1]
        exceptions[self._in_label_order.index(at)] = False
        return exceptions

    @cached_property
    def _in_label_order(self) -> list[int]:
        return sorted(self.vertices, key=self.vertex_label)

    @cached_property
    def _sorted_labels(self) -> NDArray[np.int64]:
        return np.array([*map(self.vertex_label, self._in_label_order)])

    @cached_property
    def _classes(self) -> list[list[ForwardingClass]]:
        """By port of arrival, 0 for any, a class of each vertex in the order of labels."""
        plain = [(self.pattern(self.vertex_label(v)), self.towards(v)) for v in self._in_label_order]
        ports = range(1 + len(self.ring.family.letters))
        return [[(replace(at, in_port=p), replace(header, in_port=p)) for at, header in plain] for p in ports]

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
