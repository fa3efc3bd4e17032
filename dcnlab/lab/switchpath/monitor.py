"""Open vSwitch's flow monitor over OpenFlow 1.5: first every entry of a switch, then every change.

``ovs-ofctl -O OpenFlow15 monitor BRIDGE watch:`` prints the same.  OpenFlow has no monitor of groups, but from
version 1.4 a switch forwards requests that change groups, of any client; then all groups are asked for again.
Bytes in, changes out: no sockets here.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

_HEADER = struct.Struct(">BBHI")
_VERSION = 6
_HELLO, _ERROR, _ECHO_REQUEST, _ECHO_REPLY = 0, 1, 2, 3
_MULTIPART_REQUEST, _MULTIPART_REPLY, _BARRIER_REQUEST, _BARRIER_REPLY = 18, 19, 20, 21
_SET_ASYNC, _REQUEST_FORWARD = 28, 32
#: Type and flags of a multipart message.
_MULTIPART = struct.Struct(">HH4x")
_GROUP_DESC, _FLOW_MONITOR, _MORE = 7, 16, 1
#: Monitor 0: the entries of all tables, additions, deletions, changes, all with instructions.
_WATCH = struct.pack(">IIIHBB", 0, 0xFFFFFFFF, 0xFFFFFFFF, 0x1F, 0xFF, 0) + struct.pack(">HH4x", 1, 4)
_ALL_GROUPS = struct.pack(">I4x", 0xFFFFFFFC)
#: Forward requests that change groups, to a client that is not the master or slave.
_FORWARD_REQUESTS = struct.pack(">HHI", 11, 8, 1)
#: Length, event, table, idle timeout, priority, cookie; then the match.
_UPDATE = struct.Struct(">HHBxH2xH4xQ")
_MATCH, _UPDATE_HEAD = struct.Struct(">HH"), struct.Struct(">HH")
_INITIAL, _ADDED, _DELETED, _MODIFIED, _PAUSED = 0, 1, 2, 3, 5
#: Of a group: length, type, number, length of its buckets; of a bucket: length, that of its actions; of a
#: property of buckets: type, length.
_GROUP, _BUCKET, _PROPERTY = struct.Struct(">HBxIH6x"), struct.Struct(">HH4x"), struct.Struct(">HH")
_WEIGHT = 0


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
    """A bucket of a group: its weight, its actions in OpenFlow's bytes, and whether a port or group must be
    alive."""

    weight: int
    actions: bytes
    watches: bool


@dataclass(frozen=True, slots=True)
class Group:
    """A group: its type as OpenFlow numbers it, and its buckets in order."""

    kind: int
    buckets: tuple[Bucket, ...]


#: An entry that is there now, or None where it was deleted.
Change = tuple[Key, Entry | None]


def hello() -> bytes:
    """What a connection begins with: the version, and the request of a monitor."""
    watch = _message(_MULTIPART_REQUEST, _MULTIPART.pack(_FLOW_MONITOR, 0) + _WATCH)
    return _message(_HELLO) + _message(_SET_ASYNC, _FORWARD_REQUESTS) + _ask_groups() + watch


def barrier(number: int) -> bytes:
    """A request that is answered after all changes that the switch has reported before."""
    return _message(_BARRIER_REQUEST, number=number)


class Monitor:
    """What one switch sends, in order."""

    def __init__(self) -> None:
        self._received = b""
        #: Bytes to send.
        self.replies = b""
        #: The number of the last barrier that the switch has answered.
        self.barrier = 0
        #: The groups by number; not as they are now while an answer is awaited.
        self.groups: dict[int, Group] = {}
        self.awaits_groups = True
        self._stale = False
        self._described: dict[int, Group] = {}

    def feed(self, data: bytes) -> Iterator[Change | None]:
        """The changes in bytes from the switch, None for one of groups; MonitorError where there will be no
        more."""
        self._received += data
        while len(self._received) >= _HEADER.size:
            _, kind, size, number = _HEADER.unpack_from(self._received)
            if len(self._received) < size:
                return
            body, self._received = self._received[_HEADER.size : size], self._received[size:]
            if kind == _ERROR:
                raise MonitorError("the switch refuses the flow monitor")
            if kind == _ECHO_REQUEST:
                self.replies += _message(_ECHO_REPLY, body, number)
            elif kind == _BARRIER_REPLY:
                self.barrier = number
            elif kind == _REQUEST_FORWARD:
                self._ask_again()
                yield None
            elif kind == _MULTIPART_REPLY:
                yield from self._multipart(body)

    def _multipart(self, body: bytes) -> Iterator[Change | None]:
        kind, flags = _MULTIPART.unpack_from(body)
        if kind == _FLOW_MONITOR:
            yield from _changes(body)
        elif kind == _GROUP_DESC:
            self._described.update(_groups(body))
            if not flags & _MORE:
                self.groups, self._described, self.awaits_groups = self._described, {}, False
                if self._stale:
                    self._ask_again()
                yield None

    def _ask_again(self) -> None:
        """Ask for all groups, once for all requests that arrive until the answer."""
        self._stale = self.awaits_groups
        if not self.awaits_groups:
            self.awaits_groups = True
            self.replies += _ask_groups()


def _ask_groups() -> bytes:
    return _message(_MULTIPART_REQUEST, _MULTIPART.pack(_GROUP_DESC, 0) + _ALL_GROUPS)


def _message(kind: int, body: bytes = b"", number: int = 0) -> bytes:
    return _HEADER.pack(_VERSION, kind, _HEADER.size + len(body), number) + body


def _changes(body: bytes) -> Iterator[Change]:
    at = _MULTIPART.size
    while at + _UPDATE_HEAD.size <= len(body):
        size, event = _UPDATE_HEAD.unpack_from(body, at)
        if event == _PAUSED:
            raise MonitorError("the switch pauses the flow monitor: it is read too slowly")
        if event in (_INITIAL, _ADDED, _DELETED, _MODIFIED):
            yield _change(body[at : at + size])
        at += max(size, _UPDATE_HEAD.size)


def _change(update: bytes) -> Change:
    _, event, table, idle, priority, _ = _UPDATE.unpack_from(update)
    _, size = _MATCH.unpack_from(update, _UPDATE.size)
    end = _UPDATE.size + (size + 7) // 8 * 8
    key = Key(table, priority, update[_UPDATE.size + 4 : _UPDATE.size + size])
    return key, None if event == _DELETED else Entry(update[end:], idle)


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
        weight, watches, place = 1, False, at + _BUCKET.size + length
        while place + 8 <= at + size:
            kind, step = _PROPERTY.unpack_from(data, place)
            if kind == _WEIGHT:
                (weight,) = struct.unpack_from(">H", data, place + _PROPERTY.size)
            else:
                watches = True
            place += max(step, 8)
        yield Bucket(weight, actions, watches)
        at += max(size, _BUCKET.size)
