"""The routes of the escape channel: up*/down* routes over servers, without cyclic waits.

Servers are ranked breadth first over the direct links between servers that are up.  A hop is *up* when it
leads to a lower rank, otherwise *down*.  An escape route is any number of hops up, then any number of hops down
(Autonet; Schroeder et al., 1991).  A buffer that is reached by a hop up waits only for buffers that come later
in this order; a buffer that is reached by a hop down never waits for a hop up.  So the channel dependency graph
has no cycle.  Packets that may always enter this channel, and stay in it, cannot deadlock, whatever routes the
scheme uses in the other channel (Duato, 1993).

Through a switch a packet follows the switch's own rule for its label.  Such *legs* are hops like any other.
They may reach servers that direct links do not.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import cached_property

from addressing.algorithms.shortest_paths import UNREACHABLE, ShortestPaths
from addressing.header import Forward, Header
from addressing.scheme import Scheme
from topos.graph import Port

#: Switches that a packet can cross between two servers; more is a loop.
_MAX_SWITCHES = 16


@dataclass(frozen=True, slots=True)
class Leg:
    """One hop between servers: the port by which it leaves, and the server that it reaches."""

    port: int
    server: int


@dataclass(frozen=True, slots=True)
class _Distances:
    """Hops to one destination per server: by hops down alone, and by any legal route."""

    descending: dict[int, int]
    legal: dict[int, int]


@dataclass(frozen=True, eq=False)
class Escape:
    """The escape routes under a scheme.

    They depend on ``scheme.known`` only, so servers with the same link state agree on them.
    """

    scheme: Scheme

    def leg(self, at: int, port: int, label: int) -> Port | None:
        """The port at which a server next receives a packet with ``label`` that leaves by ``port``.

        None if a link is down, or if a switch has several next hops.
        """
        fabric, down = self.scheme.fabric, self.scheme.known.down
        end, header = self._cross(at, port), Header(label)
        for _ in range(_MAX_SWITCHES):
            if end is None or fabric.is_server(end.node):
                return end
            next_hops = self.scheme.next_hops(end.node, Header(header.label, header.tag, end.number))
            action = next_hops[0][0]
            if len(next_hops) > 1 or not isinstance(action, Forward):
                return None
            header = action.apply(header, self.scheme.tag_bits)
            end = None if fabric.link_at(end.node, action.port) in down else fabric.peer(end.node, action.port)
        return None

    def routes(self, at: int, destination: int, descending: bool) -> tuple[Leg, ...]:
        """The first legs of the shortest legal routes; after a hop down (``descending``) only hops down."""
        key = at, destination, descending
        if key not in self._known_routes:
            self._known_routes[key] = self._find_routes(at, destination, descending)
        return self._known_routes[key]

    def _find_routes(self, at: int, destination: int, descending: bool) -> tuple[Leg, ...]:
        hops, rank = self._to(destination), self.rank
        distances = hops.descending if descending else hops.legal
        if at not in distances:
            return ()
        wanted = distances[at] - 1
        return tuple(
            leg
            for leg in self._legs(at, destination)
            if (hops.descending if rank[leg.server] > rank[at] else hops.legal).get(leg.server) == wanted
            and not (descending and rank[leg.server] < rank[at])
        )

    def down(self, here: int, there: int) -> bool:
        """Whether a hop from one server to another is a hop down."""
        return self.rank[there] > self.rank[here]

    @cached_property
    def rank(self) -> dict[int, int]:
        """Servers in breadth-first order.

        Direct links may leave several components; each begins with its server nearest to server 0.
        """
        fabric, known = self.scheme.fabric, self.scheme.known
        hops = ShortestPaths(fabric, known).distances_to(0)[: fabric.servers].tolist()
        far = fabric.size
        starts = sorted(range(fabric.servers), key=lambda node: (hops[node] if hops[node] >= 0 else far, node))
        rank: dict[int, int] = {}
        for start in starts:
            waiting = deque([start])
            while waiting:
                at = waiting.popleft()
                if at not in rank:
                    rank[at] = len(rank)
                    waiting += [node for node in fabric.neighbours(at, known) if fabric.is_server(node)]
        return rank

    def prepare(self) -> Escape:
        """Compute all routes now instead of on first use; returns self."""
        for destination in range(self.scheme.fabric.servers):
            self._to(destination)
        return self

    def unreached(self) -> list[tuple[int, int]]:
        """Pairs of servers that have a path but no escape route."""
        servers, paths = range(self.scheme.fabric.servers), ShortestPaths(self.scheme.fabric, self.scheme.known)
        return [
            (source, destination)
            for destination in servers
            for source in servers
            if paths.hops(source, destination) != UNREACHABLE and source not in self._to(destination).legal
        ]

    def _cross(self, at: int, port: int) -> Port | None:
        fabric = self.scheme.fabric
        return None if fabric.link_at(at, port) in self.scheme.known.down else fabric.peer(at, port)

    def _legs(self, at: int, destination: int) -> tuple[Leg, ...]:
        return self._legs_to(destination)[at]

    def _legs_to(self, destination: int) -> dict[int, tuple[Leg, ...]]:
        """The legs of each server for packets to ``destination``."""
        if destination not in self._known_legs:
            label, fabric = self.scheme.label(destination), self.scheme.fabric
            legs = {}
            for at in range(fabric.servers):
                ends = ((port, self.leg(at, port, label)) for port, _ in fabric.ports(at, self.scheme.known))
                legs[at] = tuple(Leg(port, end.node) for port, end in ends if end and end.node != at)
            self._known_legs[destination] = legs
        return self._known_legs[destination]

    def _to(self, destination: int) -> _Distances:
        """The distances to ``destination``.

        Hops down lead to higher ranks and hops up to lower ones, so one pass in each order is enough.
        """
        if destination not in self._distances:
            legs, order = self._legs_to(destination), sorted(self.rank, key=self.rank.__getitem__)
            descending = {destination: 0}
            for at in reversed(order):
                ahead = [descending[leg.server] for leg in legs[at] if self._falls(at, leg, descending)]
                if ahead and at != destination:
                    descending[at] = 1 + min(ahead)
            legal: dict[int, int] = {}
            for at in order:
                ahead = [1 + legal[leg.server] for leg in legs[at] if leg.server in legal]
                ahead += [descending[at]] if at in descending else []
                if ahead:
                    legal[at] = min(ahead)
            self._distances[destination] = _Distances(descending, legal)
        return self._distances[destination]

    def _falls(self, at: int, leg: Leg, descending: dict[int, int]) -> bool:
        return leg.server in descending and self.down(at, leg.server)

    @cached_property
    def _known_routes(self) -> dict[tuple[int, int, bool], tuple[Leg, ...]]:
        return {}

    @cached_property
    def _known_legs(self) -> dict[int, dict[int, tuple[Leg, ...]]]:
        return {}

    @cached_property
    def _distances(self) -> dict[int, _Distances]:
        return {}
