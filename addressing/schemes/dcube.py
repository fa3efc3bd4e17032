"""DCube's published routing: Algorithm 1 on H-DCube, Algorithms 2 and 3 on M-DCube (Guo et al., section 4).

The source writes the path into the tag: the place (server index) at which the packet leaves each switch,
then the destination's place.  The server at the first place removes it and sends over its link to the
next switch's server.  Any other server sends the packet through its switch to the server at that place;
the switch matches the server index only.

The exit of a switch along dimension i is the server u = floor(u_source / m) m + i, in the source's
sub-network.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from addressing.algorithms import mobius
from addressing.header import DELIVER, Forward, Header, NextHops, Pattern, drop
from addressing.scheme import ForwardingClass
from addressing.source import ARRAY_BITS, ServerPath, SourceRouted, max_tag_hops
from topos.families.dcube import CubeOfSwitches
from topos.family import Family
from topos.graph import ALL_UP, LinkState

_SWITCH_PORT, _LINK_PORT = 1, 2


@dataclass(frozen=True)
class DCubeRouted(SourceRouted):
    """Base of the DCube schemes: labels, tags, and how relays read them."""

    computed: ClassVar[bool] = True

    @property
    def cube(self) -> CubeOfSwitches:
        """The family's parameters."""
        assert isinstance(self.fabric.family, CubeOfSwitches)
        return self.fabric.family

    # --- labels and tags ----------------------------------------------------------

    @cached_property
    def place_bits(self) -> int:
        """Bits of a place in a label; switches match only these."""
        return (self.cube.n - 1).bit_length()

    @property
    def label_bits(self) -> int:
        return self.cube.m + self.place_bits

    def label(self, node: int) -> int:
        return self.cube.address(node) << self.place_bits | self.cube.place(node)

    @cached_property
    def code_bits(self) -> int:
        """Bits of a field of the tag: an exit's place + 1, or 0 after the last exit."""
        return self.cube.n.bit_length()

    @cached_property
    def max_hops(self) -> int:
        """The most exits that a path in the tag can have.

        A path needs up to m on the hypercube.  The other cubes have diameters of at most m // 2 + 2, and
        both schemes take at most one hop more."""
        needed = self.cube.m if self.cube.cube == "hyper" else self.cube.m // 2 + 3
        return max_tag_hops(self.code_bits, needed, reserved=2)

    @property
    def tag_bits(self) -> int:
        return (self.max_hops + 2) * self.code_bits

    def hop_bound(self) -> int:
        return 3 * self.max_hops + 2

    def tag_of(self, path: ServerPath) -> int | None:
        exits = [self.cube.place(a) for a, b in pairwise(path) if self._crosses(a, b)]
        return None if len(exits) > self.max_hops else self._packed(exits, path[-1])

    def _packed(self, exits: Sequence[int], destination: int) -> int:
        """The tag of a path that leaves switches at these places."""
        tag = 0
        for place in exits:
            tag = tag << self.code_bits | place + 1
        # A zero ends the exits; the destination's place follows it.
        tag = tag << 2 * self.code_bits | self.cube.place(destination)
        return tag << (self.max_hops - len(exits)) * self.code_bits

    def _crosses(self, a: int, b: int) -> bool:
        """True when two servers are on different switches."""
        return self.cube.address(a) != self.cube.address(b)

    # --- the rule -----------------------------------------------------------------

    def next_hops(self, at: int, header: Header, links: LinkState = ALL_UP) -> NextHops:
        if not self.fabric.is_server(at):
            return self.send(at, Forward((header.label & (1 << self.place_bits) - 1) + 1), links)
        if header.label != self.label(at):
            return drop("addressed to another server")
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
            return drop("the exit has no link")
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
        """The first exit's place + 1, or 0 after the last exit; and the field after it."""
        low = self.tag_bits - 2 * self.code_bits
        return tag >> low + self.code_bits, tag >> low & self._code_mask

    @property
    def _code_mask(self) -> int:
        return (1 << self.code_bits) - 1


@dataclass(frozen=True)
class DCube(DCubeRouted):
    """The paper's routes."""

    name: ClassVar[str] = "dcube"
    summary: ClassVar[str] = "DCube source routing by the paper's Algorithms 1 to 3"
    source: ClassVar[str] = "Guo et al., DCube, section 4, Algorithms 1, 2 and 3"
    ordered_by_distance = True
    crossing_only: ClassVar[bool] = True

    @classmethod
    def incompatibility(cls, family: Family) -> str | None:
        if not isinstance(family, CubeOfSwitches):
            return "it routes on DCube only"
        if family.cube not in ("hyper", "mobius1"):
            return f"its algorithms are for the hyper and mobius1 cubes, not {family.cube}"
        return None

    def candidate_paths(self, source: int, destination: int) -> Iterator[ServerPath]:
        cube = self.cube
        here, there = cube.address(source), cube.address(destination)
        first = cube.place(source) // cube.m * cube.m
        path = [source]
        for dimension in self._dimensions(here, there):
            path.append(cube.server(here, first + dimension))
            here = cube.neighbour(here, dimension)
            path.append(cube.server(here, first + dimension))
        path.append(destination)
        # The published algorithms list a server twice when it is its own exit.
        yield (source, *(b for a, b in pairwise(path) if a != b))

    def headers_to(self, destination: int) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        if self.known or self.tag_bits > ARRAY_BITS:
            return None
        cube, there = self.cube, self.cube.address(destination)
        servers = range(self.fabric.servers)
        dimensions = {here: self._dimensions(here, there) for here in set(map(cube.address, servers))}
        tags = dict[tuple[int, int], int]()
        for here, path in dimensions.items():
            for first in range(0, cube.n, cube.m):
                tags[here, first // cube.m] = self._packed([first + one for one in path], destination)
        tagged = [tags[cube.address(node), cube.place(node) // cube.m] for node in servers]
        return np.array([self.label(node) for node in servers]), np.array(tagged)

    def _dimensions(self, here: int, there: int) -> tuple[int, ...]:
        """Algorithm 1: the bits that differ, from the highest down; Algorithm 3 on the moebius cube."""
        if self.cube.cube == "mobius1":
            return mobius.dimensions(here, there, self.cube.m)
        return tuple(bit for bit in reversed(range(self.cube.m)) if (here ^ there) >> bit & 1)
