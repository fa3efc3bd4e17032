"""The filter: finds the entry of a frame, and notes where the frame goes.

Registers: R6 the context, R7 the slot, R8 the switch's shapes, R9 the present one; then R8 the entry, R9 the
basis of hashes.
"""

from __future__ import annotations

from dcnlab.lab.switchpath import entries
from dcnlab.lab.switchpath.program import (
    ADDRESSES_AT,
    BASIS_AT,
    ETHERNET_SIZE,
    EVERYTHING,
    FLAGS_AT,
    FROM_AT,
    HEADER,
    INTERFACE,
    IP,
    IPV4_SIZE,
    KEY,
    LENGTH,
    LENGTH_AT,
    LOAD_BYTES,
    MAX_SHAPES,
    NO_OPTIONS,
    NOTHING,
    NUMBER,
    OUT_AT,
    PACKET_TYPE,
    PORTS,
    SHAPE,
    SWITCH_AT,
    SWITCH_HEAD,
    TAG_AT,
    TAG_TYPE_AT,
    TIME,
    VLAN,
    VLAN_TCI,
    VLAN_TYPE,
    Descriptors,
)
from hostagent.linux.bpf_assembler import Assembler, Register, Size

R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, FP = Register
WORD, HALF, BYTE, DOUBLE = Size.WORD, Size.HALF, Size.BYTE, Size.DOUBLE
_OUTGOING = 4
#: EtherTypes as they lie in memory; below the first byte 6 it is a length.
_IPV4, _VLAN_TAG, _SERVICE_TAG = (int.from_bytes(b, "little") for b in (b"\x08\0", b"\x81\0", b"\x88\xa8"))
_FIRST_TYPE, _MOST_PADDING = 0x06, 255
#: Protocols whose header begins with ports; the offset of a fragment, and whether more follow.
_WITH_PORTS, _FRAGMENT = (6, 17, 33, 132, 136), int.from_bytes(b"\x3f\xff", "little")
#: An odd number whose products differ in half of their bits.
_MULTIPLIER = 0xD6E8FEB86659FD93
_TYPE, _TCI, _CAME_BY, _TARGET = HEADER + 12, HEADER + 14, HEADER + 16, HEADER + 20
#: Of a tag's control information: drop eligible (in a header: there is a tag); the size of a tag.
_ELIGIBLE, _TAG_SIZE = 0x1000, 4


def socket_filter(maps: Descriptors) -> bytes:
    """The program of the switch's packet sockets."""
    a = Assembler()
    a.set(R6, "=", R1)
    a.load(WORD, R2, R6, PACKET_TYPE)
    a.jump("nothing", R2, "==", _OUTGOING)
    look_up(a, maps)
    a.label("nothing")
    a.exit(NOTHING)
    a.label("everything")
    a.exit(EVERYTHING)
    return a.assemble()


def look_up(a: Assembler, maps: Descriptors) -> None:
    """R7 = the slot, with a note of where the frame of R6 goes; ``everything`` is for what has no entry."""
    a.store(WORD, FP, NUMBER, 0)
    a.look_up(maps.slots, NUMBER, "everything")
    a.set(R7, "=", R0)
    a.store(WORD, R7, OUT_AT, 0)
    _find_switch(a, maps)
    _read_header(a)
    _find_entry(a, maps)
    _choose(a, maps)
    _note(a)


def _load_bytes(a: Assembler, at: int, to: int, size: int) -> None:
    a.set(R1, "=", R6)
    a.set(R2, "=", at)
    a.sum(R3, FP, to)
    a.call(LOAD_BYTES, R1, R2, R3, size)
    a.jump("everything", R0, "!=", 0)


def _find_switch(a: Assembler, maps: Descriptors) -> None:
    """R8 = the shapes of the switch that the frame arrives at."""
    a.load(WORD, R1, R6, INTERFACE)
    a.store(WORD, FP, NUMBER, R1)
    a.look_up(maps.ports, NUMBER, "everything")
    a.load(WORD, R1, R0)
    a.store(WORD, FP, KEY, R1)
    a.store(WORD, FP, NUMBER, R1)
    a.look_up(maps.switches, NUMBER, "everything")
    a.set(R8, "=", R0)


def _read_header(a: Assembler) -> None:
    """The header on the stack as entries see it; what Open vSwitch reads differently is left to it."""
    for place in range(0, entries.HEADER.size, 8):
        a.store(DOUBLE, FP, HEADER + place, 0)
    _load_bytes(a, 0, HEADER, ETHERNET_SIZE)
    a.load(WORD, R1, R6, INTERFACE)
    a.store(WORD, FP, _CAME_BY, R1)
    a.load(WORD, R1, R6, VLAN)
    a.jump("no tag", R1, "==", 0)
    a.load(WORD, R1, R6, VLAN_TCI)
    a.jump("everything", R1, "&", _ELIGIBLE)
    a.set(R1, "|", _ELIGIBLE)
    a.store(BYTE, FP, _TCI + 1, R1)
    a.set(R1, ">>", 8)
    a.store(BYTE, FP, _TCI, R1)
    a.label("no tag")
    a.load(BYTE, R1, FP, _TYPE)
    a.jump("everything", R1, "<", _FIRST_TYPE)
    a.load(HALF, R1, FP, _TYPE)
    for tag in (_VLAN_TAG, _SERVICE_TAG):
        a.jump("everything", R1, "==", tag)
    a.jump("read", R1, "!=", _IPV4)
    _load_bytes(a, ETHERNET_SIZE, IP, IPV4_SIZE)
    a.load(BYTE, R1, FP, IP)
    a.jump("everything", R1, "!=", NO_OPTIONS)
    a.load(BYTE, R1, FP, IP + 2)
    a.set(R1, "<<", 8)
    a.load(BYTE, R2, FP, IP + 3)
    a.set(R1, "|", R2)
    a.jump("everything", R1, "<", IPV4_SIZE)
    a.load(WORD, R2, R6, LENGTH)
    a.set(R2, "-", ETHERNET_SIZE)
    a.set(R2, "-", R1)  # below zero, which is large, where bytes are missing
    a.jump("everything", R2, ">", _MOST_PADDING)
    a.load(WORD, R1, FP, IP + 16)
    a.store(WORD, FP, _TARGET, R1)
    a.label("read")


def _find_entry(a: Assembler, maps: Descriptors) -> None:
    """R0 = the action of the first shape with an entry for the header."""
    a.set(R9, "=", 0)
    a.label("shape")
    a.load(WORD, R1, R8)
    a.jump("everything", R9, ">=", R1)
    a.jump("everything", R9, ">=", MAX_SHAPES)
    a.set(R2, "=", R9)
    a.set(R2, "*", SHAPE.size)
    a.set(R2, "+", R8)
    for place in range(0, entries.HEADER.size, 8):
        a.load(DOUBLE, R3, R2, SWITCH_HEAD.size + place)
        a.load(DOUBLE, R4, FP, HEADER + place)
        a.set(R3, "&", R4)
        a.store(DOUBLE, FP, KEY + 8 + place, R3)
    a.load(WORD, R3, R2, SWITCH_HEAD.size + entries.HEADER.size)
    a.store(WORD, FP, KEY + 4, R3)
    a.set(R9, "+", 1)
    a.look_up(maps.entries, KEY, "shape")


def _choose(a: Assembler, maps: Descriptors) -> None:
    """R8 = the entry at R0, which counts; R0 = its action, or that of the group's slot for this flow."""
    a.load(WORD, R9, R8, BASIS_AT)
    a.set(R8, "=", R0)
    _leave_some(a)
    a.set(R0, "=", R8)
    a.load(WORD, R1, R8, entries.FLAGS_AT)
    with a.where(R1, "&", entries.BY_GROUP):
        a.load(HALF, R1, FP, _TYPE)
        a.jump("everything", R1, "!=", _IPV4)
        _hash(a)
        a.load(WORD, R1, R8, entries.OUT_AT)
        a.set(R0, "*", R1)
        a.set(R0, ">>", 32)
        a.store(WORD, FP, KEY + 4, -1)  # SLOTS
        for place in range(0, entries.HEADER.size, 8):
            a.store(DOUBLE, FP, KEY + 8 + place, 0)
        a.load(WORD, R1, R8, entries.ADDRESSES_AT)
        a.store(WORD, FP, KEY + 8, R1)
        a.store(WORD, FP, KEY + 12, R0)
        a.look_up(maps.entries, KEY, "everything")


def _leave_some(a: Assembler) -> None:
    """Leave a packet to the switch where it should see that the entry at R8 is used."""
    a.load(WORD, R1, R8, entries.INTERVAL_AT)
    a.jump("own", R1, "==", 0)
    a.call(TIME)
    a.load(DOUBLE, R1, R8, entries.SEEN_AT)
    a.set(R2, "=", R0)
    a.set(R2, "-", R1)
    a.load(WORD, R1, R8, entries.INTERVAL_AT)
    a.set(R1, "<<", 20)
    a.jump("own", R2, "<", R1)
    a.store(DOUBLE, R8, entries.SEEN_AT, R0)
    a.jump("everything")
    a.label("own")


def _hash(a: Assembler) -> None:
    """R0 = 32 bits from the flow and R9, the basis: addresses, protocol, and ports where there are any.

    Fragments are hashed without ports, which only the first has.
    """
    a.store(WORD, FP, PORTS, 0)
    a.load(HALF, R1, FP, IP + 6)
    a.jump("read ports", R1, "&", _FRAGMENT)
    a.load(BYTE, R1, FP, IP + 9)
    for protocol in _WITH_PORTS:
        a.jump("ports", R1, "==", protocol)
    a.jump("read ports")
    a.label("ports")
    _load_bytes(a, ETHERNET_SIZE + IPV4_SIZE, PORTS, 4)
    a.label("read ports")
    a.constant(R2, _MULTIPLIER)
    a.load(WORD, R0, FP, IP + 12)
    a.set(R0, "<<", 32)
    a.load(WORD, R1, FP, IP + 16)
    a.set(R0, "|", R1)
    _mix(a)
    a.set(R0, "+", R9)
    _mix(a)
    a.load(WORD, R1, FP, PORTS)
    a.set(R0, "+", R1)
    a.load(BYTE, R1, FP, IP + 9)
    a.set(R1, "<<", 32)
    a.set(R0, "+", R1)
    _mix(a)
    a.set(R0, "*", R2)
    a.set(R0, ">>", 32)


def _mix(a: Assembler) -> None:
    """Every bit of R0 reaches every other; R2 is the multiplier, R1 lost."""
    a.set(R0, "*", R2)
    a.set(R1, "=", R0)
    a.set(R1, ">>", 32)
    a.set(R0, "^", R1)


def _note(a: Assembler) -> None:
    """Write the action at R0 into the slot, and count at R8; the switch's own where it cannot be done."""
    a.load(WORD, R1, R0, entries.FLAGS_AT)
    a.jump("everything", R1, "==", 0)
    _check_ttl(a)
    _note_tag(a)
    a.load(WORD, R2, R0, entries.OUT_AT)
    a.load(WORD, R3, R6, INTERFACE)
    a.jump("dropping", R1, "&", entries.DROP)
    a.jump("out", R1, "&", entries.COPIES)
    a.jump("back", R1, "&", entries.TO_IN_PORT)
    a.jump("out", R1, "&", entries.HAIRPIN)
    a.jump("everything", R2, "==", R3)
    a.jump("out")
    a.label("dropping")
    a.set(R2, "=", 1)
    a.jump("out")
    a.label("back")
    a.set(R2, "=", R3)
    a.label("out")
    a.load(WORD, R4, FP, KEY)
    a.store(WORD, R7, SWITCH_AT, R4)
    a.store(WORD, R7, FLAGS_AT, R1)
    a.store(WORD, R7, FROM_AT, R3)
    a.load(WORD, R3, R6, LENGTH)
    a.store(WORD, R7, LENGTH_AT, R3)
    for place in range(0, 12, 4):
        a.load(WORD, R4, R0, entries.ADDRESSES_AT + place)
        a.store(WORD, R7, ADDRESSES_AT + place, R4)
    a.store(WORD, R7, OUT_AT, R2)
    a.load(WORD, R4, R6, VLAN)
    a.jump("counted", R4, "==", 0)
    a.set(R3, "+", _TAG_SIZE)
    a.label("counted")
    a.atomic_add(R8, entries.BYTES_AT, R3)
    a.set(R3, "=", 1)
    a.atomic_add(R8, entries.PACKETS_AT, R3)


def _check_ttl(a: Assembler) -> None:
    """Leave to the switch what cannot be decremented; R1 has the flags, and R0 is kept."""
    with a.where(R1, "&", entries.DECREMENT_TTL):
        a.load(HALF, R2, FP, _TYPE)
        a.jump("everything", R2, "!=", _IPV4)
        a.load(BYTE, R2, FP, IP + 8)
        a.jump("everything", R2, "<=", 1)


def _note_tag(a: Assembler) -> None:
    """Note the tag that the frame leaves with; R1 has the flags, R0 is kept.

    Left to the switch are a tag on a tag, and bits of a tag that is not there.
    """
    a.jump("new tag", R1, "&", entries.PUSH_TAG)
    a.jump("tag noted")
    a.label("new tag")
    a.load(WORD, R2, R6, VLAN)
    a.load(HALF, R3, R0, entries.TAG_AT)
    a.jump("own tag", R1, "&", entries.POP_TAG)
    a.jump("everything", R2, "!=", 0)
    a.load(HALF, R4, R0, entries.TAG_TYPE_AT)
    a.jump("note tag")
    a.label("own tag")
    a.jump("everything", R2, "==", 0)
    a.load(WORD, R2, R6, VLAN_TCI)
    a.load(HALF, R4, R0, entries.KEPT_AT)
    a.set(R2, "&", R4)
    a.set(R3, "|", R2)
    a.load(WORD, R4, R6, VLAN_TYPE)
    a.label("note tag")
    a.store(WORD, R7, TAG_AT, R3)
    a.store(WORD, R7, TAG_TYPE_AT, R4)
    a.label("tag noted")
