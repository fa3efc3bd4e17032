"""OpenFlow messages of a switch with what the lab knows better: packets that the kernel has forwarded for it,
and the rates of its links.  Pure; messages keep their sizes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from controller import conversation

_STATISTICS_10, _STATISTICS_13, _EXPERIMENTER = 12, 16, struct.Struct("!II4x")
#: Nicira's extension of OpenFlow 1.0: flow statistics with a flexible match.
_NICIRA_FLOW = 0x2320, 0
_COUNT, _UNKNOWN = struct.Struct("!Q"), (1 << 64) - 1
#: Lookups and matches in a table's statistics, and the size of these.
_TABLE_13, _TABLE_10 = (8, 24), (48, 64)
#: A port of OpenFlow 1.3: number, features now, speeds in kbit/s now and at most; and since 1.4.
_PORT_SIZE_13, _CURRENT_13, _SPEEDS_13 = 64, 40, 56
_PROPERTIES, _ETHERNET, _CURRENT_14, _SPEEDS_14 = 40, 0, 8, 24
_PORT_STATUS_AT = 16
#: The features that stand for a rate, full duplex, by kbit/s; another rate; all of them.
_RATES = {
    10**4: 1 << 1,
    10**5: 1 << 3,
    10**6: 1 << 5,
    10**7: 1 << 6,
    4 * 10**7: 1 << 7,
    10**8: 1 << 8,
    10**9: 1 << 9,
}
_OTHER_RATE, _ANY_RATE = 1 << 10, (1 << 11) - 1
#: A header of a match's field: class, number and whether there is a mask, size.
_FIELD, _BASIC = struct.Struct("!HBB"), 0x8000
_IN_PORT, _ETH_DST, _ETH_SRC, _ETH_TYPE, _IPV4_DST, _VLAN = 0, 3, 4, 5, 12, 6
#: Nicira's numbers of these fields.
_OF_NICIRA = {0: _IN_PORT, 1: _ETH_DST, 2: _ETH_SRC, 3: _ETH_TYPE, 8: _IPV4_DST}
#: OpenFlow 1.0's match: the bit that leaves a field out, its place and size.  All bits of the others, those of
#: addresses' masks included, and the bits of IPv4 destinations that are not compared.
_STRUCTURE = {_IN_PORT: (0, 4, 2), _ETH_DST: (3, 12, 6), _ETH_SRC: (2, 6, 6), _ETH_TYPE: (4, 22, 2)}
_OTHER_FIELDS, _ALL_OF_SOURCE, _TARGET_SHIFT, _TARGET_AT = 0x3000E2, 0x2000, 14, 32


@dataclass(frozen=True)
class _Layout:
    """Where the description of an entry has its parts; counters at 0 are in a list behind the match."""

    table: int
    priority: int
    match: int
    counts: int


_FLOW_10, _FLOW_NICIRA, _FLOW_13 = _Layout(2, 52, 4, 72), _Layout(2, 12, 48, 32), _Layout(2, 12, 48, 32)
_FLOW_15, _REMOVED_13, _REMOVED_15 = _Layout(4, 6, 24, 0), _Layout(19, 16, 48, 32), _Layout(8, 10, 24, 0)
_NICIRA_SIZE_AT, _SMALLEST = 18, 32
#: OpenFlow 1.5's lists of statistics: their class, and the numbers of packets and bytes.
_STATISTIC, _PACKETS, _BYTES = 0x8002, 4, 5


@dataclass(frozen=True)
class _Entry:
    """An entry of which a message speaks, and where that has its counters."""

    table: int
    priority: int
    match: bytes
    packets_at: int
    bytes_at: int


class Known(Protocol):
    """What the lab knows of a switch."""

    def counts(self, table: int, priority: int, match: bytes, removed: bool) -> tuple[int, int]:
        """Packets and bytes that the kernel has forwarded by an entry, its match in OpenFlow 1.3's fields."""

    def total(self) -> int:
        """Packets that the kernel has forwarded for the switch."""

    def speed(self, port: int) -> int:
        """The rate of a port's link in kbit/s; 0 where it has none."""


def corrected(message: bytes, known: Known, flows: Iterable[bytes] = ()) -> bytes:
    """A message of a switch as it should be; one about an aggregate needs the answers about its ``flows``."""
    changed = bytearray(message)
    version, kind = message[:2]
    if kind == conversation.FLOW_REMOVED and version != 1:
        entry = _entry(message, 0, _REMOVED_15 if version == 6 else _REMOVED_13)
        _add(changed, entry, known.counts(entry.table, entry.priority, entry.match, True))
    elif kind == conversation.PORT_STATUS and version != 1:
        _set_speed(changed, _PORT_STATUS_AT, version, known)
    elif kind == conversation.statistics_request(version) + 1:
        _correct_statistics(changed, version, known, flows)
    return bytes(changed)


def _correct_statistics(message: bytearray, version: int, known: Known, flows: Iterable[bytes]) -> None:
    begin = _STATISTICS_10 if version == 1 else _STATISTICS_13
    match int.from_bytes(message[8:10], "big"):
        case conversation.FLOW | conversation.EXPERIMENTER:
            for entry in _entries(bytes(message), version):
                _add(message, entry, known.counts(entry.table, entry.priority, entry.match, False))
        case conversation.AGGREGATE:
            packets_at, bytes_at = _in_list(message, begin) if version == 6 else (begin, begin + 8)
            for entry in (entry for answer in flows for entry in _entries(answer, version)):
                counts = known.counts(entry.table, entry.priority, entry.match, False)
                _add(message, replace(entry, packets_at=packets_at, bytes_at=bytes_at), counts)
        case conversation.TABLE:
            place, size = _TABLE_10 if version == 1 else _TABLE_13
            total = known.total()
            for at in range(begin, len(message), size):
                if message[at] == 0:
                    _increase(message, at + place, total)
                    _increase(message, at + place + 8, total)
        case conversation.PORT_DESC if version != 1:
            at = begin
            while at < len(message):
                _set_speed(message, at, version, known)
                at += _PORT_SIZE_13 if version < 5 else max(8, int.from_bytes(message[at + 4 : at + 6], "big"))


def _entries(message: bytes, version: int) -> Iterator[_Entry]:
    """The entries in flow statistics."""
    begin = _STATISTICS_10 if version == 1 else _STATISTICS_13
    layout = {1: _FLOW_10, 6: _FLOW_15}.get(version, _FLOW_13)
    if int.from_bytes(message[8:10], "big") == conversation.EXPERIMENTER:
        if version != 1 or _EXPERIMENTER.unpack_from(message, begin) != _NICIRA_FLOW:
            return
        begin, layout = begin + _EXPERIMENTER.size, _FLOW_NICIRA
    while begin + _SMALLEST <= len(message):
        yield _entry(message, begin, layout)
        begin += max(_SMALLEST, int.from_bytes(message[begin : begin + 2], "big"))


def _entry(message: bytes, begin: int, layout: _Layout) -> _Entry:
    """The entry of which a message speaks from ``begin`` on."""
    at = begin + layout.match
    if layout is _FLOW_10:
        match = _from_structure(message[at : at + 40])
    elif layout is _FLOW_NICIRA:
        size = int.from_bytes(message[begin + _NICIRA_SIZE_AT : begin + _NICIRA_SIZE_AT + 2], "big")
        match = _from_nicira(message[at : at + size])
    else:
        match = _match(message, at)
    if layout.counts:
        packets_at, bytes_at = begin + layout.counts, begin + layout.counts + 8
    else:
        packets_at, bytes_at = _in_list(message, at + (len(match) + 4 + 7) // 8 * 8)
    priority = int.from_bytes(message[begin + layout.priority : begin + layout.priority + 2], "big")
    return _Entry(message[begin + layout.table], priority, match, packets_at, bytes_at)


def _in_list(message: bytes | bytearray, begin: int) -> tuple[int, int]:
    """Where a list of statistics has packets and bytes; 0 for what it does not have."""
    counts = {_PACKETS: 0, _BYTES: 0}
    at, end = begin + 4, begin + int.from_bytes(message[begin + 2 : begin + 4], "big")
    while at + _FIELD.size <= end:
        kind, number, size = _FIELD.unpack_from(message, at)
        if kind == _STATISTIC and number >> 1 in counts:
            counts[number >> 1] = at + _FIELD.size
        at += _FIELD.size + size
    return counts[_PACKETS], counts[_BYTES]


def _add(message: bytearray, entry: _Entry, counts: tuple[int, int]) -> None:
    _increase(message, entry.packets_at, counts[0])
    _increase(message, entry.bytes_at, counts[1])


def _increase(message: bytearray, at: int, number: int) -> None:
    (here,) = _COUNT.unpack_from(message, at)
    if at and here != _UNKNOWN:
        _COUNT.pack_into(message, at, here + number)


def _match(message: bytes, at: int) -> bytes:
    """The fields of a match that begins there."""
    return bytes(message[at + 4 : at + int.from_bytes(message[at + 2 : at + 4], "big")])


def _from_nicira(fields: bytes) -> bytes:
    """The fields of Nicira's match in OpenFlow 1.3's form."""
    messages, at = b"", 0
    while at + _FIELD.size <= len(fields):
        kind, number, size = _FIELD.unpack_from(fields, at)
        content = fields[at + _FIELD.size : at + _FIELD.size + size]
        if kind == 0 and number >> 1 in _OF_NICIRA:
            field = _OF_NICIRA[number >> 1]
            messages += _field(field, bytes(2) + content if field == _IN_PORT else content, number & 1)
        else:
            messages += fields[at : at + _FIELD.size] + content
        at += _FIELD.size + size
    return messages


def _from_structure(match: bytes) -> bytes:
    """OpenFlow 1.0's match in OpenFlow 1.3's form; one field stands for all others."""
    wildcards = int.from_bytes(match[:4], "big")
    messages = b""
    for field, (bit, at, size) in _STRUCTURE.items():
        if not wildcards >> bit & 1:
            messages += _field(field, bytes(2 * (field == _IN_PORT)) + match[at : at + size])
    open_bits = min(32, wildcards >> _TARGET_SHIFT & 63)
    if open_bits < 32:
        mask = ((1 << 32) - (1 << open_bits)).to_bytes(4, "big")
        content = match[_TARGET_AT : _TARGET_AT + 4]
        messages += _field(_IPV4_DST, content + mask, 1) if open_bits else _field(_IPV4_DST, content)
    if wildcards & _OTHER_FIELDS != _OTHER_FIELDS or not wildcards & _ALL_OF_SOURCE:
        messages += _field(_VLAN, bytes(2))
    return messages


def _field(number: int, content: bytes, masked: int = 0) -> bytes:
    return _FIELD.pack(_BASIC, number << 1 | masked, len(content)) + content


def _set_speed(message: bytearray, at: int, version: int, known: Known) -> None:
    """Set the rate of the port that is described there, if its link has one."""
    speed = known.speed(int.from_bytes(message[at : at + 4], "big"))
    if not speed:
        return
    current, speeds = at + _CURRENT_13, at + _SPEEDS_13
    if version >= 5:
        current, speeds = at + _PROPERTIES + _CURRENT_14, at + _PROPERTIES + _SPEEDS_14
        if (
            len(message) < speeds + 8
            or int.from_bytes(message[at + _PROPERTIES : current - 6], "big") != _ETHERNET
        ):
            return
    (features,) = struct.unpack_from("!I", message, current)
    struct.pack_into("!I", message, current, features & ~_ANY_RATE | _RATES.get(speed, _OTHER_RATE))
    struct.pack_into("!II", message, speeds, speed, speed)
