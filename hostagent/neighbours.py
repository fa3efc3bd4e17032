"""Link state at an agent: frames to the servers one hop away, and what the agent knows by them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from hostagent import packet
from hostagent.core import Agent, Exit
from hostagent.linkstate import ETHERTYPE, LinkStates


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The own port that leads to a server one hop away, and how frames for it leave."""

    port: int
    exit: Exit


class Neighbours:
    """Takes part in link state for one agent; what leaves are (port, frame) pairs."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    def receive(self, frame: bytes, port: int, now: float) -> Iterator[tuple[int, bytes]]:
        """A frame arrived by ``port``: the agent follows what it says."""
        if self.states.receive(frame[packet.ETHERNET_SIZE :], now):
            self._agent.hear(self.states.down())
        return self.tick(now)

    def carrier(self, port: int, up: bool, now: float) -> None:
        """The card of ``port`` has a carrier or not; :meth:`tick` says so."""
        self.states.carrier(port, up, now)
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
        return LinkStates(scheme.fabric, self._agent.node, self._around, scheme.hears)

    @cached_property
    def _around(self) -> dict[int, Neighbour]:
        """All servers one hop away, by the ways that the scheme takes to them while nothing is down."""
        fabric, node = self._agent.scheme.fabric, self._agent.node
        found: dict[int, Neighbour] = {}
        for port, end in fabric.ports(node):
            direct = fabric.is_server(end.node)
            for server in [end.node] if direct else fabric.neighbours(end.node):
                way = self._agent.towards(server) if server != node else None
                # By a cable any frame gets across, whatever way the scheme would take.
                if way is not None and fabric.is_server(server) and (way.port == port or direct):
                    found.setdefault(server, Neighbour(port, way))
        return found
