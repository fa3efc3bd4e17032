"""Valiant routing on a Dragonfly: minimally to a random group, then minimally to the destination.

The tag is 0 while no group has been drawn, g + 1 on the path to group g, and the number of groups + 1 on
the path to the destination.  The first router draws, with equal probabilities, among the groups that are
neither its own nor the destination's and to which the minimal path is intact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from addressing.header import Drop, Forward, Header, NextHops, Pattern
from addressing.scheme import ForwardingClass
from addressing.schemes.dor import Dor
from addressing.vertex import VertexScheme
from topos.families.dragonfly import Dragonfly
from topos.family import Family
from topos.graph import ALL_UP, LinkState

_FRESH = 0


@dataclass(frozen=True)
class Valiant(VertexScheme):
    """Load balancing for any traffic, on paths of at most five hops between routers."""

    name: ClassVar[str] = "valiant"
    summary: ClassVar[str] = "Valiant routing on Dragonfly: minimal paths over a random group"
    source: ClassVar[str] = "Kim et al., Dragonfly, ISCA 2008, section 4.1; Valiant, 1982"
    #: A packet may leave a group by the link on which it arrived when links fail meanwhile.
    hairpin: ClassVar[bool] = True

    @classmethod
    def incompatibility(cls, family: Family) -> str | None:
        return None if isinstance(family, Dragonfly) else "it needs Dragonfly's groups"

    @property
    def family(self) -> Dragonfly:
        """The family's parameters."""
        assert isinstance(self.fabric.family, Dragonfly)
        return self.fabric.family

    @cached_property
    def minimal(self) -> Dor:
        """The routing of each of the two legs."""
        return Dor(self.fabric, known=self.known)

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
        return self.family.groups + 1

    def hop_bound(self) -> int:
        return self.minimal.hop_bound() + 2

    # --- the rule ---------------------------------------------------------------

    def transit_next_hops(self, at: int, vertex: int, header: Header, links: LinkState) -> NextHops:
        if header.tag == _FRESH:
            options = self._options(at, vertex, links)
            if options:
                return tuple((forward, 1 / len(options)) for forward in options)
        leg = self._leg(at, header.tag - 1, links) if 1 <= header.tag <= self.family.groups else None
        return ((leg, 1.0),) if leg is not None else self._last_leg(at, vertex, header, links)

    def _options(self, at: int, vertex: int, links: LinkState) -> list[Forward]:
        """First hops towards the groups over which a packet may go, with the tags of these groups."""
        own, there = self._group(at), self._group(vertex)
        if own == there:
            return []
        legs = ((g, self._leg(at, g, links)) for g in range(self.family.groups) if g not in (own, there))
        return [replace(leg, tag=group + 1) for group, leg in legs if leg is not None]

    def _leg(self, at: int, group: int, links: LinkState) -> Forward | None:
        """The next hop of the minimal path to another group; None in that group, or where the path is
        broken."""
        family, own = self.family, self._group(at)
        if own == group:
            return None
        gateway, across = family.gateway(own, group)
        here, down = family.vertex(at), self.all_failures(links).down
        far = family.node_of(gateway)
        if self.fabric.link_at(far, family.port_of(across)) in down:
            return None
        if gateway == here:
            return Forward(family.port_of(across))
        port = family.port_of(family.local_port(here, family.place(gateway)))
        return None if self.fabric.link_at(at, port) in down else Forward(port)

    def _last_leg(self, at: int, vertex: int, header: Header, links: LinkState) -> NextHops:
        [(action, _)] = self.minimal.transit_next_hops(at, vertex, header, links)
        if isinstance(action, Drop) or header.tag == self._drawn:
            return ((action, 1.0),)
        assert isinstance(action, Forward)
        return ((replace(action, tag=self._drawn), 1.0),)

    def _group(self, node: int) -> int:
        return self.family.group(self.family.vertex(node))

    # --- tables -----------------------------------------------------------------

    def transit_classes(self, at: int) -> Iterable[ForwardingClass]:
        for group in range(self.family.groups):
            tag = group + 1
            if self._leg(at, group, ALL_UP) is not None:
                elsewhere = next(v for v in self.vertices if v != at)
                yield self._tagged(Pattern(), tag), replace(self.towards(elsewhere), tag=tag)
            else:
                yield from self._minimal(at, tag)
        yield from self._minimal(at, _FRESH)
        yield from self._minimal(at, self._drawn)

    def _minimal(self, at: int, tag: int) -> Iterator[ForwardingClass]:
        for pattern, header in self.minimal.transit_classes(at):
            yield self._tagged(pattern, tag), replace(header, tag=tag)

    def _tagged(self, pattern: Pattern, tag: int) -> Pattern:
        return replace(pattern, tag=tag, tag_mask=(1 << self.tag_bits) - 1)
