"""BRP: BCube's source routing along one of k+1 parallel paths (SIGCOMM 2009, section 4).

The source writes the path into the tag, a hop being (level, digit); each server
takes the first hop off, writes the next server's label into the destination and
sends out of that level's port; the switch looks at the digit of its level only.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from addressing.header import DELIVER, TAG_BITS, Choices, Forward, Header, Pattern, drop, only
from addressing.scheme import Class, Scheme
from topos.families.bcube import BCube
from topos.family import Family
from topos.graph import ALL_UP, LinkState

Route = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Brp(Scheme):
    """Source routing with digit correction; ``multipath=yes`` spreads flows over all k+1 paths."""

    name: ClassVar[str] = "brp"
    summary: ClassVar[str] = "BCube source routing over k+1 parallel paths"
    source: ClassVar[str] = "Guo et al., BCube, SIGCOMM 2009, section 4"

    multipath: bool = False

    @classmethod
    def misfit(cls, family: Family) -> str | None:
        if not isinstance(family, BCube):
            return "it corrects the digits of BCube addresses"
        return None if family.k else "the servers of a single switch relay nothing"

    @property
    def bcube(self) -> BCube:
        """The family's parameters."""
        assert isinstance(self.fabric.family, BCube)
        return self.fabric.family

    @cached_property
    def digit_bits(self) -> int:
        """Bits of one address digit."""
        return max(1, (self.bcube.n - 1).bit_length())

    @cached_property
    def hop_bits(self) -> int:
        """Bits of one hop in the tag: level + 1 (0 ends the route), then the digit."""
        return (self.bcube.k + 1).bit_length() + self.digit_bits

    @cached_property
    def longest(self) -> int:
        """The most hops that a route in the tag can have: parallel paths take up to k + 3, and
        detours what room there is."""
        return max(self.bcube.k + 3, TAG_BITS // self.hop_bits)

    @property
    def label_bits(self) -> int:
        return (self.bcube.k + 1) * self.digit_bits

    @property
    def tag_bits(self) -> int:
        return self.longest * self.hop_bits

    def hop_bound(self) -> int:
        return 2 * self.longest

    def label(self, node: int) -> int:
        return self._pack(self.bcube.digits(node))

    def headers(
        self, source: int, destination: int, links: LinkState = ALL_UP
    ) -> tuple[tuple[Header, float], ...]:
        down = self.blocked(links)
        routes = [route for route in self.routes(source, destination) if self._alive(source, route, down)]
        if not routes:
            detour = self._detour(source, destination, down)
            routes = [] if detour is None else [detour]
        if not self.multipath:
            routes = routes[:1]
        own = self.label(source)
        return tuple((Header(own, self._tag(route)), 1.0 / len(routes)) for route in routes)

    def choices(self, at: int, header: Header, links: LinkState = ALL_UP) -> Choices:
        if not self.fabric.is_server(at):
            digit = header.label >> self.bcube.level(at) * self.digit_bits & self._digit_mask
            return self._send(at, Forward(digit + 1), links)
        if header.label != self.label(at):
            return drop("sent to another server")
        level, digit = self._first_hop(header.tag)
        if level < 0:
            return DELIVER
        label = self._with_digit(header.label, level, digit)
        return self._send(at, Forward(level + 1, label=label, pop=self.hop_bits), links)

    def classes(self, at: int) -> Iterable[Class]:
        if not self.fabric.is_server(at):
            yield from self._switch_classes(at)
            return
        own, mask = self.label(at), (1 << self.hop_bits) - 1
        shift = self.tag_bits - self.hop_bits
        full = (1 << self.label_bits) - 1
        yield Pattern(own, full, 0, mask << shift), Header(own)
        for level, mine in enumerate(self.bcube.digits(at)):
            for digit in range(self.bcube.radices[level]):
                if digit != mine:
                    tag = self._tag(((level, digit),))
                    yield Pattern(own, full, tag, mask << shift), Header(own, tag)

    def routes(self, source: int, destination: int) -> Iterator[Route]:
        """The parallel paths of Fig. 4 (BuildPathSet), that of the highest level first."""
        here, there = self.bcube.digits(source), self.bcube.digits(destination)
        k = self.bcube.k
        if here == there:
            yield ()
            return
        for first in range(k, -1, -1):
            order = [(first - step) % (k + 1) for step in range(k + 1)]
            if here[first] != there[first]:
                yield tuple((level, there[level]) for level in order if here[level] != there[level])
            else:
                aside = (here[first] + 1) % self.bcube.radices[first]
                middle = [(lv, there[lv]) for lv in order[1:] if here[lv] != there[lv]]
                yield ((first, aside), *middle, (first, there[first]))

    def _switch_classes(self, at: int) -> Iterator[Class]:
        level = self.bcube.level(at)
        shift = level * self.digit_bits
        for digit in range(self.bcube.radices[level]):
            yield Pattern(digit << shift, self._digit_mask << shift), Header(digit << shift)

    def _send(self, at: int, action: Forward, links: LinkState) -> Choices:
        if action.port > self.fabric.port_count(at):
            return drop("no such digit")
        down = self.fabric.link_at(at, action.port) in self.blocked(links).down
        return drop(f"port {action.port} is down") if down else only(action)

    def _alive(self, source: int, route: Route, links: LinkState) -> bool:
        at = source
        for level, digit in route:
            following = self._neighbour(at, level, digit)
            if {self.fabric.link_at(at, level + 1), self.fabric.link_at(following, level + 1)} & links.down:
                return False
            at = following
        return True

    def _detour(self, source: int, destination: int, links: LinkState) -> Route | None:
        """A shortest route over what is up, found as BCube's probing would; None if there is none
        that fits into the tag."""
        reached: dict[int, Route] = {source: ()}
        queue = deque([source])
        while queue:
            at = queue.popleft()
            route = reached[at]
            if at == destination:
                return route
            if len(route) == self.longest:
                return None
            for level, mine in enumerate(self.bcube.digits(at)):
                for digit in range(self.bcube.radices[level]):
                    following = self._neighbour(at, level, digit)
                    hop = ((level, digit),)
                    if digit != mine and following not in reached and self._alive(at, hop, links):
                        reached[following] = route + hop
                        queue.append(following)
        return None

    @property
    def _digit_mask(self) -> int:
        return (1 << self.digit_bits) - 1

    def _neighbour(self, server: int, level: int, digit: int) -> int:
        place: int = self.bcube.n**level
        return server + (digit - server // place % self.bcube.n) * place

    def _pack(self, digits: tuple[int, ...]) -> int:
        return sum(digit << level * self.digit_bits for level, digit in enumerate(digits))

    def _with_digit(self, label: int, level: int, digit: int) -> int:
        shift = level * self.digit_bits
        return label & ~(self._digit_mask << shift) | digit << shift

    def _tag(self, route: Route) -> int:
        value = 0
        for level, digit in route:
            value = value << self.hop_bits | (level + 1) << self.digit_bits | digit
        return value << (self.longest - len(route)) * self.hop_bits

    def _first_hop(self, tag: int) -> tuple[int, int]:
        first = tag >> (self.tag_bits - self.hop_bits)
        return (first >> self.digit_bits) - 1, first & self._digit_mask
