"""OpenFlow entries as the kernel's programs look them up: masked headers, and what to do.

A *shape* is a priority and a mask.  A packet meets the shapes of its switch by falling priority; the first
whose masked header is in the map decides.  An entry may send to a group, which chooses one of its slots by
the flow's hash: each bucket has slots by its weight.  Where an entry or a group sends copies, each copy has
a slot.  What the kernel cannot do (meters, the controller, fields beyond those of :data:`HEADER`) is
LEFT_TO_SWITCH, and so is every packet that meets such an entry first; packets that meet none are the
switch's as well.  An entry that expires when idle leaves a packet to the switch now and then, which so sees
that it is used.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from controller.rules import Rule
from dcnlab.lab.switchpath.monitor import Bucket, Entry, Group, Key

#: Destination and source, EtherType, the tag's control information (0: no tag), the interface's index, IPv4
#: destination.
HEADER = struct.Struct("=6s6s2s2sI4s")
#: The interface to leave by, what to do, packets and bytes so far, when the switch last got a packet (ns), new
#: destination and source, after how many times 2**20 ns it gets one again (0: never); of a tag, the new bits of
#: its control information, those that it keeps, and its EtherType.
ACTION = struct.Struct("=IIQQQ6s6sIHH2s2x")
OUT_AT, FLAGS_AT, PACKETS_AT, BYTES_AT, SEEN_AT, ADDRESSES_AT, INTERVAL_AT = 0, 4, 8, 16, 24, 32, 44
TAG_AT, KEPT_AT, TAG_TYPE_AT = 48, 50, 52
#: Forward; also to where it came from; only to there; write the destination or the source; by a group, whose
#: number of slots is in place of the interface and whose own number is in that of the destination; to all slots
#: of a group, or of a list of copies, in the same places; decrement the TTL; drop; take the tag off; put
#: one on, which with the former rewrites a frame's own.
FORWARD, HAIRPIN, TO_IN_PORT, SET_DESTINATION, SET_SOURCE, BY_GROUP = 1, 2, 4, 8, 16, 32
COPIES, DECREMENT_TTL, DROP, POP_TAG, PUSH_TAG = 64, 128, 256, 512, 1024
#: The number of a group or of a list of copies, a slot, and which of both it is; in place of a header.
SLOT = struct.Struct(f"=III{HEADER.size - 12}x")
OF_GROUP, OF_LIST = 0, 1
#: Most copies of a packet.
MOST_COPIES = 32
#: An entry that expires when idle shows the switch a packet at least four times meanwhile, and once a second.
_LOOKS, _MOST_INTERVAL = 4, 954
#: Slots of a group whose weights have no smaller common measure.
_MOST_SLOTS = 256

_OXM = struct.Struct(">HBB")
_OPENFLOW, _NICIRA = 0x8000, 0x0000
_IN_PORT, _ETH_DST, _ETH_SRC, _ETH_TYPE, _VLAN_ID, _VLAN_PRIORITY, _IPV4_DST = 0, 3, 4, 5, 6, 7, 12
#: Where a field lies in a header; the port and a tag's priority need translation.
_PLACES = {_ETH_DST: 0, _ETH_SRC: 6, _ETH_TYPE: 12, _VLAN_ID: 14, _VLAN_PRIORITY: 14, _IN_PORT: 16}
_PLACES[_IPV4_DST] = 20
_APPLY_ACTIONS, _OUTPUT, _PUSH, _POP, _GROUP, _DECREMENT, _SET_FIELD = 4, 0, 17, 18, 22, 24, 25
_ORDER_OF_SET = (_POP, _PUSH, _DECREMENT, _SET_FIELD, _OUTPUT)
#: Bits of a tag's control information: whether there is one, its number, its priority.
_PRESENT, _ID_BITS, _PRIORITY_BITS = 0x1000, 0x0FFF, 0xE000
_ALL, _SELECT, _INDIRECT, _FAST_FAILOVER = 0, 1, 2, 3
_OUT_IN_PORT = 0xFFFFFFF8
_ALL_PORT_BITS = b"\xff" * 4


@dataclass(frozen=True, slots=True, order=True)
class Shape:
    """The bits that an entry compares, and its priority."""

    priority: int
    mask: bytes


@dataclass(frozen=True, slots=True)
class Tag:
    """A VLAN tag's control information after a change: new bits, and which of the old ones are kept; the
    EtherType of one that is put on."""

    bits: int = 0
    kept: int = 0
    kind: bytes = bytes(2)

    def with_bits(self, bits: int, mask: int) -> Tag:
        """Replace the bits under the mask by these."""
        return replace(self, bits=self.bits & ~mask | bits, kept=self.kept & ~mask)


@dataclass(frozen=True, slots=True)
class Action:
    """What is done with a packet; no flags: it is left to the switch."""

    flags: int = 0
    out: int = 0
    destination: bytes = bytes(6)
    source: bytes = bytes(6)
    #: After how many times 2**20 ns the switch gets a packet again; 0: never.
    interval: int = 0
    tag: Tag | None = None

    def packed(self, packets: int = 0, size: int = 0) -> bytes:
        """Pack it as a value of the map, with what was counted before."""
        tag = self.tag or Tag()
        rest = self.destination, self.source, self.interval, tag.bits, tag.kept, tag.kind
        return ACTION.pack(self.out, self.flags, packets, size, 0, *rest)


LEFT_TO_SWITCH = Action()
Actions = tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class Lookup:
    """Actions by shape and masked header, and those of groups and lists by their :data:`SLOT`."""

    entries: Mapping[tuple[Shape, bytes], Action]
    slots: Mapping[bytes, Action]


def lower(
    table: Mapping[Key, Entry],
    groups: Mapping[int, Group],
    interfaces: Mapping[int, int],
    live: Container[int] = (),
) -> Lookup:
    """The entries of a switch's first table, and its groups; ``interfaces`` gives the index of each port's
    interface, ``live`` are the ports with a carrier."""
    kernel_entries: dict[tuple[Shape, bytes], Action] = {}
    lists: dict[Actions, int] = {}
    slots = {number: _slots(group, groups, interfaces, live) for number, group in groups.items()}
    by_group = {number: _by_group(number, group, slots[number]) for number, group in groups.items()}
    for key, entry in table.items():
        if key.table:
            continue  # reached from the first table only, whose entry is then left to the switch
        value, mask, exact = _match(key.match, interfaces)
        place = Shape(key.priority, mask), value
        # An entry that compares more than is possible here catches what it might catch, and leaves it.
        known = exact and place not in kernel_entries
        kernel_entries[place] = _instructions(entry, by_group, interfaces, lists) if known else LEFT_TO_SWITCH
    placed = [(number, OF_GROUP, actions) for number, actions in slots.items()]
    placed += [(number, OF_LIST, actions) for actions, number in lists.items()]
    return Lookup(
        kernel_entries,
        {
            SLOT.pack(number, slot, kind): action
            for number, kind, actions in placed
            for slot, action in enumerate(actions)
        },
    )


def _slots(
    group: Group, groups: Mapping[int, Group], interfaces: Mapping[int, int], live: Container[int]
) -> Sequence[Action]:
    """What is done in each slot of a group: flows are spread evenly over slots.  Empty where the kernel
    cannot."""
    buckets = [one for one in group.buckets if _is_alive(one, groups, live)]
    if group.kind == _SELECT:
        buckets = [one for one in buckets if one.weight]
    if group.kind == _FAST_FAILOVER:
        buckets = buckets[:1]
    actions = [_of_bucket(bucket.actions, interfaces) for bucket in buckets]
    if not all(action.flags for action in actions):
        return ()
    weights = [bucket.weight for bucket in buckets] if group.kind == _SELECT else [1] * len(buckets)
    return [action for action, count in zip(actions, _shares(weights), strict=True) for _ in range(count)]


def _is_alive(
    bucket: Bucket, groups: Mapping[int, Group], live: Container[int], within: frozenset[int] = frozenset()
) -> bool:
    """Whether a bucket may be chosen: it watches nothing, or a live port, or a group with such a bucket."""
    if bucket.watched_port is None and bucket.watched_group is None:
        return True
    if bucket.watched_port in live:
        return True
    number = bucket.watched_group
    if number is None or number not in groups or number in within:
        return False
    return any(_is_alive(one, groups, live, within | {number}) for one in groups[number].buckets)


def _by_group(number: int, group: Group, slots: Sequence[Action]) -> Action:
    """What an entry does that sends to a group."""
    if not slots or group.kind not in (_ALL, _SELECT, _INDIRECT, _FAST_FAILOVER):
        return LEFT_TO_SWITCH
    return _to_all(number, OF_GROUP, slots) if group.kind == _ALL else _to(number, OF_GROUP, slots, BY_GROUP)


def _to_all(number: int, kind: int, copies: Sequence[Action]) -> Action:
    """Send copies; only where the TTL and the tag of all change alike, since they differ in addresses only."""
    alike = {(copy.flags & (DECREMENT_TTL | POP_TAG | PUSH_TAG), copy.tag) for copy in copies}
    if len(alike) != 1 or len(copies) > MOST_COPIES:
        return LEFT_TO_SWITCH
    flags, tag = alike.pop()
    return replace(_to(number, kind, copies, COPIES | flags), tag=tag)


def _to(number: int, kind: int, slots: Sequence[Action], flags: int) -> Action:
    return Action(flags, len(slots), struct.pack("=IH", number, kind))


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
    """Return shape and masked header of a match's fields; None where it compares what the kernel does not."""
    value, mask, exact = _match(match, interfaces)
    return (Shape(priority, mask), value) if exact else None


def _header(destination: int, source: int, kind: int, index: int, target: int) -> bytes:
    addresses = destination.to_bytes(6, "big"), source.to_bytes(6, "big")
    return HEADER.pack(*addresses, kind.to_bytes(2, "big"), bytes(2), index, target.to_bytes(4, "big"))


def _match(match: bytes, interfaces: Mapping[int, int]) -> tuple[bytes, bytes, bool]:
    """Return the value and the mask of a header, and whether they say all that the match says."""
    value, mask, exact = bytearray(HEADER.size), bytearray(HEADER.size), True
    for kind, number, content, bits in _fields(match):
        place = _PLACES.get(number) if kind == _OPENFLOW else None
        if place is None:
            exact = False
            continue
        if number == _IN_PORT:
            index = interfaces.get(int.from_bytes(content, "big"), 0)
            content, bits = struct.pack("=I", index), _ALL_PORT_BITS
        elif number == _VLAN_ID:
            bits = bytes((bits[0] & 0x1F, bits[1]))
        elif number == _VLAN_PRIORITY:  # beside the number, which comes before it
            content, bits = bytes((value[place] | content[0] << 5,)), bytes((mask[place] | 0xE0,))
        value[place : place + len(content)] = content
        mask[place : place + len(bits)] = bits
    return bytes(value), bytes(mask), exact


def _fields(data: bytes) -> Iterator[tuple[int, int, bytes, bytes]]:
    """Yield class, field, value and mask of each OXM field; without a mask all bits count."""
    at = 0
    while at + _OXM.size <= len(data):
        kind, number, size = _OXM.unpack_from(data, at)
        content = data[at + _OXM.size : at + _OXM.size + size]
        half = size // 2
        masked = number & 1
        yield (kind, number >> 1, *((content[:half], content[half:]) if masked else (content, b"\xff" * size)))
        at += _OXM.size + size


def _instructions(
    entry: Entry,
    by_group: Mapping[int, Action],
    interfaces: Mapping[int, int],
    lists: dict[Actions, int],
) -> Action:
    """What an entry does, or LEFT_TO_SWITCH; ``by_group`` is what those do that send to a group, ``lists``
    numbers lists of copies."""
    words, length = entry.instructions, 0
    if words:
        kind, length = struct.unpack_from(">HH", words)
        if kind != _APPLY_ACTIONS or length != len(words):
            return LEFT_TO_SWITCH
    action = _one(words[8:], by_group, interfaces, lists)
    if entry.idle_timeout and action.flags:
        interval = min(_MOST_INTERVAL, entry.idle_timeout * _MOST_INTERVAL // _LOOKS)
        return replace(action, interval=interval)
    return action


def _one(
    data: bytes, by_group: Mapping[int, Action], interfaces: Mapping[int, int], lists: dict[Actions, int]
) -> Action:
    """What actions do as one action: drop, send one packet or copies, or by a group."""
    if not data:
        return Action(DROP)
    kind, size, group = struct.unpack_from(">HHI", data)
    if kind == _GROUP and size == len(data):
        return by_group.get(group, LEFT_TO_SWITCH)
    copies = _copies(data, interfaces)
    if len(copies) > 1:
        return _to_all(lists.setdefault(copies, len(lists)), OF_LIST, copies)
    return copies[0] if copies else LEFT_TO_SWITCH


def _of_bucket(data: bytes, interfaces: Mapping[int, int]) -> Action:
    """What a bucket with one output does, or LEFT_TO_SWITCH.  A bucket is an action set, which has an order of
    its own: only actions that are listed in it mean the same as a list."""
    places = [_ORDER_OF_SET.index(kind) for kind in _kinds(data) if kind in _ORDER_OF_SET]
    copies = _copies(data, interfaces)
    return copies[0] if len(copies) == 1 and places == sorted(places) else LEFT_TO_SWITCH


def _kinds(data: bytes) -> Iterator[int]:
    """The types of actions, in order."""
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from(">HH", data, at)
        yield kind
        at += length


def _copies(data: bytes, interfaces: Mapping[int, int]) -> Actions:
    """What a list of actions sends, in order, each with all that was written before; nothing where the
    kernel cannot."""
    sent, at, copies = Action(), 0, []
    while at < len(data):
        kind, length = struct.unpack_from(">HH", data, at)
        if kind == _OUTPUT:
            (port,) = struct.unpack_from(">I", data, at + 4)
            copies.append(_output(port, sent, interfaces))
            if not copies[-1].flags:
                return ()
        elif (written := _written(kind, data[at + 4 : at + length], sent)) is not None:
            sent = written
        else:
            return ()
        at += length
    return tuple(copies)


def _written(kind: int, data: bytes, sent: Action) -> Action | None:
    """What is sent after an action that writes; None for what is not possible."""
    if kind == _SET_FIELD:
        return _set_field(data, sent)
    if kind == _DECREMENT and not sent.flags & DECREMENT_TTL:
        return replace(sent, flags=sent.flags | DECREMENT_TTL)
    if kind == _POP and not sent.flags & (POP_TAG | PUSH_TAG):
        return replace(sent, flags=sent.flags | POP_TAG)
    if kind == _PUSH and not sent.flags & (POP_TAG | PUSH_TAG):
        return replace(sent, flags=sent.flags | PUSH_TAG, tag=Tag(kind=data[:2]))
    return None


def _set_field(data: bytes, sent: Action) -> Action | None:
    """What is sent after a field is written."""
    kind, number, size = _OXM.unpack_from(data)
    content = data[_OXM.size : _OXM.size + size]
    if number >> 1 == _IN_PORT and kind in (_OPENFLOW, _NICIRA):
        return None if any(content) else replace(sent, flags=sent.flags | HAIRPIN)
    if kind != _OPENFLOW or number & 1:
        return None
    field = number >> 1
    if field == _ETH_DST:
        return replace(sent, flags=sent.flags | SET_DESTINATION, destination=content)
    if field == _ETH_SRC:
        return replace(sent, flags=sent.flags | SET_SOURCE, source=content)
    if field == _VLAN_ID and content[0] & _PRESENT >> 8:
        return _tagged(sent, int.from_bytes(content, "big") & _ID_BITS, _ID_BITS)
    if field == _VLAN_PRIORITY:
        return _tagged(sent, content[0] << 13, _PRIORITY_BITS)
    return None


def _tagged(sent: Action, bits: int, mask: int) -> Action | None:
    """What is sent after bits of the tag are written: of one that was put on, or of the frame's own."""
    if sent.flags & PUSH_TAG and sent.tag is not None:
        return replace(sent, tag=sent.tag.with_bits(bits, mask))
    if sent.flags & POP_TAG:
        return None
    own = Tag(kept=_ID_BITS | _PRIORITY_BITS)
    return replace(sent, flags=sent.flags | POP_TAG | PUSH_TAG, tag=own.with_bits(bits, mask))


def _output(port: int, sent: Action, interfaces: Mapping[int, int]) -> Action:
    if port == _OUT_IN_PORT and not sent.flags & HAIRPIN:
        return replace(sent, flags=sent.flags | FORWARD | TO_IN_PORT)
    if port not in interfaces:
        return LEFT_TO_SWITCH
    return replace(sent, flags=sent.flags | FORWARD, out=interfaces[port])
