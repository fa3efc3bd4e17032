"""DCube's routing as printed: Algorithm 1 on H-DCube, Algorithms 2 and 3 on M-DCube.

The source writes the way into the tag: the places (server indices) by which each
switch is left, then the destination's place.  A server whose own place comes first
takes it off and sends across its cable; any other one hands the packet to the server
of that place, through the switch, which looks at the server index only.

On a switch the exit along dimension i is the server u = floor(u_source / m) m + i, of
the source's own sub-network.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

from addressing.algorithms import mobius
from addressing.header import DELIVER, Forward, Header, NextHops, Pattern, drop
from addressing.scheme import ForwardingClass
from addressing.source import ServerPath, SourceRouted, max_tag_hops
from topos.families.dcube import CubeOfSwitches
from topos.family import Family
from topos.graph import ALL_UP, LinkState

_SWITCH_PORT, _LINK_PORT = 1, 2


@dataclass(frozen=True)
class DCubeRouted(SourceRouted):
    """What the DCube schemes share: labels, tags, and how relays read them."""

    computed: ClassVar[bool] = True

    @property
    def cube(self) -> CubeOfSwitches:
        """The family's parameters."""
        assert isinstance(self.fabric.family, CubeOfSwitches)
        return self.fabric.family

    # --- labels and tags ----------------------------------------------------------

    @cached_property
    def place_bits(self) -> int:
        """Bits of a place in a label: switches look at these only."""
        return (self.cube.n - 1).bit_length()

    @property
    def label_bits(self) -> int:
        return self.cube.m + self.place_bits

    def label(self, node: int) -> int:
        return self.cube.address(node) << self.place_bits | self.cube.place(node)

    @cached_property
    def code_bits(self) -> int:
        """Bits of a field of the tag: place + 1, or 0, which ends the exits."""
        return self.cube.n.bit_length()

    @cached_property
    def max_hops(self) -> int:
        """The most cables that a way in the tag can have: up to m on the hypercube; the other cubes'
        diameters are at most m // 2 + 2, and both schemes take one more at worst."""
        needed = self.cube.m if self.cube.cube == "hyper" else self.cube.m // 2 + 3
        return max_tag_hops(self.code_bits, needed, reserved=2)

    @property
    def tag_bits(self) -> int:
        return (self.max_hops + 2) * self.code_bits

    def hop_bound(self) -> int:
        return 3 * self.max_hops + 2

    def tag_of(self, way: ServerPath) -> int | None:
        exits = [self.cube.place(a) for a, b in pairwise(way) if self._crosses(a, b)]
        if len(exits) > self.max_hops:
            return None
        tag = 0
        for place in exits:
            tag = tag << self.code_bits | place + 1
        # A zero ends the exits; behind it stands the destination's place.
        tag = tag << 2 * self.code_bits | self.cube.place(way[-1])
        return tag << (self.max_hops - len(exits)) * self.code_bits

    def _crosses(self, a: int, b: int) -> bool:
        return self.cube.address(a) != self.cube.address(b)

    # --- the rule -----------------------------------------------------------------

    def next_hops(self, at: int, header: Header, links: LinkState = ALL_UP) -> NextHops:
        if not self.fabric.is_server(at):
            return self.send(at, Forward((header.label & (1 << self.place_bits) - 1) + 1), links)
        if header.label != self.label(at):
            return drop("sent to another server")
        code, following = self._first(header.tag)
        wanted, mine = code - 1 if code else following, self.cube.place(at)
        if wanted >= self.cube.n:
            return drop("no server has this place")
        if wanted != mine:
            aside = self.cube.server(self.cube.address(at), wanted)
            return self.send(at, Forward(_SWITCH_PORT, label=self.label(aside)), links)
        if not code:
            return DELIVER
        end = self.fabric.peer(at, _LINK_PORT)
        if end is None:
            return drop("no cable leads on")
        return self.send(at, Forward(_LINK_PORT, label=self.label(end.node), pop=self.code_bits), links)

    def forwarding_classes(self, at: int) -> Iterable[ForwardingClass]:
        if not self.fabric.is_server(at):
            for place in range(self.cube.n):
                yield Pattern(place, (1 << self.place_bits) - 1), Header(place)
            return
        own, full = self.label(at), (1 << self.label_bits) - 1
        shift = self.tag_bits - self.code_bits
        first = self._code_mask << shift
        for place in range(self.cube.n):
            last = place << shift - self.code_bits
            yield Pattern(own, full, place + 1 << shift, first), Header(own, place + 1 << shift)
            yield Pattern(own, full, last, first | first >> self.code_bits), Header(own, last)

    def _first(self, tag: int) -> tuple[int, int]:
        """The first exit's place + 1, or 0 behind the last, and the field after it."""
        low = self.tag_bits - 2 * self.code_bits
        return tag >> low + self.code_bits, tag >> low & self._code_mask

    @property
    def _code_mask(self) -> int:
        return (1 << self.code_bits) - 1


@dataclass(frozen=True)
class DCube(DCubeRouted):
    """The paper's own routes."""

    name: ClassVar[str] = "dcube"
    summary: ClassVar[str] = "DCube source routing by Algorithms 1 to 3 as printed"
    source: ClassVar[str] = "Guo et al., DCube, section 4, Algorithms 1, 2 and 3"

    @classmethod
    def incompatibility(cls, family: Family) -> str | None:
        if not isinstance(family, CubeOfSwitches):
            return "it routes on the cubes of DCube"
        if family.cube not in ("hyper", "mobius1"):
            return f"its algorithms are for hyper and mobius1 cubes, not {family.cube}"
        return None

    def candidate_paths(self, source: int, destination: int) -> Iterator[ServerPath]:
        cube = self.cube
        here, there = cube.address(source), cube.address(destination)
        first = cube.place(source) // cube.m * cube.m
        way = [source]
        for dimension in self._dimensions(here, there):
            way.append(cube.server(here, first + dimension))
            here = cube.neighbour(here, dimension)
            way.append(cube.server(here, first + dimension))
        way.append(destination)
        # The printed algorithms repeat a server that is its own exit.
        yield (source, *(b for a, b in pairwise(way) if a != b))

    def _dimensions(self, here: int, there: int) -> tuple[int, ...]:
        """Algorithm 1: the bits that differ, from the highest down; Algorithm 3 on the moebius cube."""
        if self.cube.cube == "mobius1":
            return mobius.dimensions(here, there, self.cube.m)
        return tuple(bit for bit in reversed(range(self.cube.m)) if (here ^ there) >> bit & 1)
