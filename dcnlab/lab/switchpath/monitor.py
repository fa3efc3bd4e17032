"""Open vSwitch's flow monitor over OpenFlow 1.3: first every entry of a switch, then every change.

``ovs-ofctl monitor BRIDGE watch:`` prints the same.  Bytes in, changes out: no sockets here.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

_HEADER = struct.Struct(">BBHI")
_VERSION = 4
_HELLO, _ERROR, _ECHO_REQUEST, _ECHO_REPLY, _EXPERIMENTER = 0, 1, 2, 3, 4
_MULTIPART_REQUEST, _MULTIPART_REPLY, _BARRIER_REQUEST, _BARRIER_REPLY = 18, 19, 20, 21
#: The Open Networking Foundation's extensions of OpenFlow 1.3: flow monitors.
_MULTIPART = struct.Struct(">HH4xII")
_ANY_EXPERIMENTER, _ONF, _FLOW_MONITOR = 0xFFFF, 0x4F4E4600, 1870
#: Monitor 0: the entries of all tables, additions, deletions, changes, all with actions.
_REQUEST = struct.pack(">IHHIB3x", 0, 0x3F, 4, 0xFFFFFFFF, 0xFF) + struct.pack(">HH4x", 1, 4)
#: Length, event, reason, priority, timeouts, length of the match, table, cookie.
_UPDATE = struct.Struct(">HHHHHHHBxQ")
_UPDATE_HEAD = struct.Struct(">HH")
_ADDED, _DELETED, _MODIFIED = 0, 1, 2


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


#: An entry that is there now, or None where it was deleted.
Change = tuple[Key, Entry | None]


def hello() -> bytes:
    """What a connection begins with: the version, and the request of a monitor."""
    body = _MULTIPART.pack(_ANY_EXPERIMENTER, 0, _ONF, _FLOW_MONITOR) + _REQUEST
    return _message(_HELLO) + _message(_MULTIPART_REQUEST, body)


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

    def feed(self, data: bytes) -> Iterator[Change]:
        """The changes in bytes from the switch; MonitorError where there will be no more."""
        self._received += data
        while len(self._received) >= _HEADER.size:
            _, kind, size, number = _HEADER.unpack_from(self._received)
            if len(self._received) < size:
                return
            body, self._received = self._received[_HEADER.size : size], self._received[size:]
            if kind in (_ERROR, _EXPERIMENTER):  # refused, or paused since we read too slowly
                raise MonitorError(f"the switch ends the flow monitor (message type {kind})")
            if kind == _ECHO_REQUEST:
                self.replies += _message(_ECHO_REPLY, body, number)
            elif kind == _BARRIER_REPLY:
                self.barrier = number
            elif kind == _MULTIPART_REPLY:
                yield from _changes(body)


def _message(kind: int, body: bytes = b"", number: int = 0) -> bytes:
    return _HEADER.pack(_VERSION, kind, _HEADER.size + len(body), number) + body


def _changes(body: bytes) -> Iterator[Change]:
    if _MULTIPART.unpack_from(body)[2:] != (_ONF, _FLOW_MONITOR):
        return
    at = _MULTIPART.size
    while at + _UPDATE_HEAD.size <= len(body):
        size, event = _UPDATE_HEAD.unpack_from(body, at)
        if event in (_ADDED, _DELETED, _MODIFIED):
            yield _change(body[at : at + size])
        at += max(size, _UPDATE_HEAD.size)


def _change(update: bytes) -> Change:
    _, event, _, priority, idle, _, size, table, _ = _UPDATE.unpack_from(update)
    end = _UPDATE.size + (size + 7) // 8 * 8
    key = Key(table, priority, update[_UPDATE.size + 4 : _UPDATE.size + size])
    return key, None if event == _DELETED else Entry(update[end:], idle)
