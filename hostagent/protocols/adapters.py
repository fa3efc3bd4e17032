"""Link state and path probes at an agent: frames to the servers one hop away, and what it knows by them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from addressing.source import ServerPath, SourceRouted
from hostagent.forwarding import packet
from hostagent.forwarding.agent import Agent
from hostagent.forwarding.decisions import NextHop
from hostagent.protocols import probing
from hostagent.protocols.linkstate import ETHERTYPE, LinkStateFlooding
from hostagent.protocols.probing import CACHE_SIZE, Prober


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The own port that leads to a server one hop away, and how frames for it leave."""

    port: int
    next_hop: NextHop


class LinkStateAdapter:
    """Takes part in link state for one agent, with frames authenticated by ``key``; what leaves are
    (port, frame) pairs."""

    def __init__(self, agent: Agent, key: bytes | None = None) -> None:
        self._agent, self._key = agent, key

    def receive(self, frame: bytes, port: int, now: float) -> Iterator[tuple[int, bytes]]:
        """A frame arrived by ``port``: the agent follows what it says."""
        if self.flooding.receive(frame[packet.ETHERNET_SIZE :], now):
            self._agent.learn_failures(self.flooding.down())
        return self.tick(now)

    def carrier(self, port: int, up: bool, now: float) -> None:
        """The card of ``port`` has a carrier or not; :meth:`tick` says so."""
        self.flooding.carrier(port, up, now)
        self._agent.learn_failures(self.flooding.down())
        if up:
            self.flooding.synchronise((node for node, it in self._neighbours.items() if it.port == port), now)

    def next_timer(self) -> float | None:
        """When :meth:`tick` is due."""
        return self.flooding.next_timer()

    def tick(self, now: float) -> Iterator[tuple[int, bytes]]:
        """What is to be said now."""
        self.flooding.handle_timer(now)
        for node, payload in self.flooding.frames_to_send():
            way = self._neighbours[node]
            yield way.port, packet.ETHERNET.pack(way.next_hop.addresses, ETHERTYPE) + payload

    def counts(self) -> dict[str, int]:
        """Statements by what became of them, and how many links are known to be down by them."""
        counted = {f"link state {name}": count for name, count in self.flooding.counts.items()}
        down = len(self.flooding.down().down)
        return counted | ({"links known down": down} if down else {})

    @cached_property
    def flooding(self) -> LinkStateFlooding:
        """What is known."""
        scheme = self._agent.scheme
        return LinkStateFlooding(
            scheme.fabric, self._agent.node, self._neighbours, scheme.in_flooding_scope, self._key
        )

    @cached_property
    def _neighbours(self) -> dict[int, Neighbour]:
        return one_hop_neighbours(self._agent)


class ProbingAdapter:
    """Probes the ways of one agent, whose scheme is one of source routing, with frames authenticated
    by ``key``."""

    def __init__(self, agent: Agent, key: bytes | None = None) -> None:
        assert isinstance(agent.scheme, SourceRouted)
        self._agent, self._scheme = agent, agent.scheme
        self.prober = Prober(agent.scheme, agent.node, key)

    def receive(self, frame: bytes, port: int, now: float) -> Iterator[tuple[int, bytes]]:
        """A frame arrived by ``port``."""
        before = self.prober.suspected
        self.prober.receive(frame[packet.ETHERNET_SIZE :], now)
        if self.prober.suspected != before:
            self._apply_results()
        return self._outgoing()

    def next_timer(self) -> float | None:
        """When :meth:`tick` is due: at once when the host has begun to send."""
        due = self.prober.next_timer()
        return 0.0 if due is None and self._agent.probe_destinations else due

    def tick(self, now: float) -> Iterator[tuple[int, bytes]]:
        """Probe, when it is time to, and have the agent follow what has been found."""
        due = self.next_timer()
        if due is not None and due <= now:
            servers = frozenset(self._agent.probe_destinations)
            self._agent.probe_destinations.clear()
            self.prober.probe_round(servers, self._agent.reported_failures, now)
            self._apply_results()
        return self._outgoing()

    def counts(self) -> dict[str, int]:
        """Probes by what became of them, and how many links are suspected."""
        counted = {f"probes {name}": count for name, count in self.prober.counts.items()}
        held = len(self.prober.suspected.down)
        return counted | ({"links suspected": held} if held else {})

    def _apply_results(self) -> None:
        """Have the agent know what has been found."""
        trips = self.prober.round_trips
        order = {(way[-1], tag): trips[way] for way in trips if (tag := self._tag(way)) is not None}
        self._agent.apply_probe_results(self.prober.suspected, order)

    @cached_property
    def _tag(self) -> Callable[[ServerPath], int | None]:
        return lru_cache(maxsize=CACHE_SIZE)(self._scheme.tag_of)

    def _outgoing(self) -> Iterator[tuple[int, bytes]]:
        for node, payload in self.prober.frames_to_send():
            way = self._neighbours.get(node)
            if way is not None:
                yield way.port, packet.ETHERNET.pack(way.next_hop.addresses, probing.ETHERTYPE) + payload

    @cached_property
    def _neighbours(self) -> dict[int, Neighbour]:
        return one_hop_neighbours(self._agent)


def one_hop_neighbours(agent: Agent) -> dict[int, Neighbour]:
    """All servers one hop away, by the ways that the scheme takes to them while nothing is down."""
    fabric, node = agent.scheme.fabric, agent.node
    found: dict[int, Neighbour] = {}
    for port, end in fabric.ports(node):
        direct = fabric.is_server(end.node)
        for server in [end.node] if direct else fabric.neighbours(end.node):
            way = agent.towards(server) if server != node else None
            # By a cable any frame gets across, whatever way the scheme would take.
            if way is not None and fabric.is_server(server) and (way.port == port or direct):
                found.setdefault(server, Neighbour(port, way))
    return found
