"""Credits: a server sends only what its neighbour has room for (CLOT, section 7.2).

Every channel between two servers, also through a switch, consists of two *virtual channels*.  The receiver
keeps a buffer of ``limit`` frames for each.  Both ends count frames modulo 256, and all numbers are absolute:
the sender counts frames ``sent``, the receiver reports how many it has ``freed``.  So the next report replaces
a lost one (Kung and Morris, Credit-based flow control for ATM networks, 1995).  A lost frame is noticed when
much later ones arrive, or when the sender queries the receiver after a silence.

Data frames carry their number in the source MAC address, which labels do not use:

    virtual channel 6 | 00 | number of the frame 8 | server + 1 24 | receiver 8

``receiver`` names the neighbour that the frame is counted for: by the number of its port on a direct link, or
by the number of the switch's port to it.  While a switch and a sender know of different failures, a frame can
reach another server, whose numbers it must not change.

Virtual channel 63 marks control frames: IPv4 packets of protocol 253 to the neighbour, which switches forward
like any other.  They carry reports of two bytes:

    query 1 | virtual channel 7 | number 8      frames freed so far; in a query: sent so far

A server whose agent was started again has forgotten the numbers.  It tells each neighbour so, with virtual
channel 127 and a number for this restart, until the neighbour answers with the same as a query.  Both then
count from 0.  The server takes no frame of a neighbour that has not answered yet, and sends it none.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from addressing.fields.checksum import checksum
from hostagent.forwarding import packet

#: Two virtual channels: the scheme's own next hops, and the escape channel when none of them has room.
ADAPTIVE, ESCAPE = 0, 1
#: Marks control frames.
CONTROL = 63
#: In place of a virtual channel in control frames: the server has started again.
RESTART = 127
#: The largest window.
MAX_WINDOW = 60
#: A frame counts as lost when one with a number so much higher has arrived.
_LATE = 64
#: Numbers so far ahead count as old ones (modulo 256).
_BEHIND = 128
_MODULO = 256
_PROTOCOL = 253
_QUESTION = 0x80
_MARK = struct.Struct(">BB3sB")
_HEADER = struct.Struct(">BBHHHBBH4s4s")


class CreditTag(NamedTuple):
    """The credit fields of a frame: its virtual channel, its number there, the sending server, and the port
    number that names the receiving server."""

    channel: int
    number: int
    server: int
    receiver: int

    def encode(self) -> bytes:
        """Encode it as six bytes."""
        return _MARK.pack(self.channel << 2, self.number, (self.server + 1).to_bytes(3, "big"), self.receiver)

    @classmethod
    def decode(cls, data: bytes | memoryview) -> CreditTag:
        """Decode six bytes; any bytes are legal."""
        first, number, server, receiver = _MARK.unpack(data)
        return cls(first >> 2, number, int.from_bytes(server, "big") - 1, receiver)


@dataclass(slots=True)
class SendWindow:
    """The sender's side of a virtual channel."""

    limit: int
    sent: int = 0
    freed: int = 0
    #: When it was last used or reported on, in seconds.
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
        """The receiver reports frames freed; False for an impossible number."""
        if (freed - self.freed) % _MODULO > self.outstanding:
            return False
        self.freed, self.since = freed, now
        return True


T = TypeVar("T")


@dataclass(slots=True)
class ReceiveBuffer(Generic[T]):
    """The receiver's side of a virtual channel: the buffer and its counters."""

    limit: int
    queue: deque[T] = field(default_factory=deque)
    #: All frames before this number have arrived, and those in ``out_of_order`` as well.
    arrived: int = 0
    out_of_order: set[int] = field(default_factory=set)
    #: The number in the last query, if nothing has arrived since.
    last_query: int | None = None
    freed: int = 0
    reported: int = 0
    lost: int = 0
    fullest: int = 0

    def accept(self, number: int) -> bool:
        """A frame has arrived; False for a number that has arrived already or is impossible."""
        if (number - self.arrived) % _MODULO >= _BEHIND or number in self.out_of_order:
            return False
        self.last_query = None
        self.out_of_order.add(number)
        while self.arrived in self.out_of_order or (number - self.arrived) % _MODULO in range(_LATE, _BEHIND):
            self._skip()
        return True

    def query(self, sent: int) -> None:
        """The sender has sent so many frames and queries the receiver.

        Missing frames may be late: switches and processors reorder frames.  They are lost if the same query
        comes again and nothing has arrived in between.  If more frames have arrived than were sent, one of them
        was numbered before a restart.  The sender is right then: this buffer counts as it does.
        """
        if self.last_query == sent:
            while 0 < (sent - self.arrived) % _MODULO < _BEHIND:
                self._skip()
            self._count_from(sent)
        self.last_query = sent

    def _count_from(self, sent: int) -> None:
        """All frames before this number have arrived; those that wait are not free."""
        self.arrived, self.freed = sent, (sent - len(self.queue)) % _MODULO
        self.out_of_order.clear()

    def _skip(self) -> None:
        """Go on to the next number: this one arrived out of order, or is lost, and its place is free."""
        if self.arrived not in self.out_of_order:
            self.lost += 1
            self.free()
        self.out_of_order.discard(self.arrived)
        self.arrived = (self.arrived + 1) % _MODULO

    def put(self, item: T) -> None:
        """Store an accepted frame."""
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
        """Whether to report freed frames: when a third of the buffer has been freed, or all of it."""
        unreported = (self.freed - self.reported) % _MODULO
        return unreported > 0 and (not self.queue or 3 * unreported >= self.limit)


class CreditReport(NamedTuple):
    """One entry of a control frame."""

    query: bool
    channel: int
    number: int


def control_frame(to: bytes, mark: bytes, source: bytes, target: bytes, entries: list[CreditReport]) -> bytes:
    """A control frame, with its virtio-net header, for the neighbour with address ``target``."""
    body = b"".join(bytes(((_QUESTION if e.query else 0) | e.channel, e.number)) for e in entries)
    fields = (0x45, 0, _HEADER.size + len(body), 0, 0, 1, _PROTOCOL)
    total = checksum(_HEADER.pack(*fields, 0, source, target))
    header = _HEADER.pack(*fields, total, source, target)
    return bytes(packet.VNET_SIZE) + packet.ETHERNET.pack(to + mark, packet.IPV4) + header + body


def control_entries(slot: memoryview, end: int) -> Iterator[CreditReport]:
    """The entries of a control frame; none for other packets."""
    if slot[packet.IP_OFFSET] != 0x45 or slot[packet.IP_OFFSET + 9] != _PROTOCOL:
        return
    length = int.from_bytes(slot[packet.IP_OFFSET + 2 : packet.IP_OFFSET + 4], "big")
    for at in range(packet.MIN_END, min(end, packet.IP_OFFSET + length) - 1, 2):
        yield CreditReport(slot[at] >= _QUESTION, slot[at] & ~_QUESTION, slot[at + 1])
