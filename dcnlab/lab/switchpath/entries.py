"""OpenFlow entries as the kernel's programs look them up: masked headers, and what to do.

A *shape* is a priority and a mask.  A packet meets the shapes of its switch by falling priority; the first
whose masked header is in the map decides.  What the kernel cannot do (groups, meters, the controller,
fields beyond those of :data:`HEADER`) is LEFT_TO_SWITCH, and so is every packet that meets such an entry
first; packets that meet none are the switch's as well.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from controller.rules import Match
from dcnlab.lab.switchpath.monitor import Entry, Key

#: Destination and source, EtherType, the interface's index, IPv4 destination.
HEADER = struct.Struct("=6s6s2s2xI4s")
#: The interface to leave by, what to do, packets and bytes so far, new destination and source.
ACTION = struct.Struct("=IIQQ6s6s4x")
OUT_AT, FLAGS_AT, PACKETS_AT, BYTES_AT, ADDRESSES_AT = 0, 4, 8, 16, 24
#: Forward; also to where it came from; only to there; write the destination or the source.
FORWARD, HAIRPIN, TO_IN_PORT, SET_DESTINATION, SET_SOURCE = 1, 2, 4, 8, 16

_OXM = struct.Struct(">HBB")
_OPENFLOW, _NICIRA = 0x8000, 0x0000
_IN_PORT, _ETH_DST, _ETH_SRC, _ETH_TYPE, _IPV4_DST = 0, 3, 4, 5, 12
#: Where a field lies in a header; the port needs translation.
_PLACES = {_ETH_DST: 0, _ETH_SRC: 6, _ETH_TYPE: 12, _IN_PORT: 16, _IPV4_DST: 20}
_APPLY_ACTIONS, _OUTPUT, _SET_FIELD = 4, 0, 25
_OUT_IN_PORT = 0xFFFFFFF8
_ALL_PORT_BITS = b"\xff" * 4


@dataclass(frozen=True, slots=True, order=True)
class Shape:
    """The bits that an entry compares, and its priority."""

    priority: int
    mask: bytes


@dataclass(frozen=True, slots=True)
class Action:
    """What is done with a packet; no flags: it is left to the switch."""

    flags: int = 0
    out: int = 0
    destination: bytes = bytes(6)
    source: bytes = bytes(6)

    def packed(self, packets: int = 0, size: int = 0) -> bytes:
        """As a value of the map, with what was counted before."""
        return ACTION.pack(self.out, self.flags, packets, size, self.destination, self.source)


LEFT_TO_SWITCH = Action()
#: Actions by shape and masked header.
Lookup = dict[tuple[Shape, bytes], Action]


def lower(table: Mapping[Key, Entry], interfaces: Mapping[int, int]) -> Lookup:
    """The entries of a switch's first table; ``interfaces`` gives the interface index of each port."""
    found: Lookup = {}
    for key, entry in table.items():
        if key.table:
            continue  # reached from the first table only, whose entry is then left to the switch
        value, mask, exact = _match(key.match, interfaces)
        place = Shape(key.priority, mask), value
        # An entry that compares more than is possible here catches what it might catch, and leaves it.
        action = _action(entry, interfaces) if exact and place not in found else LEFT_TO_SWITCH
        found[place] = action
    return found


def place(priority: int, match: Match, interfaces: Mapping[int, int]) -> tuple[Shape, bytes] | None:
    """The shape and the masked header of an entry; None for one that compares what the kernel does not."""
    if match.ipv6_dst.mask or match.icmpv6_type:
        return None
    index = interfaces.get(match.in_port, 0)
    value = _header(match.eth_dst.value, match.eth_src.value, match.eth_type, index, match.ipv4_dst.value)
    kind, port = 0xFFFF * bool(match.eth_type), 0xFFFFFFFF * bool(match.in_port)
    mask = _header(match.eth_dst.mask, match.eth_src.mask, kind, port, match.ipv4_dst.mask)
    return Shape(priority, mask), value


def _header(destination: int, source: int, kind: int, index: int, target: int) -> bytes:
    addresses = destination.to_bytes(6, "big"), source.to_bytes(6, "big")
    return HEADER.pack(*addresses, kind.to_bytes(2, "big"), index, target.to_bytes(4, "big"))


def _match(match: bytes, interfaces: Mapping[int, int]) -> tuple[bytes, bytes, bool]:
    """Value and mask of a header, and whether they say all that the match says."""
    value, mask, exact = bytearray(HEADER.size), bytearray(HEADER.size), True
    for kind, number, content, bits in _fields(match):
        place = _PLACES.get(number) if kind == _OPENFLOW else None
        if place is None:
            exact = False
            continue
        if number == _IN_PORT:
            index = interfaces.get(int.from_bytes(content, "big"), 0)
            content, bits = struct.pack("=I", index), _ALL_PORT_BITS
        value[place : place + len(content)] = content
        mask[place : place + len(bits)] = bits
    return bytes(value), bytes(mask), exact


def _fields(data: bytes) -> Iterator[tuple[int, int, bytes, bytes]]:
    """(class, field, value, mask) of each OXM field; without a mask all bits count."""
    at = 0
    while at + _OXM.size <= len(data):
        kind, number, size = _OXM.unpack_from(data, at)
        content = data[at + _OXM.size : at + _OXM.size + size]
        half = size // 2
        masked = number & 1
        yield (kind, number >> 1, *((content[:half], content[half:]) if masked else (content, b"\xff" * size)))
        at += _OXM.size + size


def _action(entry: Entry, interfaces: Mapping[int, int]) -> Action:
    """What an entry does, or LEFT_TO_SWITCH."""
    words = entry.instructions
    if entry.idle_timeout or len(words) < 8:  # it would expire while the kernel uses it; or it drops
        return LEFT_TO_SWITCH
    kind, size = struct.unpack_from(">HH", words)
    if kind != _APPLY_ACTIONS or size != len(words):
        return LEFT_TO_SWITCH
    flags, written, at = 0, {_ETH_DST: bytes(6), _ETH_SRC: bytes(6)}, 8
    while at < size:
        kind, length = struct.unpack_from(">HH", words, at)
        last = at + length == size
        if kind == _SET_FIELD:
            flag = _set_field(words[at + 4 : at + length], written)
            if not flag:
                return LEFT_TO_SWITCH
            flags |= flag
        elif kind == _OUTPUT and last:
            return _output(struct.unpack_from(">I", words, at + 4)[0], flags, written, interfaces)
        else:
            return LEFT_TO_SWITCH
        at += length
    return LEFT_TO_SWITCH


def _set_field(data: bytes, written: dict[int, bytes]) -> int:
    """The flag of what is written, and the value into ``written``; 0 for what is not possible."""
    kind, number, size = _OXM.unpack_from(data)
    content = data[_OXM.size : _OXM.size + size]
    if number >> 1 == _IN_PORT and kind in (_OPENFLOW, _NICIRA):
        return HAIRPIN if not any(content) else 0
    if kind == _OPENFLOW and number >> 1 in written and not number & 1:
        written[number >> 1] = content
        return SET_DESTINATION if number >> 1 == _ETH_DST else SET_SOURCE
    return 0


def _output(port: int, flags: int, written: Mapping[int, bytes], interfaces: Mapping[int, int]) -> Action:
    addresses = written[_ETH_DST], written[_ETH_SRC]
    if port == _OUT_IN_PORT and not flags & HAIRPIN:
        return Action(flags | FORWARD | TO_IN_PORT, 0, *addresses)
    if port not in interfaces:
        return LEFT_TO_SWITCH
    return Action(flags | FORWARD, interfaces[port], *addresses)
