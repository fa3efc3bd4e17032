"""POW: CLOT's probabilistic routing by inverse squared distance (Wang et al., Eq. 12).

At S towards D the candidates are the torus neighbours and the switch that are
strictly nearer to D than S is; each is taken with probability proportional to
1 / distance^2, a neighbour that is D itself always.  A packet given to the switch
leaves at its member closest to D: the switch compares 5-bit slices of the IPv4
destination.  The distance falls at every hop, so nothing circles.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from addressing import ipv4
from addressing.header import DELIVER, Choices, Field, Forward, Header, Pattern, drop, exact, only
from addressing.scheme import Class, Scheme
from topos.families.clot import Clot
from topos.families.torus import Torus
from topos.family import Family
from topos.graph import ALL_UP, LinkState

Coordinates = tuple[int, ...]


@dataclass(frozen=True)
class Pow(Scheme):
    """Probabilistic routing on coordinates; on a plain torus the switch term falls away."""

    name: ClassVar[str] = "pow"
    summary: ClassVar[str] = "probabilistic by 1/distance^2 on coordinate addresses"
    source: ClassVar[str] = "Wang et al., CLOT, section 4, Eq. 12"
    carrier: ClassVar[Field] = Field.IPV4_DST
    computed: ClassVar[bool] = True

    @classmethod
    def misfit(cls, family: Family) -> str | None:
        return None if isinstance(family, Torus) else "it needs torus coordinates"

    @property
    def torus(self) -> Torus:
        """The family's parameters."""
        assert isinstance(self.fabric.family, Torus)
        return self.fabric.family

    @property
    def label_bits(self) -> int:
        return 32

    def label(self, node: int) -> int:
        return ipv4.from_coordinates(self.torus.coordinates(node))

    def ipv4(self, node: int) -> int:
        return self.label(node)

    def check_width(self) -> None:
        super().check_width()
        for node in range(self.fabric.servers):
            self.label(node)

    def hop_bound(self) -> int:
        return 2 * sum(size // 2 for size in self.torus.sizes) + 1

    def choices(self, at: int, header: Header, links: LinkState = ALL_UP) -> Choices:
        target = self._target(header.label)
        if target is None:
            return drop("no server has this address")
        if not self.fabric.is_server(at):
            port = self._leave(at, target)
            down = self.fabric.link_at(at, port) in links.down
            return drop(f"port {port} is down") if down else only(Forward(port))
        here = self.torus.coordinates(at)
        if here == target:
            return DELIVER
        return self._weigh(list(self._candidates(at, here, target, links)))

    def _candidates(
        self, at: int, here: Coordinates, target: Coordinates, links: LinkState
    ) -> Iterator[tuple[int, int]]:
        """(port, distance from there) of everything that is strictly nearer."""
        mine = self.torus.distance(here, target)
        for port, end in self.fabric.ports(at, links):
            if self.fabric.is_server(end.node):
                distance = self.torus.distance(self.torus.coordinates(end.node), target)
            else:
                distance = self._switch_distance(here, end.node, target)
            if distance < mine:
                yield port, distance

    def _switch_distance(self, here: Coordinates, switch: int, target: Coordinates) -> int:
        """1 + the least torus distance of the switch's other members."""
        others = (member for member in self._clot.members(switch) if member != here)
        return 1 + min(self.torus.distance(member, target) for member in others)

    @staticmethod
    def _weigh(candidates: list[tuple[int, int]]) -> Choices:
        """Weights by 1 / distance^2; a candidate at distance 0 is certain."""
        if not candidates:
            return drop("nothing nearer is up")
        for port, distance in candidates:
            if distance == 0:
                return only(Forward(port))
        total = sum(distance**-2 for _, distance in candidates)
        return tuple((Forward(port), distance**-2 / total) for port, distance in candidates)

    def classes(self, at: int) -> Iterable[Class]:
        if self.fabric.is_server(at):
            for node in range(self.fabric.servers):
                yield exact(self.label(node), 32), Header(self.label(node))
            return
        low = self._clot.members(at)[0]
        for slices in itertools.product(*(tuple(self._slices(d, a)) for d, a in enumerate(low))):
            pattern = Pattern(sum(s[0] for s in slices), sum(s[1] for s in slices))
            yield pattern, Header(ipv4.from_coordinates(tuple(s[2] for s in slices)))

    # --- the switch's side ----------------------------------------------------

    @property
    def _clot(self) -> Clot:
        assert isinstance(self.fabric.family, Clot)
        return self.fabric.family

    def _leave(self, switch: int, target: Coordinates) -> int:
        """The port of the member closest to ``target``."""
        low = self._clot.members(switch)[0]
        halves = (self._higher(d, low[d], value) for d, value in enumerate(target))
        return 1 + sum(high << place for place, high in enumerate(reversed(list(halves))))

    def _higher(self, dimension: int, low: int, value: int) -> bool:
        """Whether ``value`` is closer to low + k/2 than to ``low``; ties are split so that each
        side gets one contiguous half of the circle."""
        size = self.torus.sizes[dimension]
        return (value - low + size // 4) % size >= size // 2

    def _slices(self, dimension: int, low: int) -> Iterator[tuple[int, int, int]]:
        """Aligned blocks of one coordinate over which a switch decides alike: (value, mask,
        a coordinate of the block), value and mask at the slice's place in the address."""
        size, shift = self.torus.sizes[dimension], ipv4.slice_shift(dimension)
        pending = [(0, 1 << ipv4.SLICE_BITS)]
        while pending:
            first, width = pending.pop()
            sides = {self._higher(dimension, low, value) for value in range(first, min(first + width, size))}
            if len(sides) == 2:
                pending += [(first, width // 2), (first + width // 2, width // 2)]
            elif sides:
                mask = (1 << ipv4.SLICE_BITS) - width
                yield first << shift, mask << shift, first

    def _target(self, label: int) -> Coordinates | None:
        """The coordinates in an address of this fabric; None for any other address."""
        return self._addresses.get(label)

    @cached_property
    def _addresses(self) -> dict[int, Coordinates]:
        servers = range(self.fabric.servers)
        return {self.label(node): self.torus.coordinates(node) for node in servers}
