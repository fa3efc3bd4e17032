"""The credits of one server: its buffers, its send windows, and the control frames about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from hostagent.flowcontrol.credit import (
    ADAPTIVE,
    CONTROL,
    RESTART,
    CreditReport,
    CreditTag,
    ReceiveBuffer,
    SendWindow,
    control_entries,
    control_frame,
)
from hostagent.forwarding.agent import Agent
from topos.fabric import Fabric

#: Seconds of silence about outstanding frames, after which the receiver is queried.
QUERY_TIMEOUT = 0.05
#: The longest time between two notices of a restart to a neighbour that does not answer.
_LONGEST_PAUSE = 1.0


@dataclass(eq=False, slots=True)
class QueuedPacket:
    """A packet that waits, laid out as in a slot, and its IPv4 destination."""

    data: bytearray
    target: bytes


@dataclass(eq=False, slots=True)
class Queue:
    """The buffer of one channel, with the port (0: from the host) and the server that fills it."""

    port: int
    sender: int
    channel: int
    buffer: ReceiveBuffer[QueuedPacket]
    #: Whether it is in the relay's round robin.
    scheduled: bool = field(default=False)


def window(fabric: Fabric, node: int, port: int, buffers: int) -> int:
    """Frames that each server behind ``port`` of ``node`` may have outstanding, per virtual channel.

    Servers behind a switch share the buffer, so that the switch never holds more for ``node``.
    """
    end = fabric.peer(node, port)
    assert end is not None
    if fabric.is_server(end.node):
        return buffers
    others = sum(1 for _ in fabric.ports(end.node)) - 1
    return max(1, buffers // max(1, others))


def receiver(fabric: Fabric, node: int, port: int, server: int) -> int:
    """The number that names ``server`` in frames that leave ``node`` by ``port``: of its port on a direct link,
    or of the switch's port to it; modulo 256."""
    end = fabric.peer(node, port)
    assert end is not None
    if end.node == server:
        return end.number & 0xFF
    return next(number for number, far in fabric.ports(end.node) if far.node == server) & 0xFF


class CreditState:
    """Buffers and send windows by (port, server, virtual channel).

    Without credits there is one buffer per port, as large as its virtual channels together.
    """

    def __init__(
        self, agent: Agent, buffers: int, credits: bool, generation: int = 0, channels: int = 2
    ) -> None:
        """``generation``: how often the agent was started again; ``channels``: of each link."""
        self._channels = channels
        self.credits = credits
        self.counters: Counter[str] = Counter()
        self.queues: dict[tuple[int, int, int], Queue] = {}
        self._agent, self._buffers = agent, buffers
        #: What :func:`receiver` has returned, by (port, server).
        self._receivers: dict[tuple[int, int], int] = {}
        self._send_windows: dict[tuple[int, int, int], SendWindow] = {}
        self._credits_due: set[tuple[int, int]] = set()
        self._queries_due: set[tuple[int, int]] = set()
        self._generation = generation % 256
        #: The neighbours that do not know yet of this agent's restart: when to tell them, and the pause then.
        self._unaware = (
            dict.fromkeys(self._neighbours(), (0.0, QUERY_TIMEOUT)) if credits and generation else {}
        )
        self._notices_due: set[tuple[int, int]] = set()
        #: The last restart that each neighbour has told of, and the answers due.
        self._generations: dict[tuple[int, int], int] = {}
        self._answers_due: set[tuple[int, int]] = set()

    # --- buffers ------------------------------------------------------------------

    def queue(self, port: int, mark: CreditTag) -> Queue | None:
        """The buffer for a frame; None when no server behind the port can have sent it."""
        key = (port, mark.server, mark.channel) if self.credits else (port, 0, ADAPTIVE)
        queue = self.queues.get(key)
        if queue is None and mark.channel < self._channels and mark.server in self._senders(port):
            limit = self._window(port) if self.credits else self._channels * self._buffers
            queue = self.queues[key] = Queue(*key, ReceiveBuffer(limit))
        return queue

    def accept(self, queue: Queue, mark: CreditTag) -> bool:
        """A frame has arrived; False for an impossible number."""
        return not self.credits or queue.buffer.accept(mark.number)

    def tag(self, port: int, server: int, channel: int, number: int) -> CreditTag:
        """The tag of a frame for ``server``, which leaves by ``port``."""
        key = port, server
        if key not in self._receivers:
            self._receivers[key] = receiver(self._agent.scheme.fabric, self._agent.node, port, server)
        return CreditTag(channel, number, self._agent.node, self._receivers[key])

    def meant(self, port: int, mark: CreditTag) -> bool:
        """Whether a frame that has arrived at ``port`` is counted for this server."""
        fabric, node = self._agent.scheme.fabric, self._agent.node
        end = fabric.peer(node, port)
        return end is not None and mark.receiver == (
            (port if fabric.is_server(end.node) else end.number) & 0xFF
        )

    def free(self, queue: Queue) -> None:
        """A frame has left its buffer."""
        if queue.port and self.credits:
            queue.buffer.free()
            if queue.buffer.credits_due:
                self._credits_due.add((queue.port, queue.sender))

    def _neighbours(self) -> list[tuple[int, int]]:
        """All (port, server) that send here."""
        ports = self._agent.scheme.fabric.ports(self._agent.node)
        return [(port, server) for port, _ in ports for server in sorted(self._senders(port))]

    def _senders(self, port: int) -> set[int]:
        """The servers that can send to a port: the one at its other end, or all behind the switch there."""
        fabric = self._agent.scheme.fabric
        end = fabric.peer(self._agent.node, port)
        if end is None:
            return set()
        behind = {end.node} if fabric.is_server(end.node) else set(fabric.neighbours(end.node))
        return {node for node in behind if fabric.is_server(node)} - {self._agent.node}

    def _window(self, port: int) -> int:
        return window(self._agent.scheme.fabric, self._agent.node, port, self._buffers)

    # --- credits ------------------------------------------------------------------

    def send_window(self, port: int, server: int, channel: int) -> SendWindow:
        """The window for frames to a server through a port."""
        key = port, server, channel
        if key not in self._send_windows:
            self._send_windows[key] = SendWindow(self._window(port))
        return self._send_windows[key]

    def agreed(self, port: int, server: int) -> bool:
        """Whether this server and a neighbour count alike, so that they may send each other frames."""
        return (port, server) not in self._unaware

    def room(self, port: int, server: int, channel: int) -> bool:
        """Whether one more frame may be sent to a server through a port."""
        return self.agreed(port, server) and self.send_window(port, server, channel).room

    def handle_credits(self, slot: memoryview, end: int, port: int, server: int, now: float) -> bool:
        """Handle a control frame (reports, queries); False when no server behind the port can have sent it."""
        if not self.credits or server not in self._senders(port):
            return False
        for entry in control_entries(slot, end):
            if entry.channel == RESTART:
                self._handle_restart(entry, port, server)
            elif entry.channel >= self._channels:
                return False
            elif not self.agreed(port, server):
                continue
            elif entry.query:
                queue = self.queue(port, CreditTag(entry.channel, 0, server, 0))
                assert queue is not None
                queue.buffer.query(entry.number)
                self._credits_due.add((port, server))
            elif not self.send_window(port, server, entry.channel).handle_credits(entry.number, now):
                return False
        return True

    def _handle_restart(self, entry: CreditReport, port: int, server: int) -> None:
        """A neighbour has started again, or knows that this server has."""
        neighbour = port, server
        if entry.query:
            if entry.number == self._generation:
                self._unaware.pop(neighbour, None)
            return
        self._answers_due.add(neighbour)
        if self._generations.get(neighbour) != entry.number:
            self._generations[neighbour] = entry.number
            for channel in range(self._channels):
                self._begin_anew(*neighbour, channel)

    def _begin_anew(self, port: int, server: int, channel: int) -> None:
        """Count from 0.  Frames that wait in the former buffer leave it as before."""
        key = port, server, channel
        self._send_windows.pop(key, None)
        if former := self.queues.pop(key, None):
            new: ReceiveBuffer[QueuedPacket] = ReceiveBuffer(former.buffer.limit)
            new.lost, new.fullest = former.buffer.lost, former.buffer.fullest
            self.queues[key] = Queue(*key, new)

    def control_frames(self, blocked: set[int]) -> Iterator[tuple[int, bytes]]:
        """One control frame for each neighbour with a report or query due, by ports that are not blocked."""
        if not any(self._due):
            return
        for port, server in sorted(set().union(*self._due)):
            if port not in blocked:
                entries = list(self._entries(port, server))
                for due in self._due:
                    due.discard((port, server))
                self.counters["credit frames"] += 1
                yield port, self._frame(port, server, entries)

    def next_timer(self) -> float | None:
        """When :meth:`handle_timer` is due."""
        due = [g.since + QUERY_TIMEOUT for g in self._send_windows.values() if g.outstanding]
        if self._unaware:
            due += [due for due, _ in self._unaware.values()]
        return min(due, default=None)

    def handle_timer(self, now: float) -> None:
        """Query receivers that have been silent about outstanding frames; tell neighbours of a restart."""
        for neighbour, (due, pause) in self._unaware.items():
            if due <= now:
                self._notices_due.add(neighbour)
                self._unaware[neighbour] = now + pause, min(2 * pause, _LONGEST_PAUSE)
        for (port, server, _), send_window in self._send_windows.items():
            if send_window.outstanding and send_window.since + QUERY_TIMEOUT <= now:
                send_window.since = now
                self._queries_due.add((port, server))

    def outstanding(self) -> dict[tuple[int, int, int], int]:
        """Frames sent whose buffers are not known to be free again, by (port, server, channel)."""
        return {key: send_window.outstanding for key, send_window in self._send_windows.items()}

    @property
    def _due(self) -> tuple[set[tuple[int, int]], ...]:
        return self._credits_due, self._queries_due, self._notices_due, self._answers_due

    def _entries(self, port: int, server: int) -> Iterator[CreditReport]:
        if (port, server) in self._answers_due:
            yield CreditReport(True, RESTART, self._generations[port, server])
        if (port, server) in self._notices_due:
            yield CreditReport(False, RESTART, self._generation)
        for channel in range(self._channels):
            queue, send_window = (of.get((port, server, channel)) for of in (self.queues, self._send_windows))
            if isinstance(queue, Queue) and (port, server) in self._credits_due:
                queue.buffer.reported = queue.buffer.freed
                yield CreditReport(False, channel, queue.buffer.freed)
            if isinstance(send_window, SendWindow) and (port, server) in self._queries_due:
                yield CreditReport(True, channel, send_window.sent)

    def _frame(self, port: int, server: int, entries: list[CreditReport]) -> bytes:
        scheme = self._agent.current_scheme
        to = self._agent.framing.destination(scheme.label(server))
        mark = self.tag(port, server, CONTROL, 0)
        return control_frame(
            to, mark.encode(), self._agent.own_address, scheme.ipv4(server).to_bytes(4, "big"), entries
        )
