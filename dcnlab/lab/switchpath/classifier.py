"""The classifier: carries out what the filter has noted for a frame."""

from __future__ import annotations

from dcnlab.lab.switchpath import entries
from dcnlab.lab.switchpath.program import (
    ADDRESSES_AT,
    CLONE_REDIRECT,
    DATA,
    DATA_END,
    DROPPED,
    ENTRY_KEY,
    ETHERNET_SIZE,
    FLAGS_AT,
    FROM_AT,
    INTERFACE,
    IPV4_SIZE,
    KEY,
    L3_CHECKSUM,
    LENGTH,
    LENGTH_AT,
    NOT_HANDLED,
    NUMBER,
    OUT_AT,
    PULL,
    REDIRECT,
    SWITCH_AT,
    TAG_AT,
    TAG_TYPE_AT,
    Descriptors,
)
from hostagent.linux.bpf_assembler import Assembler, Register, Size

R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, FP = Register
WORD, HALF, BYTE, DOUBLE = Size.WORD, Size.HALF, Size.BYTE, Size.DOUBLE
_VLAN_PUSH, _VLAN_POP = 18, 19
#: Of the classifier: the addresses that a frame came with.
_CAME_WITH = -32
_TTL_AT = ETHERNET_SIZE + 8


def classifier(maps: Descriptors) -> bytes:
    """The program at the ingress of the switch's interfaces."""
    a = Assembler()
    a.set(R6, "=", R1)
    a.store(WORD, FP, NUMBER, 0)
    a.look_up(maps.slots, NUMBER, "not handled")
    a.set(R7, "=", R0)
    a.load(WORD, R8, R7, OUT_AT)
    a.jump("not handled", R8, "==", 0)
    a.store(WORD, R7, OUT_AT, 0)
    for noted, field in ((LENGTH_AT, LENGTH), (FROM_AT, INTERFACE)):
        a.load(WORD, R1, R7, noted)
        a.load(WORD, R2, R6, field)
        a.jump("not handled", R1, "!=", R2)
    carry_out(a, maps)
    a.label("not handled")
    a.exit(NOT_HANDLED)
    return a.assemble()


def carry_out(a: Assembler, maps: Descriptors) -> None:
    """Do with the frame of R6 what the note at R7 says, whose first number is in R8; ends the program.

    ``not handled`` is for what cannot be done."""
    _change_tag(a)
    _decrement(a)
    a.load(WORD, R1, R7, FLAGS_AT)
    a.jump("dropped", R1, "&", entries.DROP)
    a.jump("copies", R1, "&", entries.COPIES)
    with a.where(R1, "&", entries.SET_DESTINATION | entries.SET_SOURCE):
        a.sum(R5, R7, ADDRESSES_AT)
        _write_addresses(a, "not handled")
    a.call(REDIRECT, R8, 0)
    a.exit(R0)
    a.label("copies")
    _send_copies(a, maps)
    a.label("dropped")
    a.exit(DROPPED)


def _change_tag(a: Assembler) -> None:
    """Take the tag off and put one on, as the note says."""
    a.load(WORD, R1, R7, FLAGS_AT)
    with a.where(R1, "&", entries.POP_TAG):
        a.call(_VLAN_POP, R6)
        a.jump("dropped", R0, "!=", 0)
    a.load(WORD, R1, R7, FLAGS_AT)
    with a.where(R1, "&", entries.PUSH_TAG):
        a.set(R1, "=", R6)
        a.load(WORD, R2, R7, TAG_TYPE_AT)
        a.load(WORD, R3, R7, TAG_AT)
        a.call(_VLAN_PUSH)
        a.jump("dropped", R0, "!=", 0)


def _decrement(a: Assembler) -> None:
    """Decrement the TTL if the note says so, and correct the checksum of the IPv4 header."""
    a.load(WORD, R1, R7, FLAGS_AT)
    with a.where(R1, "&", entries.DECREMENT_TTL):
        a.call(PULL, R6, ETHERNET_SIZE + IPV4_SIZE)
        _reach(a, ETHERNET_SIZE + IPV4_SIZE, "dropped")
        a.load(HALF, R3, R2, _TTL_AT)
        a.load(BYTE, R4, R2, _TTL_AT)
        a.set(R4, "-", 1)
        a.store(BYTE, R2, _TTL_AT, R4)
        a.load(HALF, R4, R2, _TTL_AT)
        a.call(L3_CHECKSUM, R6, ETHERNET_SIZE + 10, R3, R4, 2)


def _reach(a: Assembler, size: int, otherwise: str) -> None:
    """R2 = the frame, of which ``size`` bytes can be read and written; R3 and R4 are lost."""
    a.load(WORD, R2, R6, DATA)
    a.load(WORD, R3, R6, DATA_END)
    a.sum(R4, R2, size)
    a.jump(otherwise, R4, ">", R3)


def _send_copies(a: Assembler, maps: Descriptors) -> None:
    """Send a copy by each of R8 slots, with the addresses that it had or that the slot writes; R9 is the number
    of the next."""
    a.call(PULL, R6, ETHERNET_SIZE)
    _reach(a, ETHERNET_SIZE, "dropped")
    for step in range(0, 12, 4):
        a.load(WORD, R4, R2, step)
        a.store(WORD, FP, _CAME_WITH + step, R4)
    for place in range(0, ENTRY_KEY.size, 8):
        a.store(DOUBLE, FP, KEY + place, 0)
    a.load(WORD, R1, R7, SWITCH_AT)
    a.store(WORD, FP, KEY, R1)
    a.store(WORD, FP, KEY + 4, -1)  # SLOTS
    a.load(WORD, R1, R7, ADDRESSES_AT)
    a.store(WORD, FP, KEY + 8, R1)
    a.load(HALF, R1, R7, ADDRESSES_AT + 4)
    a.store(WORD, FP, KEY + 16, R1)
    a.set(R9, "=", 0)
    a.label("copy")
    a.jump("dropped", R9, ">=", R8)
    a.jump("dropped", R9, ">=", entries.MOST_COPIES)
    a.store(WORD, FP, KEY + 12, R9)
    a.set(R9, "+", 1)
    a.look_up(maps.entries, KEY, "copy")
    a.set(R5, "=", R0)
    _restore_addresses(a)
    a.load(WORD, R1, R5, entries.FLAGS_AT)
    a.load(WORD, R0, R5, entries.OUT_AT)
    a.load(WORD, R3, R7, FROM_AT)
    a.jump("copy back", R1, "&", entries.TO_IN_PORT)
    a.jump("copy out", R1, "&", entries.HAIRPIN)
    a.jump("copy", R0, "==", R3)
    a.jump("copy out")
    a.label("copy back")
    a.set(R0, "=", R3)
    a.label("copy out")
    a.set(R5, "+", entries.ADDRESSES_AT)
    _write_addresses(a, "dropped")
    a.call(CLONE_REDIRECT, R6, R0, 0)
    a.jump("copy")


def _restore_addresses(a: Assembler) -> None:
    """Write the addresses that the frame came with."""
    _reach(a, ETHERNET_SIZE, "dropped")
    for step in range(0, 12, 4):
        a.load(WORD, R4, FP, _CAME_WITH + step)
        a.store(WORD, R2, step, R4)


def _write_addresses(a: Assembler, otherwise: str) -> None:
    """Write the new addresses at R5 into the frame as the flags in R1 say."""
    _reach(a, ETHERNET_SIZE, otherwise)
    for flag, place in ((entries.SET_DESTINATION, 0), (entries.SET_SOURCE, 6)):
        with a.where(R1, "&", flag):
            for step in range(place, place + 6, 2):
                a.load(HALF, R4, R5, step)
                a.store(HALF, R2, step, R4)
