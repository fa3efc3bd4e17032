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

import numpy as np

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
        there, distance = self.grid.coordinates(vertex), self.grid.distance
        _, port = min([(distance(place, there) + more, port) for place, more, port in self._places(at)])
        return Forward(port)

    def _places(self, at: int) -> list[tuple[Coordinates, int, int]]:
        """The places that each port leads to, how many hops further they are, and the port: neighbours, and
        over a CLOT switch its members; no plain hosts."""
        if at not in self._known:
            self._known[at] = [
                (place, more, port)
                for port, end in self.fabric.ports(at)
                for place, more in self._behind(end.node)
            ]
        return self._known[at]

    def _behind(self, node: int) -> list[tuple[Coordinates, int]]:
        family = self.fabric.family
        if self.grid.contains(node):
            return [(self.grid.coordinates(node), 0)]
        return [(member, 1) for member in family.members(node)] if isinstance(family, Clot) else []

    @cached_property
    def _known(self) -> dict[int, list[tuple[Coordinates, int, int]]]:
        """The cache of :meth:`_places`."""
        return {}

    def rule_classes(self, at: int) -> Iterable[ForwardingClass]:
        places, more, ports = zip(*self._places(at), strict=True)
        distances = self.grid.distances(places, self.vertices) + np.array(more)[:, None]
        forwards = [Forward(port) for port in ports]
        nearest = dict(zip(self.vertices, distances.argmin(axis=0).tolist(), strict=True))
        return self.covered(at, lambda vertex: forwards[nearest[vertex]])
