"""The credits of one server: whom it owes some, who owes it, and what is said about them on the wire."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from hostagent.flowcontrol.credit import (
    ADAPTIVE,
    CONTROL,
    Entry,
    Grant,
    Inlet,
    Mark,
    control_entries,
    control_frame,
)
from hostagent.forwarding.agent import Agent
from topos.fabric import Fabric

#: Seconds of silence about frames that are outstanding, after which the receiver is asked.
PATIENCE = 0.05
#: Virtual channels, each with a buffer.
CHANNELS = 2


@dataclass(eq=False, slots=True)
class Parcel:
    """A packet that waits, laid out as in a slot of a card, and its IPv4 destination."""

    data: bytearray
    target: bytes


@dataclass(eq=False, slots=True)
class Queue:
    """The buffer of one channel: the port (0: from the host) and the server that fills it."""

    port: int
    sender: int
    channel: int
    inlet: Inlet[Parcel]
    #: Whether it has its place among those that take turns.
    listed: bool = field(default=False)


def window(fabric: Fabric, node: int, port: int, buffers: int) -> int:
    """Frames that each server behind ``port`` of ``node`` may have outstanding, per virtual channel:
    behind a switch they share the buffer, so that the switch never holds more for ``node``."""
    end = fabric.peer(node, port)
    assert end is not None
    if fabric.is_server(end.node):
        return buffers
    others = sum(1 for _ in fabric.ports(end.node)) - 1
    return max(1, buffers // max(1, others))


class Ledger:
    """Buffers and grants by (port, server, virtual channel); without credits one buffer per port,
    as large as its virtual channels together."""

    def __init__(self, agent: Agent, buffers: int, credits: bool) -> None:
        self.credits = credits
        self.counted: Counter[str] = Counter()
        self.queues: dict[tuple[int, int, int], Queue] = {}
        self._agent, self._buffers = agent, buffers
        self._grants: dict[tuple[int, int, int], Grant] = {}
        self._tell: set[tuple[int, int]] = set()
        self._ask: set[tuple[int, int]] = set()

    # --- buffers ------------------------------------------------------------------

    def queue(self, port: int, mark: Mark) -> Queue | None:
        """The buffer that a frame belongs into; None when nobody there sends so."""
        key = (port, mark.server, mark.channel) if self.credits else (port, 0, ADAPTIVE)
        queue = self.queues.get(key)
        if queue is None and mark.channel < CHANNELS and mark.server in self._senders(port):
            limit = self._window(port) if self.credits else CHANNELS * self._buffers
            queue = self.queues[key] = Queue(*key, Inlet(limit))
        return queue

    def accept(self, queue: Queue, mark: Mark) -> bool:
        """A frame has arrived; False when its number cannot be."""
        return not self.credits or queue.inlet.accept(mark.number)

    def free(self, queue: Queue) -> None:
        """The place of a frame in a buffer is free again."""
        if queue.port and self.credits:
            queue.inlet.free()
            if queue.inlet.worth_telling:
                self._tell.add((queue.port, queue.sender))

    def _senders(self, port: int) -> set[int]:
        """Who can send to a port: the server there, or all behind the switch there."""
        fabric = self._agent.scheme.fabric
        end = fabric.peer(self._agent.node, port)
        if end is None:
            return set()
        behind = {end.node} if fabric.is_server(end.node) else set(fabric.neighbours(end.node))
        return {node for node in behind if fabric.is_server(node)} - {self._agent.node}

    def _window(self, port: int) -> int:
        return window(self._agent.scheme.fabric, self._agent.node, port, self._buffers)

    # --- credits ------------------------------------------------------------------

    def grant(self, port: int, server: int, channel: int) -> Grant:
        """What may be sent to a server through a port."""
        key = port, server, channel
        if key not in self._grants:
            self._grants[key] = Grant(self._window(port))
        return self._grants[key]

    def hear(self, slot: memoryview, end: int, port: int, server: int, now: float) -> bool:
        """A control frame: credits that come back, and questions; False when nobody there sends it."""
        if not self.credits or server not in self._senders(port):
            return False
        for entry in control_entries(slot, end):
            if entry.channel >= CHANNELS:
                return False
            if entry.question:
                queue = self.queue(port, Mark(entry.channel, 0, server))
                assert queue is not None
                queue.inlet.question(entry.number)
                self._tell.add((port, server))
            elif not self.grant(port, server, entry.channel).hear(entry.number, now):
                return False
        return True

    def frames(self, blocked: set[int]) -> Iterator[tuple[int, bytes]]:
        """One control frame for each neighbour that is to hear something, by ports that are not blocked."""
        for port, server in sorted(self._tell | self._ask):
            if port not in blocked:
                entries = list(self._entries(port, server))
                self._tell.discard((port, server))
                self._ask.discard((port, server))
                self.counted["credit frames"] += 1
                yield port, self._frame(port, server, entries)

    def next_timer(self) -> float | None:
        """When :meth:`handle_timer` is due."""
        return min((g.since + PATIENCE for g in self._grants.values() if g.outstanding), default=None)

    def handle_timer(self, now: float) -> None:
        """Ask those who have been silent about what is outstanding."""
        for (port, server, _), grant in self._grants.items():
            if grant.outstanding and grant.since + PATIENCE <= now:
                grant.since = now
                self._ask.add((port, server))

    def outstanding(self) -> dict[tuple[int, int, int], int]:
        """Frames sent that are not known to have left their buffers, by (port, server, channel)."""
        return {key: grant.outstanding for key, grant in self._grants.items()}

    def _entries(self, port: int, server: int) -> Iterator[Entry]:
        for channel in range(CHANNELS):
            queue, grant = (of.get((port, server, channel)) for of in (self.queues, self._grants))
            if isinstance(queue, Queue) and (port, server) in self._tell:
                queue.inlet.told = queue.inlet.freed
                yield Entry(False, channel, queue.inlet.freed)
            if isinstance(grant, Grant) and (port, server) in self._ask:
                yield Entry(True, channel, grant.sent)

    def _frame(self, port: int, server: int, entries: list[Entry]) -> bytes:
        scheme = self._agent.current
        to = self._agent.framing.destination(scheme.label(server))
        mark = Mark(CONTROL, 0, self._agent.node).encode(port)
        return control_frame(to, mark, self._agent.own, scheme.ipv4(server).to_bytes(4, "big"), entries)
