"""OpenFlow entries as the kernel's programs look them up: masked headers, and what to do.

A *shape* is a priority and a mask.  A packet meets the shapes of its switch by falling priority; the first
whose masked header is in the map decides.  An entry may send to a group, which chooses one of its slots by
the flow's hash: each bucket has slots by its weight.  What the kernel cannot do (groups of other types, meters,
the controller, fields beyond those of :data:`HEADER`) is LEFT_TO_SWITCH, and so is every packet that meets
such an entry first; packets that meet none are the switch's as well.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from controller.rules import Rule
from dcnlab.lab.switchpath.monitor import Entry, Group, Key

#: Destination and source, EtherType, the interface's index, IPv4 destination.
HEADER = struct.Struct("=6s6s2s2xI4s")
#: The interface to leave by, what to do, packets and bytes so far, new destination and source.
ACTION = struct.Struct("=IIQQ6s6s4x")
OUT_AT, FLAGS_AT, PACKETS_AT, BYTES_AT, ADDRESSES_AT = 0, 4, 8, 16, 24
#: Forward; also to where it came from; only to there; write the destination or the source; by a group, whose
#: number of slots is in place of the interface and whose own number is in that of the destination.
FORWARD, HAIRPIN, TO_IN_PORT, SET_DESTINATION, SET_SOURCE, BY_GROUP = 1, 2, 4, 8, 16, 32
#: A group and a slot of it, in place of a header.
SLOT = struct.Struct(f"=II{HEADER.size - 8}x")
#: Slots of a group whose weights have no smaller common measure.
_MOST_SLOTS = 256

_OXM = struct.Struct(">HBB")
_OPENFLOW, _NICIRA = 0x8000, 0x0000
_IN_PORT, _ETH_DST, _ETH_SRC, _ETH_TYPE, _IPV4_DST = 0, 3, 4, 5, 12
#: Where a field lies in a header; the port needs translation.
_PLACES = {_ETH_DST: 0, _ETH_SRC: 6, _ETH_TYPE: 12, _IN_PORT: 16, _IPV4_DST: 20}
_APPLY_ACTIONS, _OUTPUT, _GROUP, _SET_FIELD = 4, 0, 22, 25
_SELECT, _INDIRECT = 1, 2
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


@dataclass(frozen=True, slots=True)
class Lookup:
    """Actions by shape and masked header, and those of groups by their :data:`SLOT`."""

    entries: Mapping[tuple[Shape, bytes], Action]
    slots: Mapping[bytes, Action]


def lower(table: Mapping[Key, Entry], groups: Mapping[int, Group], interfaces: Mapping[int, int]) -> Lookup:
    """The entries of a switch's first table, and its groups; ``interfaces`` gives the index of each port's
    interface."""
    found: dict[tuple[Shape, bytes], Action] = {}
    chosen = {number: _slots(group, interfaces) for number, group in groups.items()}
    for key, entry in table.items():
        if key.table:
            continue  # reached from the first table only, whose entry is then left to the switch
        value, mask, exact = _match(key.match, interfaces)
        place = Shape(key.priority, mask), value
        # An entry that compares more than is possible here catches what it might catch, and leaves it.
        known = exact and place not in found
        found[place] = _instructions(entry, chosen, interfaces) if known else LEFT_TO_SWITCH
    slots = {
        SLOT.pack(group, number): action
        for group, actions in chosen.items()
        for number, action in enumerate(actions)
    }
    return Lookup(found, slots)


def _slots(group: Group, interfaces: Mapping[int, int]) -> Sequence[Action]:
    """What is done in each slot of a group: flows are spread evenly over slots.  Empty where the kernel
    cannot."""
    buckets = [bucket for bucket in group.buckets if bucket.weight or group.kind == _INDIRECT]
    actions = [_action(bucket.actions, interfaces) for bucket in buckets]
    if group.kind not in (_SELECT, _INDIRECT) or not all(action.flags for action in actions):
        return ()
    if any(bucket.watches for bucket in buckets):  # it depends on whether that is alive
        return ()
    weights = [bucket.weight for bucket in buckets] if group.kind == _SELECT else [1] * len(buckets)
    return [action for action, count in zip(actions, _shares(weights), strict=True) for _ in range(count)]


def _shares(weights: Sequence[int]) -> list[int]:
    """How many slots each weight gets: exactly in proportion where few are enough, else the nearest."""
    whole, measure = sum(weights), math.gcd(*weights)
    if not whole or whole // measure <= _MOST_SLOTS:
        return [weight // (measure or 1) for weight in weights]
    ends = [_MOST_SLOTS * sum(weights[: number + 1]) // whole for number in range(len(weights))]
    return [end - start for start, end in zip([0, *ends], ends, strict=False)]


def place(rule: Rule, interfaces: Mapping[int, int]) -> tuple[Shape, bytes]:
    """The shape and the masked header of a rule of the lab's controller."""
    match = rule.match
    index = interfaces.get(match.in_port, 0)
    value = _header(match.eth_dst.value, match.eth_src.value, match.eth_type, index, match.ipv4_dst.value)
    kind, port = 0xFFFF * bool(match.eth_type), 0xFFFFFFFF * bool(match.in_port)
    mask = _header(match.eth_dst.mask, match.eth_src.mask, kind, port, match.ipv4_dst.mask)
    return Shape(rule.priority, mask), value


def place_of(priority: int, match: bytes, interfaces: Mapping[int, int]) -> tuple[Shape, bytes] | None:
    """The same by the fields of a match; None where it compares what the kernel does not."""
    value, mask, exact = _match(match, interfaces)
    return (Shape(priority, mask), value) if exact else None


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


def _instructions(entry: Entry, slots: Mapping[int, Sequence[Action]], interfaces: Mapping[int, int]) -> Action:
    """What an entry does, or LEFT_TO_SWITCH; ``slots`` are those of each group."""
    words = entry.instructions
    if entry.idle_timeout or len(words) < 16:  # it would expire while the kernel uses it; or it drops
        return LEFT_TO_SWITCH
    kind, size = struct.unpack_from(">HH", words)
    if kind != _APPLY_ACTIONS or size != len(words):
        return LEFT_TO_SWITCH
    action, length, group = struct.unpack_from(">HHI", words, 8)
    if action == _GROUP and length == size - 8:
        count = len(slots.get(group, ()))
        number = struct.pack("=I2x", group)
        return Action(BY_GROUP, count, number) if count else LEFT_TO_SWITCH
    return _action(words[8:], interfaces)


def _action(words: bytes, interfaces: Mapping[int, int]) -> Action:
    """What a list of actions does, or LEFT_TO_SWITCH."""
    flags, written, at, size = 0, {_ETH_DST: bytes(6), _ETH_SRC: bytes(6)}, 0, len(words)
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
