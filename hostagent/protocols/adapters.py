"""Link state and path probes at an agent: frames to the servers one hop away, and what it knows by them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from addressing.source import SourceRouted, Way
from hostagent.forwarding import packet
from hostagent.forwarding.agent import Agent
from hostagent.forwarding.decisions import Exit
from hostagent.protocols import probing
from hostagent.protocols.linkstate import ETHERTYPE, LinkStates
from hostagent.protocols.probing import MEMORY, Prober


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The own port that leads to a server one hop away, and how frames for it leave."""

    port: int
    exit: Exit


class Neighbours:
    """Takes part in link state for one agent, with frames authenticated by ``key``; what leaves are
    (port, frame) pairs."""

    def __init__(self, agent: Agent, key: bytes | None = None) -> None:
        self._agent, self._key = agent, key

    def receive(self, frame: bytes, port: int, now: float) -> Iterator[tuple[int, bytes]]:
        """A frame arrived by ``port``: the agent follows what it says."""
        if self.states.receive(frame[packet.ETHERNET_SIZE :], now):
            self._agent.hear(self.states.down())
        return self.tick(now)

    def carrier(self, port: int, up: bool, now: float) -> None:
        """The card of ``port`` has a carrier or not; :meth:`tick` says so."""
        self.states.carrier(port, up, now)
        self._agent.hear(self.states.down())
        if up:
            self.states.catch_up((node for node, it in self._around.items() if it.port == port), now)

    def next_timer(self) -> float | None:
        """When :meth:`tick` is due."""
        return self.states.next_timer()

    def tick(self, now: float) -> Iterator[tuple[int, bytes]]:
        """What is to be said now."""
        self.states.handle_timer(now)
        for node, payload in self.states.frames_to_send():
            way = self._around[node]
            yield way.port, packet.ETHERNET.pack(way.exit.addresses, ETHERTYPE) + payload

    def counts(self) -> dict[str, int]:
        """Statements by what became of them, and how many links are known to be down by them."""
        counted = {f"link state {name}": count for name, count in self.states.counts.items()}
        down = len(self.states.down().down)
        return counted | ({"links known down": down} if down else {})

    @cached_property
    def states(self) -> LinkStates:
        """What is known."""
        scheme = self._agent.scheme
        return LinkStates(scheme.fabric, self._agent.node, self._around, scheme.hears, self._key)

    @cached_property
    def _around(self) -> dict[int, Neighbour]:
        return around(self._agent)


class Probing:
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
            self._follow()
        return self._leaving()

    def next_timer(self) -> float | None:
        """When :meth:`tick` is due: at once when the host has begun to send."""
        due = self.prober.next_timer()
        return 0.0 if due is None and self._agent.asked else due

    def tick(self, now: float) -> Iterator[tuple[int, bytes]]:
        """Probe, when it is time to, and have the agent follow what has been found."""
        due = self.next_timer()
        if due is not None and due <= now:
            servers = frozenset(self._agent.asked)
            self._agent.asked.clear()
            self.prober.round(servers, self._agent.told, now)
            self._follow()
        return self._leaving()

    def counts(self) -> dict[str, int]:
        """Probes by what became of them, and how many links are suspected."""
        counted = {f"probes {name}": count for name, count in self.prober.counts.items()}
        held = len(self.prober.suspected.down)
        return counted | ({"links suspected": held} if held else {})

    def _follow(self) -> None:
        """Have the agent know what has been found."""
        trips = self.prober.round_trips
        order = {(way[-1], tag): trips[way] for way in trips if (tag := self._tag(way)) is not None}
        self._agent.follow_probes(self.prober.suspected, order)

    @cached_property
    def _tag(self) -> Callable[[Way], int | None]:
        return lru_cache(maxsize=MEMORY)(self._scheme.tag_of)

    def _leaving(self) -> Iterator[tuple[int, bytes]]:
        for node, payload in self.prober.frames_to_send():
            way = self._around.get(node)
            if way is not None:
                yield way.port, packet.ETHERNET.pack(way.exit.addresses, probing.ETHERTYPE) + payload

    @cached_property
    def _around(self) -> dict[int, Neighbour]:
        return around(self._agent)


def around(agent: Agent) -> dict[int, Neighbour]:
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
