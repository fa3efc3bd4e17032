"""Valiant routing: minimally to a random stop, then minimally to the destination.

On a torus a stop is a server (VAL), on a Dragonfly a group.  The tag is 0 while no stop has been drawn,
i + 1 on the path to stop i, and the number of stops + 1 on the path to the destination.  The first vertex
draws, with equal probabilities, among the stops that are neither its own nor the destination's and to
which the minimal path is intact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Protocol

from addressing.header import Drop, Forward, Header, NextHops, Pattern, exact
from addressing.scheme import ForwardingClass, Scheme
from addressing.schemes.dor import Dor
from addressing.vertex import VertexScheme
from topos.families.dragonfly import Dragonfly
from topos.families.torus import Torus
from topos.family import Family
from topos.graph import ALL_UP, LinkState

_FRESH = 0


class _Stops(Protocol):
    """The stops of one kind of topology, numbered from 0."""

    @property
    def count(self) -> int:
        """How many there are."""

    @property
    def bound(self) -> int:
        """An upper bound on the hops of a packet."""

    def of(self, node: int) -> int | None:
        """The stop where a node is; None at a switch of a torus."""

    def leg(self, at: int, stop: int, links: LinkState) -> Forward | None:
        """The next hop of the minimal path to another stop; None at that stop, or where the path is
        broken."""

    def concerned(self, at: int, links: Iterable[int]) -> bool:
        """Whether a leg from a node may depend on one of some links, though its minimal paths to vertices do
        not."""


@dataclass(frozen=True)
class Valiant(VertexScheme):
    """Load balancing for any traffic, on paths of two minimal legs."""

    name: ClassVar[str] = "valiant"
    summary: ClassVar[str] = "Valiant routing: minimal paths over a random server (tori) or group (Dragonfly)"
    source: ClassVar[str] = "Valiant and Brebner, 1981; Kim et al., Dragonfly, ISCA 2008, section 4.1"
    ordered_by_distance = True
    #: A packet may turn round at its stop, or in a group when links fail meanwhile.
    hairpin: ClassVar[bool] = True

    @classmethod
    def incompatibility(cls, family: Family) -> str | None:
        fits = isinstance(family, Dragonfly | Torus)
        return None if fits else "it needs torus coordinates, or Dragonfly's groups"

    @cached_property
    def _stops(self) -> _Stops:
        family = self.fabric.family
        return _Groups(self, family) if isinstance(family, Dragonfly) else _Servers(self)

    @cached_property
    def minimal(self) -> Dor:
        """The routing of each of the two legs."""
        return Dor(self.fabric, known=self.known)

    def with_failures(self, links: LinkState) -> Scheme:
        bound = super().with_failures(links)
        vars(bound)["minimal"] = self.minimal.with_failures(links)  # they share what no failure changes
        return bound

    def prepare_tables(self, nodes: Sequence[int]) -> None:
        self.minimal.prepare_tables(nodes)

    def keeps_table(self, at: int, before: Scheme) -> bool:
        if not isinstance(before, Valiant) or not self.minimal.keeps_table(at, before.minimal):
            return False
        return not self._stops.concerned(at, self.known.down ^ before.known.down)

    @property
    def vertex_bits(self) -> int:
        return self.minimal.vertex_bits

    def vertex_label(self, vertex: int) -> int:
        return self.minimal.vertex_label(vertex)

    def find(self, label: int) -> int | None:
        return self.minimal.find(label)

    @property
    def tag_bits(self) -> int:
        return self._drawn.bit_length()

    @property
    def _drawn(self) -> int:
        """The tag of packets on their last leg, to the destination."""
        return self._stops.count + 1

    def hop_bound(self) -> int:
        return self._stops.bound

    # --- the rule ---------------------------------------------------------------

    def transit_next_hops(self, at: int, vertex: int, header: Header, links: LinkState) -> NextHops:
        if header.tag == _FRESH:
            options = self._options(at, vertex, links)
            if options:
                return tuple((forward, 1 / len(options)) for forward in options)
        leg = self._stops.leg(at, header.tag - 1, links) if 1 <= header.tag <= self._stops.count else None
        return ((leg, 1.0),) if leg is not None else self._last_leg(at, vertex, header, links)

    def _options(self, at: int, vertex: int, links: LinkState) -> list[Forward]:
        """First hops towards the stops over which a packet may go, with the tags of these stops."""
        own, there = self._stops.of(at), self._stops.of(vertex)
        if own is None or own == there:
            return []
        others = (stop for stop in range(self._stops.count) if stop not in (own, there))
        legs = ((stop, self._stops.leg(at, stop, links)) for stop in others)
        return [replace(leg, tag=stop + 1) for stop, leg in legs if leg is not None]

    def _last_leg(self, at: int, vertex: int, header: Header, links: LinkState) -> NextHops:
        [(action, _)] = self.minimal.transit_next_hops(at, vertex, header, links)
        if isinstance(action, Drop) or header.tag == self._drawn:
            return ((action, 1.0),)
        assert isinstance(action, Forward)
        return ((replace(action, tag=self._drawn), 1.0),)

    # --- tables -----------------------------------------------------------------

    def transit_classes(self, at: int) -> Iterable[ForwardingClass]:
        for stop in range(self._stops.count):
            tag = stop + 1
            if self._stops.leg(at, stop, ALL_UP) is not None:
                elsewhere = next(v for v in self.vertices if v != at)
                yield self._tagged(Pattern(), tag), replace(self.towards(elsewhere), tag=tag)
            else:
                yield from self._minimal(at, tag)
        # What a packet may draw depends on its destination, on a torus on every single one.
        groups = isinstance(self._stops, _Groups)
        for pattern, header in self.minimal.transit_classes(at) if groups else self.each_vertex(at):
            yield self._tagged(pattern, _FRESH), header
        yield from self._minimal(at, self._drawn)
        yield from self._own(at)

    def _own(self, at: int) -> Iterator[ForwardingClass]:
        """Packets at their destination: a class per tag, before the other classes of that tag."""
        if self.fabric.is_server(at):
            header = self.towards(at)
            for tag in range(self._drawn + 1):
                yield self._tagged(exact(header.label, self.label_bits), tag), replace(header, tag=tag)

    def _minimal(self, at: int, tag: int) -> Iterator[ForwardingClass]:
        for pattern, header in self.minimal.transit_classes(at):
            yield self._tagged(pattern, tag), replace(header, tag=tag)

    def _tagged(self, pattern: Pattern, tag: int) -> Pattern:
        return replace(pattern, tag=tag, tag_mask=(1 << self.tag_bits) - 1)


@dataclass(frozen=True, eq=False)
class _Groups:
    """The groups of a Dragonfly."""

    scheme: Valiant
    family: Dragonfly

    @property
    def count(self) -> int:
        return self.family.groups

    @property
    def bound(self) -> int:
        return self.scheme.minimal.hop_bound() + 2

    def of(self, node: int) -> int:
        return self.family.group(self.family.vertex(node))

    def concerned(self, at: int, links: Iterable[int]) -> bool:
        fabric, own = self.scheme.fabric, self.of(at)
        ends = (fabric.link_ends[link, [0, 2]].tolist() for link in links)
        joined = ({self.of(node) for node in both if not fabric.is_end_host(node)} for both in ends)
        return any(own in groups and len(groups) > 1 for groups in joined)

    def leg(self, at: int, stop: int, links: LinkState) -> Forward | None:
        family, own, fabric = self.family, self.of(at), self.scheme.fabric
        if own == stop:
            return None
        gateway, across = family.gateway(own, stop)
        here, down = family.vertex(at), self.scheme.all_failures(links).down
        far = family.node_of(gateway)
        if fabric.link_at(far, family.port_of(across)) in down:
            return None
        if gateway == here:
            return Forward(family.port_of(across))
        port = family.port_of(family.local_port(here, family.place(gateway)))
        return None if fabric.link_at(at, port) in down else Forward(port)


@dataclass(frozen=True, eq=False)
class _Servers:
    """The servers of a torus."""

    scheme: Valiant

    @property
    def count(self) -> int:
        return self.scheme.fabric.servers

    @property
    def bound(self) -> int:
        return 2 * self.scheme.minimal.hop_bound()

    def of(self, node: int) -> int | None:
        return node if self.scheme.fabric.is_server(node) else None

    def concerned(self, at: int, links: Iterable[int]) -> bool:
        return False  # a stop is a vertex

    def leg(self, at: int, stop: int, links: LinkState) -> Forward | None:
        if at == stop:
            return None
        minimal = self.scheme.minimal
        [(action, _)] = minimal.transit_next_hops(at, stop, minimal.towards(stop), links)
        return action if isinstance(action, Forward) else None
