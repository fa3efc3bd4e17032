"""Link state without a central instance: servers advertise to each other which of their ports are down.

A server whose interface loses or regains its carrier advertises which of its ports are down.  The
advertisement is flooded: a server that receives a new one forwards it to all servers one hop away.  The latest
advertisement of a server counts.  A link is down while a server at either end advertises it as down.

Each server remembers which advertisements each neighbour has not acknowledged, and never gives them up.  They
are retransmitted after growing intervals.  A neighbour that stays silent is sent one of them every
``SILENT_INTERVAL``; when it is heard again, it is sent the others.  So two servers that can exchange frames end
with the same advertisements, whatever was lost before.  An agent that was started again has forgotten all: its
frames carry a higher generation, and its neighbours send it what they know.

Replayed advertisements change nothing: their sequence numbers are old.  With a shared key all others are
rejected as well (:mod:`hostagent.control.authentication`); servers that know the key are believed.

DCell calls this local link state (section 4.3) and keeps it inside a cell.  The scheme decides which servers
are in each other's flooding scope (:meth:`addressing.scheme.Scheme.in_flooding_scope`).

A frame has EtherType 0xA801 (see :mod:`hostagent.control.codec`); its fields and items are

    kind 8 | sender 32 | generation 32 | origin 32 | number 64 | count 8 | port 16, count times

The generation says how often the sender's agent was started again; so do the upper 32 bits of the number for
the origin.

Any bytes decode to a message or to a :class:`.authentication.Rejection`; nothing is ever raised.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from hostagent.control.authentication import Rejection
from hostagent.control.codec import FrameCodec
from hostagent.control.interface import ControlMachine
from hostagent.control.one_hop import OneHopProtocol
from hostagent.options import Options
from topos.fabric import Fabric
from topos.graph import LinkState

ETHERTYPE = 0xA801
ADVERTISE, ACKNOWLEDGE = 1, 2
#: Seconds until the first retransmission, doubled each time, and after how many a neighbour counts as silent.
RETRANSMIT_INTERVAL = 0.02
MAX_ATTEMPTS = 6
#: Seconds between two frames to a silent neighbour.
SILENT_INTERVAL = 2.0
#: How often an advertisement to a neighbour counts as sent, when the neighbour is heard again.
_RESUMED_ATTEMPTS = 3
#: A server whose agent was started again goes on from a multiple of this number: above all that it sent before.
GENERATION = 1 << 32

_CODEC = FrameCodec(ETHERTYPE, struct.Struct(">BIIIQ"), struct.Struct(">H"))


@dataclass(frozen=True, slots=True)
class LinkStateAdvertisement:
    """Which ports of server ``origin`` are down; ``number`` is its sequence number."""

    origin: int
    number: int
    down: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Message:
    """An advertisement as ``sender`` forwards it, or an acknowledgement of it (without ports)."""

    kind: int
    sender: int
    advertisement: LinkStateAdvertisement
    #: How often the sender's agent was started again.
    generation: int = 0

    def encode(self, key: bytes | None = None) -> bytes:
        """The payload of a frame, with a tag when there is a ``key``."""
        origin, number, down = self.advertisement.origin, self.advertisement.number, self.advertisement.down
        fields = self.kind, self.sender, self.generation, origin, number
        return _CODEC.encode(fields, sorted(down), key)


def decode(data: bytes, key: bytes | None = None) -> Message | Rejection:
    """The message in ``data``, or why it is rejected.  What follows it is padding."""
    decoded = _CODEC.decode(data, key)
    if isinstance(decoded, Rejection):
        return decoded
    (kind, sender, generation, origin, number), ports = decoded
    if kind not in (ADVERTISE, ACKNOWLEDGE) or len(set(ports)) != len(ports):
        return Rejection.CONTENT
    return Message(kind, sender, LinkStateAdvertisement(origin, number, frozenset(ports)), generation)


@dataclass(slots=True)
class Unacknowledged:
    """An advertisement that a neighbour has not acknowledged: its number, how often it was sent, and when it
    is due again."""

    number: int
    sent: int
    due: float


class LinkStateFlooding(ControlMachine[LinkState]):
    """The link state of server ``node``; ``neighbours`` are the servers one hop away.

    ``in_flooding_scope(a, b)``: whether a keeps the advertisements of b.  Frames without a tag by ``key`` are
    rejected.  An event is the set of links that are now known to be down.  ``generation``: how often the
    server's agent was started again.
    """

    def __init__(
        self,
        fabric: Fabric,
        node: int,
        neighbours: Iterable[int],
        in_flooding_scope: Callable[[int, int], bool],
        key: bytes | None = None,
        generation: int = 0,
    ) -> None:
        super().__init__()
        self._fabric, self._node, self._key = fabric, node, key
        self._neighbours, self._in_flooding_scope = tuple(neighbours), in_flooding_scope
        self._generation = generation
        self._latest = {node: LinkStateAdvertisement(node, generation * GENERATION)}
        #: By neighbour and origin.
        self._unacknowledged: dict[int, dict[int, Unacknowledged]] = {one: {} for one in self._neighbours}
        #: The highest generation heard of each neighbour, and when it is next sent something if it is silent.
        self._generations = dict.fromkeys(self._neighbours, 0)
        self._next_to_silent = dict.fromkeys(self._neighbours, 0.0)
        #: No later than the first retransmission that is due.
        self._due: float | None = None
        if generation:  # neighbours notice the generation, and tell it what they know
            self._schedule(self._neighbours, [node], 0.0)

    def handle_link_change(self, port: int, up: bool, now: float) -> None:
        """The own ``port`` has gone down or come up: advertise it."""
        own = self._latest[self._node]
        down = own.down - {port} if up else own.down | {port}
        if down != own.down:
            self._latest[self._node] = LinkStateAdvertisement(self._node, own.number + 1, down)
            self._schedule(self._neighbours, [self._node], now)
            self.events.append(self.down())

    def is_up(self, port: int) -> bool:
        """Whether the own ``port`` is up."""
        return port not in self._latest[self._node].down

    def resume(self, neighbours: Iterable[int], now: float) -> None:
        """Send neighbours at once what they have not acknowledged: frames may reach them again."""
        for neighbour in neighbours:
            for unacknowledged in self._unacknowledged[neighbour].values():
                unacknowledged.sent = min(unacknowledged.sent, _RESUMED_ATTEMPTS)
                unacknowledged.due = now
                self._due = now

    def receive_frame(self, data: bytes, port: int, now: float) -> None:
        """A payload arrived, at any port."""
        message = decode(data, self._key)
        if isinstance(message, Message) and not self._is_valid(message):
            message = Rejection.CONTENT
        if isinstance(message, Rejection):
            self.counts[f"rejected: {message.value}"] += 1
            return
        advertisement, sender = message.advertisement, message.sender
        self._hear(sender, message.generation, now)
        if message.kind == ADVERTISE:
            self._queue_message(sender, ACKNOWLEDGE, replace(advertisement, down=frozenset()))
        if message.generation == self._generations[sender]:  # else it has forgotten this since
            self._handle_acknowledgement(sender, advertisement)
        if message.kind == ADVERTISE:
            self._handle_advertisement(sender, advertisement, now)

    def _hear(self, neighbour: int, generation: int, now: float) -> None:
        """A neighbour is alive: go on with what it has not acknowledged; all, if it was started again."""
        if generation > self._generations[neighbour]:
            self._generations[neighbour] = generation
            known = [origin for origin, advertisement in self._latest.items() if advertisement.number]
            self._schedule([neighbour], known, now)
        if any(one.sent >= MAX_ATTEMPTS for one in self._unacknowledged[neighbour].values()):
            self.resume([neighbour], now)

    def _handle_advertisement(self, sender: int, advertisement: LinkStateAdvertisement, now: float) -> None:
        """Keep and forward an advertisement, if it is new."""
        origin = advertisement.origin
        latest = self._latest.get(origin, LinkStateAdvertisement(origin, 0))
        if advertisement.number <= latest.number:
            self.counts["known already"] += 1
            return
        self.counts["learned"] += 1
        self._latest[origin] = advertisement
        self._schedule((one for one in self._neighbours if one != sender), [origin], now)
        if advertisement.down != latest.down:
            self.events.append(self.down())

    def next_timer(self) -> float | None:
        """When an advertisement may be due; asked for every packet of the host, so it is not searched for."""
        return self._due

    def handle_timer(self, now: float) -> None:
        """Send what is due, and retransmit what was not acknowledged."""
        for neighbour, missing in self._unacknowledged.items():
            for origin, unacknowledged in missing.items():
                if unacknowledged.due <= now and self._is_turn(neighbour, unacknowledged, now):
                    self._queue_message(neighbour, ADVERTISE, self._latest[origin])
        dues = (one.due for missing in self._unacknowledged.values() for one in missing.values())
        self._due = min(dues, default=None)

    def _is_turn(self, neighbour: int, unacknowledged: Unacknowledged, now: float) -> bool:
        """Whether to send an advertisement that is due; notes when it is due again."""
        if unacknowledged.sent < MAX_ATTEMPTS:
            unacknowledged.due = now + RETRANSMIT_INTERVAL * 2**unacknowledged.sent
            unacknowledged.sent += 1
            if unacknowledged.sent == MAX_ATTEMPTS:
                self.counts["not acknowledged yet"] += 1
            return True
        turn = self._next_to_silent[neighbour] <= now
        if turn:
            self._next_to_silent[neighbour] = now + SILENT_INTERVAL
        unacknowledged.due = self._next_to_silent[neighbour]
        return turn

    def down(self) -> LinkState:
        """The links that are down by the advertisements of all servers."""
        ports = ((one.origin, port) for one in self._latest.values() for port in one.down)
        return LinkState(frozenset(self._fabric.link_at(*port) for port in ports))

    def _schedule(self, neighbours: Iterable[int], origins: Iterable[int], now: float) -> None:
        origins = tuple(origins)
        for neighbour in neighbours:
            for origin in origins:
                if origin != neighbour and self._in_flooding_scope(neighbour, origin):
                    number = self._latest[origin].number
                    self._unacknowledged[neighbour][origin] = Unacknowledged(number, 0, now)
                    self._due = now

    def _handle_acknowledgement(self, neighbour: int, advertisement: LinkStateAdvertisement) -> None:
        """A neighbour has an advertisement, so it need not be sent to it."""
        missing = self._unacknowledged[neighbour]
        unacknowledged = missing.get(advertisement.origin)
        if unacknowledged is not None and unacknowledged.number <= advertisement.number:
            del missing[advertisement.origin]

    def _queue_message(self, neighbour: int, kind: int, advertisement: LinkStateAdvertisement) -> None:
        self.counts["sent" if kind == ADVERTISE else "acknowledged"] += 1
        message = Message(kind, self._node, advertisement, self._generation)
        self._outgoing.append((neighbour, message.encode(self._key)))

    def _is_valid(self, message: Message) -> bool:
        """False for servers and ports that do not exist, and for advertisements in this server's own name."""
        origin, ports = message.advertisement.origin, message.advertisement.down
        if message.sender not in self._neighbours or not 0 <= origin < self._fabric.servers:
            return False
        if message.kind == ADVERTISE and origin == self._node:
            return False
        return all(self._fabric.peer(origin, port) is not None for port in ports)


class LinkStateProtocol(OneHopProtocol[LinkStateFlooding]):
    """Link state at an agent, which follows what the flooding learns."""

    name: ClassVar[str] = "link-state"
    title: ClassVar[str] = "link state"
    ethertype: ClassVar[int] = ETHERTYPE

    @classmethod
    def enabled_by(cls, options: Options) -> bool:
        return options.link_state == "agents"

    def create_machine(self) -> LinkStateFlooding:
        scheme, node = self.context.agent.scheme, self.context.agent.node
        key = self.context.key
        generation = self.context.generation
        return LinkStateFlooding(
            scheme.fabric, node, self.neighbours, scheme.in_flooding_scope, key, generation
        )

    def handle_event(self, event: LinkState) -> None:
        self.context.agent.learn_failures(event)
        self.context.report({"event": "learned", "node": self.context.agent.node, "down": sorted(event.down)})

    def header(self, destination: int) -> tuple[int, bytes] | None:
        """As in all protocols of one hop; nothing is sent by a port without carrier."""
        header = super().header(destination)
        return header if header is not None and self.machine.is_up(header[0]) else None

    def handle_link_change(self, port: int, up: bool, now: float) -> None:
        super().handle_link_change(port, up, now)
        if up:
            self.machine.resume((node for node, hop in self.neighbours.items() if hop.port == port), now)

    def counts(self) -> dict[str, int]:
        """The counters, and how many links the agents' advertisements name."""
        down = len(self.machine.down().down)
        return super().counts() | ({"links known down": down} if down else {})
