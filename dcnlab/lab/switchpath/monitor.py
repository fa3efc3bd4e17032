"""Open vSwitch's flow monitor: first every entry of a switch, then every change.

``ovs-ofctl monitor BRIDGE watch:`` prints the same.  OpenFlow has no monitor of groups, but from version 1.4 a
switch forwards requests that change groups, of any client; then all groups are asked for again.  So groups are
known over OpenFlow 1.5 and not over 1.3, which is all that switches speak with a controller of the user's.
Bytes in, changes out: no sockets here.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

_HEADER = struct.Struct(">BBHI")
OPENFLOW_13, OPENFLOW_15 = 4, 6
_HELLO, _ERROR, _ECHO_REQUEST, _ECHO_REPLY, _VENDOR = 0, 1, 2, 3, 4
_MULTIPART_REQUEST, _MULTIPART_REPLY, _BARRIER_REQUEST, _BARRIER_REPLY = 18, 19, 20, 21
_SET_ASYNC, _REQUEST_FORWARD, _PORT_STATUS = 28, 32, 12
#: Type and flags of a multipart message.
_MULTIPART = struct.Struct(">HH4x")
_GROUP_DESC, _PORT_DESC, _FLOW_MONITOR, _MORE = 7, 13, 16, 1
_ANY_MATCH = struct.pack(">HH4x", 1, 4)
#: Monitor 0: the entries of all tables, additions, deletions, changes, all with instructions.
_WATCH = struct.pack(">IIIHBB", 0, 0xFFFFFFFF, 0xFFFFFFFF, 0x1F, 0xFF, 0) + _ANY_MATCH
#: The same in 1.3, by an extension of the Open Networking Foundation: its number, the type, the request.
_EXPERIMENTER, _ONF = 0xFFFF, struct.pack(">II", 0x4F4E4600, 1870)
_WATCH_13 = _ONF + struct.pack(">IHHIB3x", 0, 0x3F, 4, 0xFFFFFFFF, 0xFF) + _ANY_MATCH
_ALL_GROUPS = struct.pack(">I4x", 0xFFFFFFFC)
_ALL_PORTS = struct.pack(">I4x", 0xFFFFFFFF)
#: Report ports that come, go or change, and forward requests that change groups, to a client that is not the
#: master or slave.
_REPORTS = struct.pack(">HHI", 3, 8, 7) + struct.pack(">HHI", 11, 8, 1)
#: Of a port: number, length, state; whether it is live.  The message of a change begins with the reason.
_PORT, _LIVE, _REASON = struct.Struct(">IH30xI"), 4, struct.Struct(">B7x")
_PORT_DELETED, _ANY = 1, 0xFFFFFFFF
#: Length and event, table, idle timeout, priority; then the match.  In 1.3: priority, idle timeout, table.
_UPDATE, _UPDATE_13 = struct.Struct(">4xBxH2xH12x"), struct.Struct(">6xHH4xB9x")
_MATCH, _UPDATE_HEAD = struct.Struct(">HH"), struct.Struct(">HH")
#: Events: those with an entry that is there, that of one that is deleted.
_THERE, _DELETED, _PAUSED = {OPENFLOW_15: (0, 1, 3), OPENFLOW_13: (0, 2)}, {OPENFLOW_15: 2, OPENFLOW_13: 1}, 5
#: Of a group: length, type, number, length of its buckets; of a bucket: length, that of its actions; of a
#: property of buckets: type, length.
_GROUP, _BUCKET, _PROPERTY = struct.Struct(">HBxIH6x"), struct.Struct(">HH4x"), struct.Struct(">HH")
_WEIGHT, _WATCHED_PORT, _WATCHED_GROUP = 0, 1, 2


class MonitorError(ValueError):
    """The switch refuses the monitor, or pauses it: start again."""


@dataclass(frozen=True, slots=True)
class Key:
    """What identifies an entry of a switch; ``match`` has the OXM fields as they came."""

    table: int
    priority: int
    match: bytes


@dataclass(frozen=True, slots=True)
class Entry:
    """What an entry does, in OpenFlow's bytes, and whether it expires when it is not used."""

    instructions: bytes
    idle_timeout: int


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket of a group: its weight, its actions in OpenFlow's bytes, and the port or group that must be
    alive, if one must."""

    weight: int
    actions: bytes
    watched_port: int | None = None
    watched_group: int | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """A group: its type as OpenFlow numbers it, and its buckets in order."""

    kind: int
    buckets: tuple[Bucket, ...]


#: An entry that is there now, or None where it was deleted.
Change = tuple[Key, Entry | None]


class Monitor:
    """What one switch sends, in order, by ``version`` of OpenFlow."""

    def __init__(self, version: int = OPENFLOW_15) -> None:
        self._version = version
        self._received = b""
        #: Bytes to send.
        self.replies = b""
        #: The number of the last barrier that the switch has answered.
        self.barrier = 0
        #: The groups by number; not as they are now while an answer is awaited.
        self.groups: dict[int, Group] = {}
        self.awaits_groups = version == OPENFLOW_15
        #: The ports that forward: those with a carrier.
        self.live: set[int] = set()
        self._stale = False
        self._described: dict[int, Group] = {}

    def hello(self) -> bytes:
        """What a connection begins with: the version, and the request of a monitor."""
        if self._version == OPENFLOW_13:
            watch = _MULTIPART.pack(_EXPERIMENTER, 0) + _WATCH_13
            return self._message(_HELLO) + self._message(_MULTIPART_REQUEST, watch)
        watch = self._message(_MULTIPART_REQUEST, _MULTIPART.pack(_FLOW_MONITOR, 0) + _WATCH)
        begin = self._message(_HELLO) + self._message(_SET_ASYNC, _REPORTS)
        ports = self._message(_MULTIPART_REQUEST, _MULTIPART.pack(_PORT_DESC, 0) + _ALL_PORTS)
        return begin + ports + self._ask_groups() + watch

    def ask(self, number: int) -> bytes:
        """A barrier: a request that is answered after all changes that the switch has reported before."""
        return self._message(_BARRIER_REQUEST, number=number)

    def feed(self, data: bytes) -> Iterator[Change | None]:
        """The changes in bytes from the switch, None for one of groups or of a port that one watches;
        MonitorError where there will be no more."""
        self._received += data
        while len(self._received) >= _HEADER.size:
            _, kind, size, number = _HEADER.unpack_from(self._received)
            if len(self._received) < size:
                return
            body, self._received = self._received[_HEADER.size : size], self._received[size:]
            if kind in (_ERROR, _VENDOR):  # refused, or in 1.3 paused since we read too slowly
                raise MonitorError(f"the switch ends the flow monitor (message type {kind})")
            if kind == _ECHO_REQUEST:
                self.replies += self._message(_ECHO_REPLY, body, number)
            elif kind == _BARRIER_REPLY:
                self.barrier = number
            elif kind == _REQUEST_FORWARD:
                self._ask_again()
                yield None
            elif kind == _PORT_STATUS:
                (reason,) = _REASON.unpack_from(body)
                if self._note_port(body, _REASON.size, deleted=reason == _PORT_DELETED) and self._watches():
                    yield None
            elif kind == _MULTIPART_REPLY:
                yield from self._multipart(body)

    def _multipart(self, body: bytes) -> Iterator[Change | None]:
        kind, flags = _MULTIPART.unpack_from(body)
        if kind == _FLOW_MONITOR:
            yield from self._changes(body, _MULTIPART.size)
        elif kind == _EXPERIMENTER and body.startswith(_ONF, _MULTIPART.size):
            yield from self._changes(body, _MULTIPART.size + len(_ONF))
        elif kind == _PORT_DESC:
            at = _MULTIPART.size
            while at + _PORT.size <= len(body):
                self._note_port(body, at)
                at += max(_PORT.unpack_from(body, at)[1], _PORT.size)
        elif kind == _GROUP_DESC:
            self._described.update(_groups(body))
            if not flags & _MORE:
                self.groups, self._described, self.awaits_groups = self._described, {}, False
                if self._stale:
                    self._ask_again()
                yield None

    def _note_port(self, body: bytes, at: int, *, deleted: bool = False) -> bool:
        """Note whether a port is live; whether that has changed."""
        number, _, state = _PORT.unpack_from(body, at)
        before = number in self.live
        (self.live.add if state & _LIVE and not deleted else self.live.discard)(number)
        return before != (number in self.live)

    def _watches(self) -> bool:
        """Whether a bucket depends on a port."""
        return any(one.watched_port is not None for group in self.groups.values() for one in group.buckets)

    def _ask_again(self) -> None:
        """Ask for all groups, once for all requests that arrive until the answer."""
        self._stale = self.awaits_groups
        if not self.awaits_groups:
            self.awaits_groups = True
            self.replies += self._ask_groups()

    def _ask_groups(self) -> bytes:
        return self._message(_MULTIPART_REQUEST, _MULTIPART.pack(_GROUP_DESC, 0) + _ALL_GROUPS)

    def _message(self, kind: int, body: bytes = b"", number: int = 0) -> bytes:
        return _HEADER.pack(self._version, kind, _HEADER.size + len(body), number) + body

    def _changes(self, body: bytes, at: int) -> Iterator[Change]:
        while at + _UPDATE_HEAD.size <= len(body):
            size, event = _UPDATE_HEAD.unpack_from(body, at)
            deleted = event == _DELETED[self._version]
            if event == _PAUSED:
                raise MonitorError("the switch pauses the flow monitor: it is read too slowly")
            if deleted or event in _THERE[self._version]:
                key, entry = self._change(body[at : at + size])
                yield key, None if deleted else entry
            at += max(size, _UPDATE_HEAD.size)

    def _change(self, update: bytes) -> tuple[Key, Entry]:
        if self._version == OPENFLOW_13:
            priority, idle, table = _UPDATE_13.unpack_from(update)
        else:
            table, idle, priority = _UPDATE.unpack_from(update)
        _, size = _MATCH.unpack_from(update, _UPDATE.size)
        end = _UPDATE.size + (size + 7) // 8 * 8
        key = Key(table, priority, update[_UPDATE.size + _MATCH.size : _UPDATE.size + size])
        return key, Entry(update[end:], idle)


def _groups(body: bytes) -> Iterator[tuple[int, Group]]:
    at = _MULTIPART.size
    while at + _GROUP.size <= len(body):
        size, kind, number, length = _GROUP.unpack_from(body, at)
        buckets = body[at + _GROUP.size : at + _GROUP.size + length]
        yield number, Group(kind, tuple(_buckets(buckets)))
        at += max(size, _GROUP.size)


def _buckets(data: bytes) -> Iterator[Bucket]:
    at = 0
    while at + _BUCKET.size <= len(data):
        size, length = _BUCKET.unpack_from(data, at)
        actions = data[at + _BUCKET.size : at + _BUCKET.size + length]
        values, place = {}, at + _BUCKET.size + length
        while place + 8 <= at + size:
            kind, step = _PROPERTY.unpack_from(data, place)
            (values[kind],) = struct.unpack_from(
                ">H" if kind == _WEIGHT else ">I", data, place + _PROPERTY.size
            )
            place += max(step, 8)
        watched = (values.get(kind, _ANY) for kind in (_WATCHED_PORT, _WATCHED_GROUP))
        yield Bucket(values.get(_WEIGHT, 1), actions, *(None if one == _ANY else one for one in watched))
        at += max(size, _BUCKET.size)
