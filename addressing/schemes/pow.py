"""POW: CLOT's probabilistic oblivious weighted routing by inverse squared distance (Wang et al., Eq. 12).

At server S towards D the candidates are the torus neighbours and the switches that are strictly nearer
to D than S is.  Each is taken with probability proportional to 1 / distance^2; a neighbour that is D
itself always.  A switch sends to its member closest to D: it matches 5-bit slices of the IPv4
destination.  The distance falls at every hop, so packets do not loop.

Once failures are known, only candidates count from which the rule still arrives over links that are up.
A node without such a candidate takes one step on a shortest path (the escape).  From the next node either
the rule arrives, or the shortest distance falls again.

NovaCube's PORA, of which the paper gives the name but no rule, is not here; POW runs on NovaCube too.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from addressing.algorithms.shortest_paths import ShortestPaths
from addressing.broken import Case
from addressing.fields import ipv4
from addressing.header import DELIVER, Field, Forward, Header, NextHops, Pattern, drop, exact, only
from addressing.rule import repair
from addressing.scheme import ChangedClasses, ForwardingClass, Scheme
from addressing.table import InOrder, in_order
from topos.families.clot import Clot
from topos.families.torus import Torus
from topos.family import Family
from topos.graph import ALL_UP, LinkState

Coordinates = tuple[int, ...]


@dataclass(frozen=True)
class Pow(Scheme):
    """Probabilistic routing on coordinates; a plain torus has no switches as candidates."""

    name: ClassVar[str] = "pow"
    summary: ClassVar[str] = "probabilistic routing on torus coordinates, weights 1/distance^2"
    source: ClassVar[str] = "Wang et al., CLOT, section 7.1, Eq. 12"
    ordered_by_distance = True
    label_field: ClassVar[Field] = Field.IPV4_DST
    computed: ClassVar[bool] = True

    @classmethod
    def incompatibility(cls, family: Family) -> str | None:
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
        return ipv4.encode(self.torus.coordinates(node))

    def ipv4(self, node: int) -> int:
        return ipv4.from_coordinates(self.torus.coordinates(node))

    def check_width(self) -> None:
        super().check_width()
        for node in range(self.fabric.servers):
            self.ipv4(node)

    def hop_bound(self) -> int:
        longest = 2 * sum(size // 2 for size in self.torus.sizes) + 1
        return longest + (self.fabric.size if self.known else 0)

    def next_hops(self, at: int, header: Header, links: LinkState = ALL_UP) -> NextHops:
        server = self._addresses.get(header.label)
        if server is None:
            return drop("no server has this address")
        if server == at:
            return DELIVER
        return self._decided(at, server, links)

    @cached_property
    def _uniform(self) -> bool:
        """Whether all nodes decide alike: on a plain torus with two links a dimension, without failures."""
        return type(self.torus) is Torus and min(self.torus.sizes) > 2 and not self.known

    def class_next_hops(
        self, at: int, classes: Sequence[ForwardingClass], links: LinkState = ALL_UP
    ) -> list[NextHops]:
        if not self._uniform or links or classes is not self._each_server:
            return super().class_next_hops(at, classes, links)
        by_shift, shifts = self._by_shift, self._shifts(at)
        return [by_shift[shifts[server]] for server in self._in_order]

    @cached_property
    def _in_order(self) -> list[int]:
        """The servers in the order of their classes."""
        return [self._addresses[header.label] for _, header in self._each_server]

    @cached_property
    def _by_shift(self) -> dict[int, NextHops]:
        """Decisions by the difference of coordinates, where all nodes decide alike: those of node 0."""
        decided = (self._decided(0, server, ALL_UP) for server in range(1, self.fabric.servers))
        return dict(zip(self._shifts(0), (DELIVER, *decided), strict=True))

    def _shifts(self, at: int) -> list[int]:
        """The difference of the coordinates of each server and those of ``at``, as one number."""
        sizes = self.torus.sizes
        apart = (self._places - self._places[at]) % sizes
        numbers: list[int] = np.ravel_multi_index(tuple(apart.T), sizes).tolist()
        return numbers

    @cached_property
    def _places(self) -> NDArray[np.int64]:
        """The coordinates of each server, a row each."""
        return np.array(self._coordinates)

    def _decided(self, at: int, server: int, links: LinkState) -> NextHops:
        if not self.arrives(at, server):
            escape = next(self._shortest_paths.next_hop_ports(at, server, links), None)
            return drop("no path is up") if escape is None else only(Forward(escape))
        live = [
            (port, distance)
            for port, end, distance in self._candidates(at, server)
            if self.arrives(end, server) and self.fabric.link_at(at, port) not in links.down
        ]
        return self._weigh(live) if live else drop("no link to a nearer node is up")

    def arrives(self, at: int, server: int) -> bool:
        """True when the rule leads from here to ``server`` over links known to be up."""
        return not self.known or at not in self._stranded(server)

    def _stranded(self, server: int) -> set[int]:
        """The nodes from which the rule does not lead to a server: all candidates are, or their links are down.

        Those are at failed links, or have a candidate that is: the search begins there."""
        if server not in self._without_path:
            stranded, pending = set[int](), list(self._ends)
            while pending:
                at = pending.pop()
                if at in stranded or at == server:
                    continue
                if all(end in stranded for _, end, _ in self._candidates(at, server)):
                    stranded.add(at)
                    pending += self.fabric.neighbours(at, self.known)
            self._without_path[server] = stranded
        return self._without_path[server]

    @cached_property
    def _ends(self) -> list[int]:
        """The nodes at links known to be down."""
        return sorted({int(node) for node in self.fabric.link_ends[list(self.known.down)][:, [0, 2]].flat})

    def with_failures(self, links: LinkState) -> Scheme:
        bound = super().with_failures(links)
        for name in (
            "_addresses",
            "_coordinates",
            "_each_server",
            "_members_of",
        ):  # failures change none of them
            vars(bound)[name] = getattr(self, name)
        return bound

    def keeps_table(self, at: int, before: Scheme) -> bool:
        return isinstance(before, type(self)) and not (self._changed(at) or before._changed(at))

    def changed_classes(self, at: int, before: Scheme) -> ChangedClasses | None:
        if not isinstance(before, type(self)) or before.known or not self.fabric.is_server(at):
            return None
        return ChangedClasses((), [self._exact(server) for server in self._changed(at)])

    def _changed(self, at: int) -> Sequence[int]:
        """The servers towards which a node may do something else than without failures."""
        return range(self.fabric.servers) if at in self._ends else self._changes.get(at, ())

    @cached_property
    def _changes(self) -> dict[int, list[int]]:
        """:meth:`_changed` of nodes that are not at a failed link: those without a path, and before them."""
        changes: dict[int, list[int]] = {}
        for server in range(self.fabric.servers) if self.known else ():
            stranded = self._stranded(server)
            for node in stranded.union(*map(self.fabric.neighbours, stranded)):
                changes.setdefault(node, []).append(server)
        return changes

    def _candidates(self, at: int, server: int) -> Iterator[tuple[int, int, int]]:
        """(port, neighbour, distance from there) of the neighbours strictly nearer to ``server`` over links
        not known to be down; for a switch, the one member that it sends to."""
        target = self._coordinates[server]
        if not self.fabric.is_server(at):
            leave = self._leave(at, target)
            yield from ((port, end.node, 0) for port, end in self.fabric.ports(at, self.known) if port == leave)
            return
        here = self._coordinates[at]
        mine = self._distance(here, target)
        for port, end in self.fabric.ports(at, self.known):
            if self.fabric.is_server(end.node):
                distance = self._distance(self._coordinates[end.node], target)
            else:
                distance = self._switch_distance(here, end.node, target)
            if distance < mine:
                yield port, end.node, distance

    @cached_property
    def _without_path(self) -> dict[int, set[int]]:
        """The cache of :meth:`_stranded`, by server."""
        return {}

    @cached_property
    def _shortest_paths(self) -> ShortestPaths:
        return ShortestPaths(self.fabric, self.known)

    def _switch_distance(self, here: Coordinates, switch: int, target: Coordinates) -> int:
        """1 + the least torus distance from the switch's other members."""
        others = (member for member in self._members(switch) if member != here)
        return 1 + min(self._distance(member, target) for member in others)

    # What follows is asked millions of times for the tables of a thousand servers.

    @cached_property
    def _coordinates(self) -> list[Coordinates]:
        return [self.torus.coordinates(server) for server in range(self.fabric.servers)]

    @cached_property
    def _gaps(self) -> list[list[int]]:
        """Per dimension, by the difference of two coordinates (also a negative one), how far they are apart."""
        return [[min(gap, size - gap) for gap in range(size)] for size in self.torus.sizes]

    def _distance(self, a: Coordinates, b: Coordinates) -> int:
        """The distance over torus links."""
        return sum([gap[x - y] for gap, x, y in zip(self._gaps, a, b, strict=True)])

    @cached_property
    def _members_of(self) -> dict[int, tuple[Coordinates, ...]]:
        return {}

    def _members(self, switch: int) -> tuple[Coordinates, ...]:
        """The coordinates of a switch's servers, in port order."""
        if switch not in self._members_of:
            self._members_of[switch] = self._clot.members(switch)
        return self._members_of[switch]

    @staticmethod
    def _weigh(candidates: list[tuple[int, int]]) -> NextHops:
        """Weights by 1 / distance^2; a candidate at distance 0 is certain."""
        for port, distance in candidates:
            if distance == 0:
                return only(Forward(port))
        total = sum(distance**-2 for _, distance in candidates)
        return tuple((Forward(port), distance**-2 / total) for port, distance in candidates)

    def forwarding_classes(self, at: int) -> Iterable[ForwardingClass]:
        servers = self._addresses.items()
        if self.fabric.is_server(at):
            return self._each_server
        cases = (Case(Header(label), exact(label, 32), server) for label, server in servers)
        return repair(self._boxes(at), cases, lambda case: self.arrives(at, case.vertex))

    @cached_property
    def _each_server(self) -> InOrder:
        """The classes of every server."""
        return in_order(map(self._exact, range(self.fabric.servers)))

    def _exact(self, server: int) -> ForwardingClass:
        """The class of one server."""
        return exact(self.label(server), 32), Header(self.label(server))

    def _boxes(self, switch: int) -> Iterator[Pattern]:
        """The patterns over which a switch's decision is constant: products of blocks of coordinates."""
        low = self._members(switch)[0]
        for slices in itertools.product(*(tuple(self.slices(d, a)) for d, a in enumerate(low))):
            yield Pattern(sum(value for value, _ in slices), sum(mask for _, mask in slices))

    # --- the rule at switches -------------------------------------------------

    @property
    def _clot(self) -> Clot:
        assert isinstance(self.fabric.family, Clot)
        return self.fabric.family

    def _leave(self, switch: int, target: Coordinates) -> int:
        """The port of the member closest to ``target``."""
        low = self._members(switch)[0]
        halves = (self._higher(d, low[d], value) for d, value in enumerate(target))
        return 1 + sum(high << place for place, high in enumerate(reversed(list(halves))))

    def _higher(self, dimension: int, low: int, value: int) -> bool:
        """True when ``value`` is closer to low + k/2 than to ``low``; ties are split so that each gets one
        contiguous half of the ring."""
        size = self.torus.sizes[dimension]
        return (value - low + size // 4) % size >= size // 2

    def slices(self, dimension: int, low: int) -> Iterator[tuple[int, int]]:
        """(value, mask) of aligned blocks of one coordinate over which a switch's decision is constant, at
        the slice's position in the address."""
        size, shift = self.torus.sizes[dimension], ipv4.slice_shift(dimension)
        pending = [(0, 1 << ipv4.SLICE_BITS)]
        while pending:
            first, width = pending.pop()
            sides = {self._higher(dimension, low, value) for value in range(first, min(first + width, size))}
            if len(sides) == 2:
                pending += [(first, width // 2), (first + width // 2, width // 2)]
            elif sides:
                mask = (1 << ipv4.SLICE_BITS) - width
                yield first << shift, mask << shift

    @cached_property
    def _addresses(self) -> dict[int, int]:
        """Servers by address."""
        return {self.label(server): server for server in range(self.fabric.servers)}
