"""Link state without anybody in the middle: servers tell each other which of their cards are dead.

A server whose card gains or loses its carrier states which of its ports are down.  The statement
is flooded: whoever has not seen its number yet passes it on to all servers one hop away, each of
which acknowledges it; to those that do not it is sent again a few times.  The latest statement of
a server holds; a link is down while a server at either end says so.

Old words told again change nothing: their numbers are old.  With a shared key nobody else's words
count either (:mod:`hostagent.protocols.authentication`); whoever knows it is believed.

DCell calls this local link state (section 4.3) and keeps it to a cell; which servers listen to
which is the scheme's to say (:meth:`addressing.scheme.Scheme.hears`).

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

from hostagent.protocols.authentication import Rejection, flaw, seal
from topos.fabric import Fabric
from topos.graph import LinkState

ETHERTYPE = 0xA801
STATES, ACKNOWLEDGES = 1, 2
#: Seconds until a statement is sent again, doubled each time, and how often it is.
PATIENCE = 0.02
TRIES = 6

_HEAD = struct.Struct(">BBIII")
_PORT = struct.Struct(">H")


@dataclass(frozen=True, slots=True)
class Statement:
    """Which ports of server ``origin`` are down, by its word number ``number`` on it."""

    origin: int
    number: int
    down: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Message:
    """A statement as ``sender`` passes it on, or that it acknowledges (without ports)."""

    kind: int
    sender: int
    statement: Statement

    def encode(self, key: bytes | None = None) -> bytes:
        """As bytes on the wire, with a tag when there is a ``key``."""
        origin, number, down = self.statement.origin, self.statement.number, self.statement.down
        body = _HEAD.pack(self.kind, len(down), self.sender, origin, number)
        body += b"".join(map(_PORT.pack, sorted(down)))
        return seal(body, ETHERTYPE, key)


def decode(data: bytes, key: bytes | None = None) -> Message | Rejection:
    """The message in ``data``, or why there is none.  What follows it is padding."""
    if len(data) < _HEAD.size:
        return Rejection.LENGTH
    kind, count, sender, origin, number = _HEAD.unpack_from(data)
    end = _HEAD.size + count * _PORT.size
    found = flaw(data, end, ETHERTYPE, key)
    if found is not None:
        return found
    ports = frozenset(port for (port,) in _PORT.iter_unpack(data[_HEAD.size : end]))
    if kind not in (STATES, ACKNOWLEDGES) or len(ports) != count:
        return Rejection.CONTENT
    return Message(kind, sender, Statement(origin, number, ports))


@dataclass(frozen=True, slots=True)
class Owed:
    """A statement of that number that has not been acknowledged: how often it was sent, when it is due."""

    number: int
    sent: int
    due: float


class LinkStates:
    """What server ``node`` says of itself, has heard of others and passes on to ``around``, the
    servers one hop away; ``hears(a, b)``: whether a keeps up with b.  Words without a tag by ``key``
    are refused."""

    def __init__(
        self,
        fabric: Fabric,
        node: int,
        around: Iterable[int],
        hears: Callable[[int, int], bool],
        key: bytes | None = None,
    ) -> None:
        self._fabric, self._node, self._key = fabric, node, key
        self._around, self._hears = tuple(around), hears
        self._latest = {node: Statement(node, 0)}
        self._owed: dict[tuple[int, int], Owed] = {}
        self._leaving: list[tuple[int, bytes]] = []
        self.counts: Counter[str] = Counter()

    def carrier(self, port: int, up: bool, now: float) -> None:
        """The card of ``port`` has a carrier or not: all are told from ``now`` (seconds) on."""
        own = self._latest[self._node]
        down = own.down - {port} if up else own.down | {port}
        if down != own.down:
            self._latest[self._node] = Statement(self._node, own.number + 1, down)
            self._owe(self._around, [self._node], now)

    def catch_up(self, neighbours: Iterable[int], now: float) -> None:
        """Tell neighbours all that is known: they may have missed something."""
        known = [origin for origin, statement in self._latest.items() if statement.number]
        self._owe(neighbours, known, now)

    def receive(self, data: bytes, now: float) -> bool:
        """A frame's payload arrived; whether more or less is down by it."""
        message = decode(data, self._key)
        if isinstance(message, Message) and not self._sensible(message):
            message = Rejection.CONTENT
        if isinstance(message, Rejection):
            self.counts[f"rejected: {message.value}"] += 1
            return False
        statement, sender = message.statement, message.sender
        if message.kind == ACKNOWLEDGES:
            self._settle(sender, statement)
            return False
        self._say(sender, ACKNOWLEDGES, replace(statement, down=frozenset()))
        latest = self._latest.get(statement.origin, Statement(statement.origin, 0))
        self._settle(sender, statement)
        if statement.number <= latest.number:
            self.counts["known already"] += 1
            return False
        self.counts["heard"] += 1
        self._latest[statement.origin] = statement
        self._owe((one for one in self._around if one != sender), [statement.origin], now)
        if statement.number > latest.number + 1 and statement.origin in self._around:
            self.catch_up([statement.origin], now)  # it was cut off: it may have missed as much
        return statement.down != latest.down

    def frames_to_send(self) -> list[tuple[int, bytes]]:
        """(neighbour, payload) pairs to send now; each is given once."""
        leaving, self._leaving = self._leaving, []
        return leaving

    def next_timer(self) -> float | None:
        """When :meth:`handle_timer` is due."""
        return min((owed.due for owed in self._owed.values()), default=None)

    def handle_timer(self, now: float) -> None:
        """Send what is due, again where it was not acknowledged."""
        for (neighbour, origin), owed in list(self._owed.items()):
            if owed.due > now:
                continue
            if owed.sent == TRIES:
                del self._owed[neighbour, origin]
                self.counts["given up"] += 1
                continue
            later = replace(owed, sent=owed.sent + 1, due=now + PATIENCE * 2**owed.sent)
            self._owed[neighbour, origin] = later
            self._say(neighbour, STATES, self._latest[origin])

    def down(self) -> LinkState:
        """The links that are down by all that is known."""
        link_at = self._fabric.link_at
        return LinkState(frozenset(link_at(s.origin, port) for s in self._latest.values() for port in s.down))

    def _owe(self, neighbours: Iterable[int], origins: Iterable[int], now: float) -> None:
        for neighbour in neighbours:
            for origin in origins:
                if origin != neighbour and self._hears(neighbour, origin):
                    self._owed[neighbour, origin] = Owed(self._latest[origin].number, 0, now)

    def _settle(self, neighbour: int, statement: Statement) -> None:
        """A neighbour knows a statement: it need not be told."""
        owed = self._owed.get((neighbour, statement.origin))
        if owed is not None and owed.number <= statement.number:
            del self._owed[neighbour, statement.origin]

    def _say(self, neighbour: int, kind: int, statement: Statement) -> None:
        self.counts["sent" if kind == STATES else "acknowledged"] += 1
        self._leaving.append((neighbour, Message(kind, self._node, statement).encode(self._key)))

    def _sensible(self, message: Message) -> bool:
        """False for servers and ports that do not exist, and for words put into one's own mouth."""
        origin, ports = message.statement.origin, message.statement.down
        if message.sender not in self._around or not 0 <= origin < self._fabric.servers:
            return False
        if message.kind == STATES and origin == self._node:
            return False
        return all(self._fabric.peer(origin, port) is not None for port in ports)
