"""DFR: DCell's fault-tolerant routing (Guo et al., DCell, SIGCOMM 2008, section 4).

*DCellRouting* (section 4.1): find the lowest cell that contains both servers, go to the server of the
source's sub-cell that has the link to the destination's sub-cell, cross it, and go on to the
destination; each part by the same rule.  FiConn and HCN route by the same recursion over their links.

*Failures that only nearby servers know* (section 4.3): inside a cell of level b every server takes
shortest paths over the links that it knows to be up (local link state).  Where the link out of that cell
is down, the packet goes to a *proxy*: the far end of a link to another sub-cell of the same level, or of
a higher level (jump-up) where none is up.  From there it goes on to its destination.  A packet is
dropped after three proxies.

The label is the next server's, so a switch matches its place only.  The tag contains the current target
(the proxy, or the destination itself), the destination, and the number of proxies left.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from addressing.broken import Case
from addressing.header import DELIVER, Forward, Header, NextHops, Pattern, drop, only
from addressing.rule import RuleScheme, Step
from addressing.scheme import ForwardingClass
from topos.bases.cells import CellFamily
from topos.family import Family, param
from topos.graph import ALL_UP, LinkState

_SWITCH_PORT = 1
_PROXIES = 3
_PROXY_BITS = 2


@dataclass(frozen=True)
class Route:
    """The contents of the tag: two servers, and how many more proxies may be chosen."""

    target: int
    destination: int
    proxies: int = _PROXIES


@dataclass(frozen=True)
class Dfr(RuleScheme):
    """DCellRouting with local reroute, local link state and jump-up."""

    name: ClassVar[str] = "dfr"
    summary: ClassVar[str] = "DCell's recursive routing by cells, with local rerouting around failures"
    source: ClassVar[str] = "Guo et al., DCell, SIGCOMM 2008, sections 4.1 and 4.3"
    computed: ClassVar[bool] = True

    b: int = param("level of the cells inside which servers know the state of all links", low=0, default=1)

    @classmethod
    def incompatibility(cls, family: Family) -> str | None:
        if not isinstance(family, CellFamily):
            return "it routes by the cells of DCell, FiConn or HCN"
        return None if family.k else "with a single switch no server relays packets"

    @property
    def cells(self) -> CellFamily:
        """The family's parameters."""
        assert isinstance(self.fabric.family, CellFamily)
        return self.fabric.family

    # --- labels and tags ----------------------------------------------------------

    @cached_property
    def _widths(self) -> tuple[int, ...]:
        """Bits of each digit of an address, a_0 first."""
        return tuple((width - 1).bit_length() for width in self.cells.widths)

    @cached_property
    def vertex_bits(self) -> int:
        return sum(self._widths)

    def vertex_label(self, vertex: int) -> int:
        label = 0
        for digit, width in zip(reversed(self.cells.digits(vertex)), reversed(self._widths), strict=True):
            label = label << width | digit
        return label

    def find(self, label: int) -> int | None:
        digits = []
        for width, values in zip(self._widths, self.cells.widths, strict=True):
            digits.append(label & (1 << width) - 1)
            label >>= width
            if digits[-1] >= values:
                return None
        return None if label else self.cells.server(tuple(digits))

    @property
    def tag_bits(self) -> int:
        return 2 * self.label_bits + _PROXY_BITS

    def _tag(self, route: Route) -> int:
        target, destination = self.label(route.target), self.label(route.destination)
        return (target << self.label_bits | destination) << _PROXY_BITS | route.proxies

    def _route(self, tag: int) -> Route | None:
        """The contents of a tag; None when it names servers that do not exist."""
        rest, mask = tag >> _PROXY_BITS, (1 << self.label_bits) - 1
        target, destination = self.find(rest >> self.label_bits), self.find(rest & mask)
        if target is None or destination is None:
            return None
        return Route(target, destination, tag & (1 << _PROXY_BITS) - 1)

    def headers(
        self, source: int, destination: int, links: LinkState = ALL_UP
    ) -> tuple[tuple[Header, float], ...]:
        return ((Header(self.label(source), self._tag(Route(destination, destination))), 1.0),)

    def headers_to(self, destination: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        servers = self.fabric.servers
        return np.array([*map(self.label, range(servers))]), np.full(
            servers, self._tag(Route(destination, destination))
        )

    def in_flooding_scope(self, at: int, origin: int) -> bool:
        size = self.cells.sizes[self._scope]
        return at // size == origin // size

    # --- the rule -------------------------------------------------------------------

    def next_hops(self, at: int, header: Header, links: LinkState = ALL_UP) -> NextHops:
        if not self.fabric.is_server(at):
            return self._switch(at, header, links)
        route = self._route(header.tag)
        if header.label != self.label(at) or route is None:
            return drop("addressed to another server")
        if route.destination == at:
            return DELIVER
        if links.down <= self.known.down:
            return self.transit_next_hops(at, route.destination, header, ALL_UP)
        forward = self._reroute(at, route, _arrived(at, route), self.all_failures(links))
        return drop("no proxy is left") if forward is None else only(forward)

    def _switch(self, at: int, header: Header, links: LinkState) -> NextHops:
        port = (header.label & self._place_mask) + 1
        if port > self.fabric.port_count(at):
            return drop("no server has this place")
        down = self.fabric.link_at(at, port) in self.all_failures(links).down
        return drop(f"port {port} is down") if down else only(Forward(port))

    @property
    def _place_mask(self) -> int:
        return (1 << self._widths[0]) - 1

    def may_reroute(self, at: int, header: Header) -> bool:
        route = self._route(header.tag)
        return self.fabric.is_server(at) and route is not None and route.target == route.destination

    def rule_bound(self) -> int:
        hops: int = 2 ** (self.cells.k + 2)
        return hops

    def hop_bound(self) -> int:
        return (_PROXIES + 1) * (super().hop_bound() + 2 * self.cells.sizes[self._scope])

    def rule(self, at: int, vertex: int, header: Header) -> Forward | None:
        if not self.fabric.is_server(at):
            return Forward((header.label & self._place_mask) + 1)
        route = self._route(header.tag)
        if route is None:
            return None
        now = _arrived(at, route)
        return self._hop(at, self._next(at, now.target), route, now)

    def _hop(self, at: int, following: int, route: Route, now: Route) -> Forward:
        """The action that sends to a server one hop away, and writes the tag if it changes."""
        level = self._level(at, following)
        port = self.cells.level_port(level) if level else _SWITCH_PORT
        return Forward(port, label=self.label(following), tag=None if now == route else self._tag(now))

    def steps(self, at: int, links: LinkState) -> Iterator[Step]:
        """Over a link to a server, or through the switch to each of its other servers."""
        for port, end in self.fabric.ports(at, links):
            if self.fabric.is_server(end.node):
                yield Step(Forward(port, label=self.label(end.node)), end, 1)
                continue
            for _, member in self.fabric.ports(end.node, links):
                if member.node != at:
                    yield Step(Forward(port, label=self.label(member.node)), member, 2)

    # --- DCellRouting ---------------------------------------------------------------

    def _level(self, a: int, b: int) -> int:
        """The level of the lowest cell that contains both servers."""
        return next(level for level, size in enumerate(self.cells.sizes) if a // size == b // size)

    def _gates(self, at: int, target: int, level: int) -> tuple[int, int]:
        """Both ends of the link between the two servers' sub-cells of a cell of that level."""
        here, there = self.cells.cell(at, level - 1), self.cells.cell(target, level - 1)
        return self._gateway(level, here, there), self._gateway(level, there, here)

    @cached_property
    def _gateway(self) -> Callable[[int, int, int], int]:
        return lru_cache(maxsize=1 << 16)(self.cells.gateway)

    def _next(self, at: int, target: int) -> int:
        """The next server on DCellRouting's path to ``target``."""
        while level := self._level(at, target):
            gate, far = self._gates(at, target, level)
            if gate == at:
                return far
            target = gate
        return target

    # --- failures that the control plane does not know -----------------------------------

    def _reroute(self, at: int, route: Route, now: Route, down: LinkState) -> Forward | None:
        """The next hop given the failures that this server knows; None when the packet must be dropped."""
        goal, far = self._leaving(at, now.target)
        if far is None or self._link_up(goal, far, down):
            following = far if goal == at else self._inside(at, goal, down)
            if following is not None:
                return self._hop(at, following, route, now)
        level = self._scope + 1 if far is None else self._level(goal, far)
        proxy = self._proxy(at, now.target, level, down) if now.proxies else None
        if proxy is None:
            return None
        return self._reroute(at, route, Route(proxy, now.destination, now.proxies - 1), down)

    @property
    def _scope(self) -> int:
        """The level b, at most the fabric's own."""
        return min(self.b, self.cells.k)

    def _leaving(self, at: int, target: int) -> tuple[int, int | None]:
        """The server where the path to ``target`` leaves the cell of level b, and the server across the
        link; ``target`` itself and None where the path stays inside."""
        far = None
        while (level := self._level(at, target)) > self._scope:
            target, far = self._gates(at, target, level)
        return target, far

    def _link_up(self, a: int, b: int, down: LinkState) -> bool:
        """True when the link between the gateways of two cells is up."""
        return self.fabric.link_at(a, self.cells.level_port(self._level(a, b))) not in down.down

    def _inside(self, at: int, goal: int, down: LinkState) -> int | None:
        """The next server on a shortest path to ``goal`` inside their cell of level b, or None."""
        distance = self._distances(goal, down)
        if at not in distance:
            return None
        steps = ((step.end.node, step.hops) for step in self.steps(at, down))
        return next(end for end, hops in steps if distance.get(end, distance[at]) + hops == distance[at])

    @cached_property
    def _distances(self) -> Callable[[int, LinkState], dict[int, int]]:
        return lru_cache(maxsize=1 << 10)(self._search)

    def _search(self, goal: int, down: LinkState) -> dict[int, int]:
        """Per server that reaches ``goal`` inside their cell of level b: the hops to it."""
        size = self.cells.sizes[self._scope]
        distance, pending = {goal: 0}, [(0, goal)]
        while pending:
            hops, at = heapq.heappop(pending)
            for step in self.steps(at, down) if hops == distance[at] else ():
                end, longer = step.end.node, hops + step.hops
                if end // size == goal // size and longer < distance.get(end, longer + 1):
                    distance[end] = longer
                    heapq.heappush(pending, (longer, end))
        return distance

    def _proxy(self, at: int, target: int, level: int, down: LinkState) -> int | None:
        """The far end of the nearest usable link, of that level or else of a higher one, from the own
        sub-cell to one that is not the target's; None if there is none."""
        for higher in range(level, self.cells.k + 1):
            own, width = self.cells.cell(at, higher - 1), self.cells.widths[higher]
            first = own - own % width
            others = set(range(first, first + width)) - {own, self.cells.cell(target, higher - 1)}
            links = ((self._gateway(higher, own, c), self._gateway(higher, c, own)) for c in others)
            near = sorted((self._level(at, gate), gate, far) for gate, far in links)
            for distance, gate, far in near:
                reachable = distance > self._scope or at in self._distances(gate, down)
                if reachable and self._link_up(gate, far, down):
                    return far
        return None

    # --- tables -----------------------------------------------------------------------

    def usual_classes(self, at: int) -> Iterable[ForwardingClass]:
        if not self.fabric.is_server(at):
            return self.forwarding_classes(at)
        return (*self._local(at), *super().transit_classes(at))

    def transit_classes(self, at: int) -> Iterable[ForwardingClass]:
        if self.fabric.is_server(at):
            yield from super().transit_classes(at)
            yield from self._proxy_classes(at)
            return
        for place in range(self.cells.n):
            yield Pattern(place, self._place_mask), Header(place)

    def _local(self, at: int) -> Iterator[ForwardingClass]:
        if self.fabric.is_server(at):
            route = Route(at, at)
            low = self.label_bits + _PROXY_BITS
            everything = (1 << self.label_bits) - 1
            yield (
                self._pattern(at, route, everything << low | everything << _PROXY_BITS),
                self._header(at, route),
            )

    def rule_classes(self, at: int) -> Iterable[ForwardingClass]:
        """Per level one prefix of the target for each other sub-cell."""
        digits = self.cells.digits(at)
        for level, width in enumerate(self.cells.widths):
            below = sum(self._widths[:level])
            mask = (1 << self.label_bits) - (1 << below)
            for digit in range(width):
                if digit != digits[level]:
                    there = self.cells.server((*(0 for _ in digits[:level]), digit, *digits[level + 1 :]))
                    route = Route(there, there)
                    shifted = mask << self.label_bits + _PROXY_BITS
                    yield self._pattern(at, route, shifted), self._header(at, route)

    def cases(self, at: int) -> Iterator[Case]:
        for vertex in self.vertices:
            if vertex != at:
                route = Route(vertex, vertex)
                yield Case(self._header(at, route), self._pattern(at, route, self._both), vertex)

    def _proxy_classes(self, at: int) -> Iterator[ForwardingClass]:
        """At a proxy: per destination and number of proxies left, write the destination into the target."""
        for vertex in self.vertices:
            for proxies in range(_PROXIES) if vertex != at else ():
                route = Route(at, vertex, proxies)
                yield self._pattern(at, route, (1 << self.tag_bits) - 1), self._header(at, route)

    @property
    def _both(self) -> int:
        """The mask of the tag's target and destination."""
        return (1 << 2 * self.label_bits) - 1 << _PROXY_BITS

    def _header(self, at: int, route: Route) -> Header:
        return Header(self.label(at), self._tag(route))

    def _pattern(self, at: int, route: Route, tag_mask: int) -> Pattern:
        own = (1 << self.label_bits) - 1
        return Pattern(self.label(at), own, self._tag(route) & tag_mask, tag_mask)


def _arrived(at: int, route: Route) -> Route:
    """The route, with the destination as its target again where the proxy is reached."""
    return Route(route.destination, route.destination, route.proxies) if route.target == at else route
