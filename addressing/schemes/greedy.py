"""Greedy routing by torus distance: to the neighbour nearest to the destination's coordinates.

On a torus that is dimension order.  NovaCube's jump links, CLOT's switches and a small world's random
links (Kleinberg) shorten the path.  The distance falls at every hop because a grid neighbour is always
nearer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from addressing.algorithms.grid import Coordinates, Grid
from addressing.header import Forward, Header
from addressing.rule import RuleScheme
from addressing.scheme import ForwardingClass
from topos.families.clot import Clot
from topos.family import Family


@dataclass(frozen=True)
class Greedy(RuleScheme):
    """The first port, in port order, to a neighbour of least distance."""

    name: ClassVar[str] = "greedy"
    summary: ClassVar[str] = "greedy routing by the distance of coordinates on the torus"
    source: ClassVar[str] = "Kleinberg, Nature 2000; CamCube's key-based routing"
    ordered_by_distance = True
    computed: ClassVar[bool] = True

    @classmethod
    def incompatibility(cls, family: Family) -> str | None:
        return None if Grid.fits(family) else "it needs torus coordinates"

    @cached_property
    def grid(self) -> Grid:
        """The coordinates of the vertices."""
        return Grid.of(self.fabric)

    @property
    def vertex_bits(self) -> int:
        return sum(self.grid.widths)

    def vertex_label(self, vertex: int) -> int:
        return self.grid.pack(self.grid.coordinates(vertex))

    def find(self, label: int) -> int | None:
        place = self.grid.unpack(label)
        return None if place is None else self.grid.node(place)

    def rule_bound(self) -> int:
        return self.grid.diameter

    def rule(self, at: int, vertex: int, header: Header) -> Forward | None:
        there = self.grid.coordinates(vertex)
        ends = ((self.distance(end.node, there), port) for port, end in self.fabric.ports(at))
        _, port = min((distance, port) for distance, port in ends if distance is not None)
        return Forward(port)

    def distance(self, node: int, there: Coordinates) -> int | None:
        """The hops along the grid; from a CLOT switch, over its nearest member; None for plain hosts."""
        family = self.fabric.family
        if self.grid.contains(node):
            return self.grid.distance(self.grid.coordinates(node), there)
        if isinstance(family, Clot):
            return 1 + min(self.grid.distance(member, there) for member in family.members(node))
        return None

    def rule_classes(self, at: int) -> Iterable[ForwardingClass]:
        return self.covered(at)
