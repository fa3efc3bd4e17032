"""Link state without anybody in the middle: servers tell each other which of their cards are dead.

A server whose card gains or loses its carrier states which of its ports are down.  The statement
is flooded: whoever has not seen its number yet passes it on to all servers one hop away, each of
which acknowledges it; to those that do not it is sent again a few times.  The latest statement of
a server holds; a link is down while a server at either end says so.

Old words told again change nothing: their numbers are old.  With a shared key nobody else's words
count either (:mod:`hostagent.protocols.authentication`); whoever knows it is believed.

DCell calls this local link state (section 4.3) and keeps it to a cell; which servers listen to
which is the scheme's to say (:meth:`addressing.scheme.Scheme.in_flooding_scope`).

A frame follows the Ethernet header with EtherType 0xA801; numbers are big-endian:

    kind 8 | count 8 | sender 32 | origin 32 | number 32 | port 16, count times
    tag length 8 | tag | CRC-32

Any bytes decode to a message or to a :class:`.authentication.Rejection`; nothing is ever raised.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from hostagent.protocols.authentication import Rejection, authenticate, verify
from topos.fabric import Fabric
from topos.graph import LinkState

ETHERTYPE = 0xA801
ADVERTISE, ACKNOWLEDGE = 1, 2
#: Seconds until a statement is sent again, doubled each time, and how often it is.
RETRANSMIT_INTERVAL = 0.02
MAX_ATTEMPTS = 6

_HEAD = struct.Struct(">BBIII")
_PORT = struct.Struct(">H")


@dataclass(frozen=True, slots=True)
class LinkStateAdvertisement:
    """Which ports of server ``origin`` are down, by its word number ``number`` on it."""

    origin: int
    number: int
    down: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Message:
    """A statement as ``sender`` passes it on, or that it acknowledges (without ports)."""

    kind: int
    sender: int
    advertisement: LinkStateAdvertisement

    def encode(self, key: bytes | None = None) -> bytes:
        """As bytes on the wire, with a tag when there is a ``key``."""
        origin, number, down = self.advertisement.origin, self.advertisement.number, self.advertisement.down
        body = _HEAD.pack(self.kind, len(down), self.sender, origin, number)
        body += b"".join(map(_PORT.pack, sorted(down)))
        return authenticate(body, ETHERTYPE, key)


def decode(data: bytes, key: bytes | None = None) -> Message | Rejection:
    """The message in ``data``, or why there is none.  What follows it is padding."""
    if len(data) < _HEAD.size:
        return Rejection.LENGTH
    kind, count, sender, origin, number = _HEAD.unpack_from(data)
    end = _HEAD.size + count * _PORT.size
    found = verify(data, end, ETHERTYPE, key)
    if found is not None:
        return found
    ports = frozenset(port for (port,) in _PORT.iter_unpack(data[_HEAD.size : end]))
    if kind not in (ADVERTISE, ACKNOWLEDGE) or len(ports) != count:
        return Rejection.CONTENT
    return Message(kind, sender, LinkStateAdvertisement(origin, number, ports))


@dataclass(frozen=True, slots=True)
class Unacknowledged:
    """A statement of that number that has not been acknowledged: how often it was sent, when it is due."""

    number: int
    sent: int
    due: float


class LinkStateFlooding:
    """What server ``node`` says of itself, has heard of others and passes on to ``around``, the
    servers one hop away; ``hears(a, b)``: whether a keeps up with b.  Words without a tag by ``key``
    are refused."""

    def __init__(
        self,
        fabric: Fabric,
        node: int,
        neighbours: Iterable[int],
        in_flooding_scope: Callable[[int, int], bool],
        key: bytes | None = None,
    ) -> None:
        self._fabric, self._node, self._key = fabric, node, key
        self._neighbours, self._in_flooding_scope = tuple(neighbours), in_flooding_scope
        self._latest = {node: LinkStateAdvertisement(node, 0)}
        self._unacknowledged: dict[tuple[int, int], Unacknowledged] = {}
        self._outgoing: list[tuple[int, bytes]] = []
        self.counts: Counter[str] = Counter()

    def carrier(self, port: int, up: bool, now: float) -> None:
        """The card of ``port`` has a carrier or not: all are told from ``now`` (seconds) on."""
        own = self._latest[self._node]
        down = own.down - {port} if up else own.down | {port}
        if down != own.down:
            self._latest[self._node] = LinkStateAdvertisement(self._node, own.number + 1, down)
            self._schedule(self._neighbours, [self._node], now)

    def synchronise(self, neighbours: Iterable[int], now: float) -> None:
        """Tell neighbours all that is known: they may have missed something."""
        known = [origin for origin, advertisement in self._latest.items() if advertisement.number]
        self._schedule(neighbours, known, now)

    def receive(self, data: bytes, now: float) -> bool:
        """A frame's payload arrived; whether more or less is down by it."""
        message = decode(data, self._key)
        if isinstance(message, Message) and not self._is_valid(message):
            message = Rejection.CONTENT
        if isinstance(message, Rejection):
            self.counts[f"rejected: {message.value}"] += 1
            return False
        advertisement, sender = message.advertisement, message.sender
        if message.kind == ACKNOWLEDGE:
            self._acknowledged(sender, advertisement)
            return False
        self._queue_message(sender, ACKNOWLEDGE, replace(advertisement, down=frozenset()))
        latest = self._latest.get(advertisement.origin, LinkStateAdvertisement(advertisement.origin, 0))
        self._acknowledged(sender, advertisement)
        if advertisement.number <= latest.number:
            self.counts["known already"] += 1
            return False
        self.counts["heard"] += 1
        self._latest[advertisement.origin] = advertisement
        self._schedule((one for one in self._neighbours if one != sender), [advertisement.origin], now)
        if advertisement.number > latest.number + 1 and advertisement.origin in self._neighbours:
            self.synchronise([advertisement.origin], now)  # it was cut off: it may have missed as much
        return advertisement.down != latest.down

    def frames_to_send(self) -> list[tuple[int, bytes]]:
        """(neighbour, payload) pairs to send now; each is given once."""
        leaving, self._outgoing = self._outgoing, []
        return leaving

    def next_timer(self) -> float | None:
        """When :meth:`handle_timer` is due."""
        return min((unacknowledged.due for unacknowledged in self._unacknowledged.values()), default=None)

    def handle_timer(self, now: float) -> None:
        """Send what is due, again where it was not acknowledged."""
        for (neighbour, origin), unacknowledged in list(self._unacknowledged.items()):
            if unacknowledged.due > now:
                continue
            if unacknowledged.sent == MAX_ATTEMPTS:
                del self._unacknowledged[neighbour, origin]
                self.counts["given up"] += 1
                continue
            later = replace(
                unacknowledged,
                sent=unacknowledged.sent + 1,
                due=now + RETRANSMIT_INTERVAL * 2**unacknowledged.sent,
            )
            self._unacknowledged[neighbour, origin] = later
            self._queue_message(neighbour, ADVERTISE, self._latest[origin])

    def down(self) -> LinkState:
        """The links that are down by all that is known."""
        link_at = self._fabric.link_at
        return LinkState(frozenset(link_at(s.origin, port) for s in self._latest.values() for port in s.down))

    def _schedule(self, neighbours: Iterable[int], origins: Iterable[int], now: float) -> None:
        for neighbour in neighbours:
            for origin in origins:
                if origin != neighbour and self._in_flooding_scope(neighbour, origin):
                    self._unacknowledged[neighbour, origin] = Unacknowledged(
                        self._latest[origin].number, 0, now
                    )

    def _acknowledged(self, neighbour: int, advertisement: LinkStateAdvertisement) -> None:
        """A neighbour knows a statement: it need not be told."""
        unacknowledged = self._unacknowledged.get((neighbour, advertisement.origin))
        if unacknowledged is not None and unacknowledged.number <= advertisement.number:
            del self._unacknowledged[neighbour, advertisement.origin]

    def _queue_message(self, neighbour: int, kind: int, advertisement: LinkStateAdvertisement) -> None:
        self.counts["sent" if kind == ADVERTISE else "acknowledged"] += 1
        self._outgoing.append((neighbour, Message(kind, self._node, advertisement).encode(self._key)))

    def _is_valid(self, message: Message) -> bool:
        """False for servers and ports that do not exist, and for words put into one's own mouth."""
        origin, ports = message.advertisement.origin, message.advertisement.down
        if message.sender not in self._neighbours or not 0 <= origin < self._fabric.servers:
            return False
        if message.kind == ADVERTISE and origin == self._node:
            return False
        return all(self._fabric.peer(origin, port) is not None for port in ports)
