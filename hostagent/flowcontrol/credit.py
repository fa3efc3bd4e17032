"""Credits: a server sends only what its neighbour has room for (CLOT, section "flow control").

Every channel between two servers (through a switch as well) is two *virtual channels*,
and the receiver keeps a buffer of ``limit`` frames for each.  Both ends count frames
modulo 256, and all numbers are absolute: the sender knows how many it has ``sent``, and
is told how many have been ``freed``.  So a lost return of credits is made good by the
next one (Kung and Morris, Credit-based flow control for ATM networks, 1995); a frame lost
on a cable is noticed when much later ones arrive, or when the sender, after a silence, asks.

On the wire, in the source MAC address of a frame, which labels leave free:

    virtual channel 6 | 00 | number of the frame 8 | server + 1 24 | port 8

The virtual channel 63 marks control frames: IPv4 of protocol 253 to the neighbour, which
switches forward like anything for it, with an entry of two bytes per thing to say:

    question 1 | virtual channel 7 | number 8      freed so far, or with a question: sent so far
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from hostagent.forwarding import packet

#: The scheme's own choices, and the way out when none of them has room.
ADAPTIVE, ESCAPE = 0, 1
#: Marks frames about credits.
CONTROL = 63
#: The largest window.
MAX_WINDOW = 60
#: A frame counts as lost when one so much later has arrived.
_LATE = 64
#: Numbers so far ahead are behind.
_BEHIND = 128
_MODULO = 256
_PROTOCOL = 253
_QUESTION = 0x80
_MARK = struct.Struct(">BB3sB")
_HEADER = struct.Struct(">BBHHHBBH4s4s")


class CreditTag(NamedTuple):
    """What a frame's source address says: its virtual channel, its number in it, who sent it."""

    channel: int
    number: int
    server: int

    def encode(self, port: int) -> bytes:
        """As the six bytes of a frame that leaves by ``port``."""
        return _MARK.pack(self.channel << 2, self.number, (self.server + 1).to_bytes(3, "big"), port & 0xFF)

    @classmethod
    def decode(cls, data: bytes | memoryview) -> CreditTag:
        """From six bytes; any are legal."""
        first, number, server, _ = _MARK.unpack(data)
        return cls(first >> 2, number, int.from_bytes(server, "big") - 1)


@dataclass(slots=True)
class SendWindow:
    """The sender's side of a virtual channel."""

    limit: int
    sent: int = 0
    freed: int = 0
    #: When it was last used or heard of, in seconds.
    since: float = 0.0

    @property
    def outstanding(self) -> int:
        """Frames sent whose buffers are not known to be free again."""
        return (self.sent - self.freed) % _MODULO

    @property
    def room(self) -> bool:
        """Whether one more may be sent."""
        return self.outstanding < self.limit

    def take(self, now: float) -> int:
        """Use a credit: the number of the frame."""
        number, self.sent, self.since = self.sent, (self.sent + 1) % _MODULO, now
        return number

    def handle_credits(self, freed: int, now: float) -> bool:
        """The receiver has freed so many; False for a number that cannot be."""
        if (freed - self.freed) % _MODULO > self.outstanding:
            return False
        self.freed, self.since = freed, now
        return True


T = TypeVar("T")


@dataclass(slots=True)
class ReceiveBuffer(Generic[T]):
    """The receiver's side: the buffer, and what is counted of it."""

    limit: int
    queue: deque[T] = field(default_factory=deque)
    #: All before this number have arrived, and those in ``ahead`` of it.
    arrived: int = 0
    out_of_order: set[int] = field(default_factory=set)
    #: What the last question named, if nothing has arrived since.
    last_query: int | None = None
    freed: int = 0
    reported: int = 0
    lost: int = 0
    fullest: int = 0

    def accept(self, number: int) -> bool:
        """A frame of that number is here; False for one that was here already or cannot be."""
        if (number - self.arrived) % _MODULO >= _BEHIND or number in self.out_of_order:
            return False
        self.last_query = None
        self.out_of_order.add(number)
        while self.arrived in self.out_of_order or (number - self.arrived) % _MODULO in range(_LATE, _BEHIND):
            self._skip()
        return True

    def query(self, sent: int) -> None:
        """The sender has sent so many and asks what became of them.  What is missing may be late:
        switches and processors change the order of frames.  When the same is asked again and
        nothing has come in between, it is lost."""
        if (sent - self.arrived) % _MODULO >= _BEHIND:
            return
        if self.last_query == sent:
            while self.arrived != sent:
                self._skip()
        self.last_query = sent

    def _skip(self) -> None:
        """Wait no longer for the next number: it is among those ahead, or lost and its place free."""
        if self.arrived not in self.out_of_order:
            self.lost += 1
            self.free()
        self.out_of_order.discard(self.arrived)
        self.arrived = (self.arrived + 1) % _MODULO

    def put(self, item: T) -> None:
        """Keep what has been accepted."""
        self.queue.append(item)
        self.fullest = max(self.fullest, len(self.queue))

    def free(self) -> None:
        """The place of an accepted frame is free again."""
        self.freed = (self.freed + 1) % _MODULO

    @property
    def full(self) -> bool:
        """Whether nothing more fits."""
        return len(self.queue) >= self.limit

    @property
    def credits_due(self) -> bool:
        """Whether credits should go back: when a third of the buffer has been freed, or all of it is."""
        news = (self.freed - self.reported) % _MODULO
        return news > 0 and (not self.queue or 3 * news >= self.limit)


class CreditReport(NamedTuple):
    """One thing that a control frame says."""

    query: bool
    channel: int
    number: int


def control_frame(to: bytes, mark: bytes, source: bytes, target: bytes, entries: list[CreditReport]) -> bytes:
    """A frame about credits, with its virtio-net header, for the neighbour with address ``target``."""
    body = b"".join(bytes(((_QUESTION if e.query else 0) | e.channel, e.number)) for e in entries)
    fields = (0x45, 0, _HEADER.size + len(body), 0, 0, 1, _PROTOCOL)
    total = packet.checksum(_HEADER.pack(*fields, 0, source, target))
    header = _HEADER.pack(*fields, total, source, target)
    return bytes(packet.VNET_SIZE) + packet.ETHERNET.pack(to + mark, packet.IPV4) + header + body


def control_entries(slot: memoryview, end: int) -> Iterator[CreditReport]:
    """What a control frame says; nothing for what is none."""
    if slot[packet.IP_OFFSET] != 0x45 or slot[packet.IP_OFFSET + 9] != _PROTOCOL:
        return
    length = int.from_bytes(slot[packet.IP_OFFSET + 2 : packet.IP_OFFSET + 4], "big")
    for at in range(packet.MIN_END, min(end, packet.IP_OFFSET + length) - 1, 2):
        yield CreditReport(slot[at] >= _QUESTION, slot[at] & ~_QUESTION, slot[at + 1])
