"""Dimension-order routing on tori and meshes (Dally and Seitz, 1987), and minimal routing on a Dragonfly.

On a torus or mesh the rule corrects one dimension after the other.  A label is the coordinates side by
side.  Per dimension, after the exact coordinates of the dimensions before it, a few prefixes decide
between the two directions.  Two places half an even ring apart are as near in both: +1 is taken, or with
``balanced=yes`` each of them for half of the packets (Dally and Towles, 2004, section 8.2).

A Dragonfly's minimal routing takes a local, a global and a local link (Kim et al., ISCA 2008, section 3).
A label is group and router, with one entry per other group and per router of the own group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar, Protocol

import numpy as np

from addressing.algorithms.cover import prefixes
from addressing.algorithms.grid import Coordinates, Grid
from addressing.header import Forward, Header, NextHops
from addressing.rule import RuleScheme
from addressing.scheme import ForwardingClass
from topos.families.dragonfly import Dragonfly
from topos.family import Family, param
from topos.graph import NONE, LinkState


class _Space(Protocol):
    """The vertices' labels and the rule on one kind of topology."""

    @property
    def bits(self) -> int:
        """The width of a vertex label."""

    @property
    def bound(self) -> int:
        """An upper bound on the hops between two vertices."""

    def label(self, vertex: int) -> int:
        """The label of a vertex."""

    def find(self, label: int) -> int | None:
        """The vertex with a label; None if there is none."""

    def port(self, at: int, vertex: int) -> int | None:
        """The port towards another vertex; None where ``at`` has no coordinates."""

    def other(self, at: int, vertex: int) -> int | None:
        """The port of the other direction where both are as near; None elsewhere."""

    def blocks(self, at: int, ties: bool) -> Iterator[tuple[int, int, int]]:
        """(value, mask, vertex): labels with the same port, and a vertex that has one of them; with ``ties``
        those that are as near in both directions are apart."""


@dataclass(frozen=True)
class Dor(RuleScheme):
    """Dimension-order routing; ``balanced=yes`` uses both directions of a ring where they are as short."""

    name: ClassVar[str] = "dor"
    summary: ClassVar[str] = (
        "dimension-order routing on tori and meshes, minimal routing on Dragonfly; half a ring in one"
        " direction, or in both (balanced=yes)"
    )
    source: ClassVar[str] = "Dally and Seitz, 1987; Kim et al., Dragonfly, ISCA 2008, section 3"

    balanced: bool = param("use both directions to the opposite side of a ring", default=False)

    @classmethod
    def incompatibility(cls, family: Family) -> str | None:
        fits = Grid.fits(family) or isinstance(family, Dragonfly)
        return None if fits else "it needs dimensions, or Dragonfly's groups"

    @property
    def ordered_by_distance(self) -> bool:
        return not self.balanced

    @cached_property
    def _space(self) -> _Space:
        if isinstance(self.fabric.family, Dragonfly):
            return _Groups(self.fabric.family)
        return _Dimensions(Grid.of(self.fabric))

    @property
    def vertex_bits(self) -> int:
        return self._space.bits

    def vertex_label(self, vertex: int) -> int:
        return self._space.label(vertex)

    def find(self, label: int) -> int | None:
        return self._space.find(label)

    def rule_bound(self) -> int:
        return self._space.bound

    def rule(self, at: int, vertex: int, header: Header) -> Forward | None:
        port = self._space.port(at, vertex)
        return None if port is None else Forward(port)

    def rule_ports(self, at: int) -> Sequence[int] | None:
        return self._space.ports(at) if isinstance(self._space, _Dimensions) else None

    def transit_next_hops(self, at: int, vertex: int, header: Header, links: LinkState) -> NextHops:
        other = self._space.other(at, vertex) if self.balanced and not self.all_failures(links).down else None
        next_hops = super().transit_next_hops(at, vertex, header, links)
        if other is None or other == self._space.port(at, vertex):
            return next_hops
        return *((hop, 0.5) for hop, _ in next_hops), (Forward(other), 0.5)

    @property
    def plain(self) -> bool:
        # Of two directions, only one is left once a failure is known.
        return super().plain and not self.balanced

    def rule_classes(self, at: int) -> Iterable[ForwardingClass]:
        for value, mask, vertex in self._space.blocks(at, self.balanced):
            yield self.pattern(value, mask), self.towards(vertex)


@dataclass(frozen=True, eq=False)
class _Dimensions:
    """A torus or a mesh: the first dimension in which two vertices differ is corrected first."""

    grid: Grid

    @property
    def bits(self) -> int:
        return sum(self.grid.widths)

    @property
    def bound(self) -> int:
        return self.grid.diameter

    def label(self, vertex: int) -> int:
        return self.grid.pack(self.grid.coordinates(vertex))

    def find(self, label: int) -> int | None:
        place = self.grid.unpack(label)
        return None if place is None else self.grid.node(place)

    def port(self, at: int, vertex: int) -> int | None:
        if not self.grid.contains(at):
            return None
        here, there = self.grid.coordinates(at), self.grid.coordinates(vertex)
        for dimension, (mine, wanted) in enumerate(zip(here, there, strict=True)):
            sign = self.grid.direction(dimension, mine, wanted)
            if sign:
                return self._port(at, here, dimension, sign)
        return None

    def ports(self, at: int) -> Sequence[int] | None:
        """By node :meth:`port` towards it, negative without one: asked for once per place along a dimension."""
        if not self.grid.contains(at):
            return None
        here, shape = self.grid.coordinates(at), self.grid.sizes
        ports = np.full(shape, NONE)
        for dimension, mine in enumerate(here):
            for wanted in range(shape[dimension]):
                sign = self.grid.direction(dimension, mine, wanted)
                if sign:
                    port = self._port(at, here, dimension, sign)
                    ports[(*here[:dimension], wanted)] = NONE if port is None else port
        return [NONE] * self.grid.node((0,) * len(shape)) + ports.ravel().tolist()

    def other(self, at: int, vertex: int) -> int | None:
        here, there = self.grid.coordinates(at), self.grid.coordinates(vertex)
        for dimension, (mine, wanted) in enumerate(zip(here, there, strict=True)):
            if mine != wanted:
                return (
                    self._port(at, here, dimension, -1) if self.grid.opposite(dimension, mine, wanted) else None
                )
        return None

    def _port(self, at: int, here: Coordinates, dimension: int, sign: int) -> int | None:
        following = (*here[:dimension], here[dimension] + sign, *here[dimension + 1 :])
        return self.grid.fabric.port_to(at, self.grid.node(following))

    def blocks(self, at: int, ties: bool) -> Iterator[tuple[int, int, int]]:
        if not self.grid.contains(at):
            return
        here = self.grid.coordinates(at)
        for dimension, width in enumerate(self.grid.widths):
            shift = sum(self.grid.widths[dimension + 1 :])
            before = self.grid.pack((*here[:dimension], *(0 for _ in here[dimension:])))
            exact = ((1 << self.bits) - 1) >> (width + shift) << (width + shift)
            for block in prefixes(width, partial(self._sign, dimension, here, ties)):
                value = block.value << (width - block.length) + shift
                mask = ((1 << block.length) - 1) << (width - block.length) + shift
                sample = (*here[:dimension], block.sample, *(0 for _ in here[dimension + 1 :]))
                yield before | value, exact | mask, self.grid.node(sample)

    def _sign(self, dimension: int, here: Coordinates, ties: bool, there: int) -> int | None:
        if there >= self.grid.sizes[dimension]:
            return None
        if ties and self.grid.opposite(dimension, here[dimension], there):
            return 2  # both
        return self.grid.direction(dimension, here[dimension], there) or None


@dataclass(frozen=True)
class _Groups:
    """A Dragonfly: to the router with the link to the other group, across it, to the destination's router."""

    family: Dragonfly

    @property
    def _router_bits(self) -> int:
        return (self.family.a - 1).bit_length()

    @property
    def bits(self) -> int:
        return (self.family.groups - 1).bit_length() + self._router_bits

    @property
    def bound(self) -> int:
        return 3

    def label(self, vertex: int) -> int:
        number = self.family.vertex(vertex)
        return self.family.group(number) << self._router_bits | self.family.place(number)

    def find(self, label: int) -> int | None:
        group, place = label >> self._router_bits, label & (1 << self._router_bits) - 1
        if group >= self.family.groups or place >= self.family.a:
            return None
        return self.family.node_of(group * self.family.a + place)

    def port(self, at: int, vertex: int) -> int | None:
        family = self.family
        here, there = family.vertex(at), family.vertex(vertex)
        if family.group(here) == family.group(there):
            return family.port_of(family.local_port(here, family.place(there)))
        gateway, across = family.gateway(family.group(here), family.group(there))
        if gateway == here:
            return family.port_of(across)
        return family.port_of(family.local_port(here, family.place(gateway)))

    def other(self, at: int, vertex: int) -> int | None:
        return None

    def blocks(self, at: int, ties: bool) -> Iterator[tuple[int, int, int]]:
        family = self.family
        here, width = family.vertex(at), self._router_bits
        whole = (1 << self.bits) - 1
        for group in range(family.groups):
            if group != family.group(here):
                first = group * family.a
                yield group << width, whole >> width << width, family.node_of(first)
        for place in range(family.a):
            if place != family.place(here):
                vertex = family.node_of(family.group(here) * family.a + place)
                yield self.label(vertex), whole, vertex
