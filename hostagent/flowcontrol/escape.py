"""A way out of every congestion: up*/down* routes over servers, which never wait for each other in a circle.

Servers are ranked breadth first over the cables between servers that are up.  A hop is
*up* when it leads to a lower rank, otherwise *down*, and an escape route is any number of
hops up, then any number down (Autonet; Schroeder et al., 1991).  A buffer reached by a hop
up waits only for buffers of lower or equal standing in that order, one reached by a hop
down never for a hop up: the channel dependency graph has no cycle.  So packets that may
always enter this channel, and stay in it, never lock up, however the scheme routes them
in the other one (Duato, 1993).

Through a switch a packet goes where the switch's own rule sends its label; such *legs*
are hops like any other, and what cables between servers do not reach, they may.
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
    """The escape routes under a scheme; it follows ``scheme.known`` and nothing else, so that all
    servers that know the same agree."""

    scheme: Scheme

    def leg(self, at: int, port: int, label: int) -> Port | None:
        """The end at which a server next reads a packet with ``label`` that leaves by ``port``; None
        where nothing is up, or where a switch on the way has more than one choice."""
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
        """The legs that begin the shortest legal routes; after a hop down only further ones down."""
        found, rank = self._to(destination), self.rank
        distances = found.descending if descending else found.legal
        if at not in distances:
            return ()
        wanted = distances[at] - 1
        return tuple(
            leg
            for leg in self._legs(at, destination)
            if (found.descending if rank[leg.server] > rank[at] else found.legal).get(leg.server) == wanted
            and not (descending and rank[leg.server] < rank[at])
        )

    def down(self, here: int, there: int) -> bool:
        """Whether a hop from one server to another is a hop down."""
        return self.rank[there] > self.rank[here]

    @cached_property
    def rank(self) -> dict[int, int]:
        """Servers in breadth-first order; each piece that cables between servers do not join to the
        pieces before it begins with its server nearest to server 0."""
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
        """Compute now what would be computed on first use; this very value."""
        for destination in range(self.scheme.fabric.servers):
            self._to(destination)
        return self

    def unreached(self) -> list[tuple[int, int]]:
        """Pairs of servers between which there is a way but no escape route."""
        servers, ways = range(self.scheme.fabric.servers), ShortestPaths(self.scheme.fabric, self.scheme.known)
        return [
            (source, destination)
            for destination in servers
            for source in servers
            if ways.hops(source, destination) != UNREACHABLE and source not in self._to(destination).legal
        ]

    def _cross(self, at: int, port: int) -> Port | None:
        fabric = self.scheme.fabric
        return None if fabric.link_at(at, port) in self.scheme.known.down else fabric.peer(at, port)

    def _legs(self, at: int, destination: int) -> tuple[Leg, ...]:
        return self._legs_to(destination)[at]

    def _legs_to(self, destination: int) -> dict[int, tuple[Leg, ...]]:
        """Per server its legs for packets to ``destination``."""
        if destination not in self._known_legs:
            label, fabric = self.scheme.label(destination), self.scheme.fabric
            found = {}
            for at in range(fabric.servers):
                ends = ((port, self.leg(at, port, label)) for port, _ in fabric.ports(at, self.scheme.known))
                found[at] = tuple(Leg(port, end.node) for port, end in ends if end and end.node != at)
            self._known_legs[destination] = found
        return self._known_legs[destination]

    def _to(self, destination: int) -> _Distances:
        """Hops down lead to higher ranks and hops up to lower ones: one pass through the servers
        in either order finds all distances."""
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
    def _known_legs(self) -> dict[int, dict[int, tuple[Leg, ...]]]:
        return {}

    @cached_property
    def _distances(self) -> dict[int, _Distances]:
        return {}
