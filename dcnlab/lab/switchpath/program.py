"""The two programs of the switch fast path.

The *filter* is attached to Open vSwitch's packet sockets, in place of the one that Open vSwitch attaches
there itself.  It looks the frame up.  A frame that an entry forwards does not enter the socket; the
filter notes in a slot of its processor where it goes.  The *classifier* (tc, ingress) runs next on the
same processor and the same frame, carries out the note and clears it.  One lookup decides, so that no frame
is forwarded twice or by none.

Registers of the filter: R6 the context, R7 the slot, R8 the switch's shapes, R9 the present one; then R8 the
entry, R9 the basis of hashes.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from dcnlab.lab.switchpath import entries
from hostagent.fastpath.assembler import Assembler, Register, Size

R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, FP = Register
WORD, HALF, BYTE, DOUBLE = Size.WORD, Size.HALF, Size.BYTE, Size.DOUBLE

#: Most shapes of a switch's table; a table with more is left to Open vSwitch.
MAX_SHAPES = 32
#: The number of shapes and the basis of hashes; then each shape: mask and number.  All numbers are in the
#: processor's order.
SWITCH_HEAD, SHAPE = struct.Struct("=II"), struct.Struct(f"={entries.HEADER.size}sI4x")
BASIS_AT = 4
SWITCH_SIZE = SWITCH_HEAD.size + MAX_SHAPES * SHAPE.size
#: Keys of entries: switch, number of the shape, masked header.
ENTRY_KEY = struct.Struct(f"=II{entries.HEADER.size}s")
#: Slots of groups are entries of the same map, with this in place of the shape's number.
SLOTS = 0xFFFFFFFF
#: Interface to leave by (0: no note), flags, length and interface of the frame, new addresses.
SLOT = struct.Struct("=IIII12s4x")
_OUT_AT, _FLAGS_AT, _LENGTH_AT, _FROM_AT, _ADDRESSES_AT = 0, 4, 8, 12, 16

#: Helpers of the kernel, by their numbers in linux/bpf.h.
_MAP_LOOKUP, _REDIRECT, _LOAD_BYTES = 1, 23, 26
#: Verdicts: of a filter, of a classifier.
_NOTHING, _EVERYTHING, _NOT_HANDLED = 0, -1, -1
#: Fields of the context (struct __sk_buff).
_LENGTH, _PACKET_TYPE, _VLAN, _INTERFACE, _DATA, _DATA_END = 0, 4, 20, 40, 76, 80
_OUTGOING = 4
_ETHERNET_SIZE, _IPV4_SIZE, _NO_OPTIONS = 14, 20, 0x45
#: EtherTypes as they lie in memory; below the first byte 6 it is a length.
_IPV4, _VLAN_TAG, _SERVICE_TAG = (int.from_bytes(b, "little") for b in (b"\x08\0", b"\x81\0", b"\x88\xa8"))
_FIRST_TYPE, _MOST_PADDING = 0x06, 255
#: Protocols whose header begins with ports; the offset of a fragment, and whether more follow.
_WITH_PORTS, _FRAGMENT = (6, 17, 33, 132, 136), int.from_bytes(b"\x3f\xff", "little")
#: An odd number whose products differ in half of their bits.
_MULTIPLIER = 0xD6E8FEB86659FD93
#: Places on the stack.
_KEY, _HEADER, _NUMBER, _IP, _PORTS = -64, -32, -4, -88, -92
_TYPE, _CAME_BY, _TARGET = _HEADER + 12, _HEADER + 16, _HEADER + 20


@dataclass(frozen=True)
class Descriptors:
    """The maps: switch by interface, shapes by switch, actions, the slot of each processor."""

    ports: int
    switches: int
    entries: int
    slots: int

    @property
    def all(self) -> tuple[int, ...]:
        """Every descriptor, to close them."""
        return self.ports, self.switches, self.entries, self.slots


def socket_filter(maps: Descriptors) -> bytes:
    """The program of the switch's packet sockets."""
    a = Assembler()
    a.set(R6, "=", R1)
    a.load(WORD, R2, R6, _PACKET_TYPE)
    a.jump("nothing", R2, "==", _OUTGOING)
    a.store(WORD, FP, _NUMBER, 0)
    _look_up(a, maps.slots, _NUMBER, "everything")
    a.set(R7, "=", R0)
    a.store(WORD, R7, _OUT_AT, 0)
    _find_switch(a, maps)
    _read_header(a)
    _find_entry(a, maps)
    _choose(a, maps)
    _note(a)
    a.label("nothing")
    a.set(R0, "=", _NOTHING)
    a.exit()
    a.label("everything")
    a.set(R0, "=", _EVERYTHING)
    a.exit()
    return a.assemble()


def classifier(maps: Descriptors) -> bytes:
    """The program at the ingress of the switch's interfaces."""
    a = Assembler()
    a.set(R6, "=", R1)
    a.store(WORD, FP, _NUMBER, 0)
    _look_up(a, maps.slots, _NUMBER, "not handled")
    a.set(R7, "=", R0)
    a.load(WORD, R8, R7, _OUT_AT)
    a.jump("not handled", R8, "==", 0)
    a.store(WORD, R7, _OUT_AT, 0)
    for noted, field in ((_LENGTH_AT, _LENGTH), (_FROM_AT, _INTERFACE)):
        a.load(WORD, R1, R7, noted)
        a.load(WORD, R2, R6, field)
        a.jump("not handled", R1, "!=", R2)
    a.load(WORD, R1, R7, _FLAGS_AT)
    a.jump("written", R1, "&", entries.SET_DESTINATION | entries.SET_SOURCE)
    a.jump("send")
    a.label("written")
    _write_addresses(a)
    a.label("send")
    a.set(R1, "=", R8)
    a.set(R2, "=", 0)
    a.call(_REDIRECT)
    a.exit()
    a.label("not handled")
    a.set(R0, "=", _NOT_HANDLED)
    a.exit()
    return a.assemble()


def _look_up(a: Assembler, table: int, key: int, otherwise: str) -> None:
    """R0 = the value under the key on the stack."""
    a.map(R1, table)
    a.set(R2, "=", FP)
    a.set(R2, "+", key)
    a.call(_MAP_LOOKUP)
    a.jump(otherwise, R0, "==", 0)


def _load_bytes(a: Assembler, at: int, to: int, size: int) -> None:
    a.set(R1, "=", R6)
    a.set(R2, "=", at)
    a.set(R3, "=", FP)
    a.set(R3, "+", to)
    a.set(R4, "=", size)
    a.call(_LOAD_BYTES)
    a.jump("everything", R0, "!=", 0)


def _find_switch(a: Assembler, maps: Descriptors) -> None:
    """R8 = the shapes of the switch that the frame arrives at."""
    a.load(WORD, R1, R6, _VLAN)
    a.jump("everything", R1, "!=", 0)
    a.load(WORD, R1, R6, _INTERFACE)
    a.store(WORD, FP, _NUMBER, R1)
    _look_up(a, maps.ports, _NUMBER, "everything")
    a.load(WORD, R1, R0)
    a.store(WORD, FP, _KEY, R1)
    a.store(WORD, FP, _NUMBER, R1)
    _look_up(a, maps.switches, _NUMBER, "everything")
    a.set(R8, "=", R0)


def _read_header(a: Assembler) -> None:
    """The header on the stack as entries see it; what Open vSwitch reads differently is left to it."""
    for place in range(0, entries.HEADER.size, 8):
        a.store(DOUBLE, FP, _HEADER + place, 0)
    _load_bytes(a, 0, _HEADER, _ETHERNET_SIZE)
    a.load(WORD, R1, R6, _INTERFACE)
    a.store(WORD, FP, _CAME_BY, R1)
    a.load(BYTE, R1, FP, _TYPE)
    a.jump("everything", R1, "<", _FIRST_TYPE)
    a.load(HALF, R1, FP, _TYPE)
    for tag in (_VLAN_TAG, _SERVICE_TAG):
        a.jump("everything", R1, "==", tag)
    a.jump("read", R1, "!=", _IPV4)
    _load_bytes(a, _ETHERNET_SIZE, _IP, _IPV4_SIZE)
    a.load(BYTE, R1, FP, _IP)
    a.jump("everything", R1, "!=", _NO_OPTIONS)
    a.load(BYTE, R1, FP, _IP + 2)
    a.set(R1, "<<", 8)
    a.load(BYTE, R2, FP, _IP + 3)
    a.set(R1, "|", R2)
    a.jump("everything", R1, "<", _IPV4_SIZE)
    a.load(WORD, R2, R6, _LENGTH)
    a.set(R2, "-", _ETHERNET_SIZE)
    a.set(R2, "-", R1)  # below zero, which is large, where bytes are missing
    a.jump("everything", R2, ">", _MOST_PADDING)
    a.load(WORD, R1, FP, _IP + 16)
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
        a.load(DOUBLE, R4, FP, _HEADER + place)
        a.set(R3, "&", R4)
        a.store(DOUBLE, FP, _KEY + 8 + place, R3)
    a.load(WORD, R3, R2, SWITCH_HEAD.size + entries.HEADER.size)
    a.store(WORD, FP, _KEY + 4, R3)
    a.set(R9, "+", 1)
    _look_up(a, maps.entries, _KEY, "shape")


def _choose(a: Assembler, maps: Descriptors) -> None:
    """R8 = the entry at R0, which counts; R0 = its action, or that of the group's slot for this flow."""
    a.load(WORD, R9, R8, BASIS_AT)
    a.set(R8, "=", R0)
    a.load(WORD, R1, R8, entries.FLAGS_AT)
    a.jump("group", R1, "&", entries.BY_GROUP)
    a.jump("chosen")
    a.label("group")
    a.load(HALF, R1, FP, _TYPE)
    a.jump("everything", R1, "!=", _IPV4)
    _hash(a)
    a.load(WORD, R1, R8, entries.OUT_AT)
    a.set(R0, "*", R1)
    a.set(R0, ">>", 32)
    a.store(WORD, FP, _KEY + 4, -1)  # SLOTS
    for place in range(0, entries.HEADER.size, 8):
        a.store(DOUBLE, FP, _KEY + 8 + place, 0)
    a.load(WORD, R1, R8, entries.ADDRESSES_AT)
    a.store(WORD, FP, _KEY + 8, R1)
    a.store(WORD, FP, _KEY + 12, R0)
    _look_up(a, maps.entries, _KEY, "everything")
    a.label("chosen")


def _hash(a: Assembler) -> None:
    """R0 = 32 bits from the flow and R9, the basis: addresses, protocol, and ports where there are any.

    Fragments are hashed without ports, which only the first has.
    """
    a.store(WORD, FP, _PORTS, 0)
    a.load(HALF, R1, FP, _IP + 6)
    a.jump("read ports", R1, "&", _FRAGMENT)
    a.load(BYTE, R1, FP, _IP + 9)
    for protocol in _WITH_PORTS:
        a.jump("ports", R1, "==", protocol)
    a.jump("read ports")
    a.label("ports")
    _load_bytes(a, _ETHERNET_SIZE + _IPV4_SIZE, _PORTS, 4)
    a.label("read ports")
    a.constant(R2, _MULTIPLIER)
    a.load(WORD, R0, FP, _IP + 12)
    a.set(R0, "<<", 32)
    a.load(WORD, R1, FP, _IP + 16)
    a.set(R0, "|", R1)
    _mix(a)
    a.set(R0, "+", R9)
    _mix(a)
    a.load(WORD, R1, FP, _PORTS)
    a.set(R0, "+", R1)
    a.load(BYTE, R1, FP, _IP + 9)
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
    a.load(WORD, R2, R0, entries.OUT_AT)
    a.load(WORD, R3, R6, _INTERFACE)
    a.jump("back", R1, "&", entries.TO_IN_PORT)
    a.jump("out", R1, "&", entries.HAIRPIN)
    a.jump("everything", R2, "==", R3)
    a.jump("out")
    a.label("back")
    a.set(R2, "=", R3)
    a.label("out")
    a.store(WORD, R7, _FLAGS_AT, R1)
    a.store(WORD, R7, _FROM_AT, R3)
    a.load(WORD, R3, R6, _LENGTH)
    a.store(WORD, R7, _LENGTH_AT, R3)
    for place in range(0, 12, 4):
        a.load(WORD, R4, R0, entries.ADDRESSES_AT + place)
        a.store(WORD, R7, _ADDRESSES_AT + place, R4)
    a.store(WORD, R7, _OUT_AT, R2)
    a.atomic_add(R8, entries.BYTES_AT, R3)
    a.set(R3, "=", 1)
    a.atomic_add(R8, entries.PACKETS_AT, R3)


def _write_addresses(a: Assembler) -> None:
    """Write the new addresses of the slot into the frame; R1 has the flags."""
    a.load(WORD, R2, R6, _DATA)
    a.load(WORD, R3, R6, _DATA_END)
    a.set(R4, "=", R2)
    a.set(R4, "+", _ETHERNET_SIZE)
    a.jump("not handled", R4, ">", R3)
    for flag, place in ((entries.SET_DESTINATION, 0), (entries.SET_SOURCE, 6)):
        a.jump(f"write {place}", R1, "&", flag)
        a.jump(f"after {place}")
        a.label(f"write {place}")
        for step in range(place, place + 6, 2):
            a.load(HALF, R4, R7, _ADDRESSES_AT + step)
            a.store(HALF, R2, step, R4)
        a.label(f"after {place}")
