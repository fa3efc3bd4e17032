"""What the two programs of the switch fast path share.

The *filter* (:mod:`filter`) is attached to Open vSwitch's packet sockets, in place of the one that Open vSwitch
attaches there itself.  It looks the frame up.  A frame that an entry forwards does not enter the socket; the
filter notes in a slot of its processor where it goes.  The *classifier* (:mod:`classifier`; tc, ingress) runs
next on the same processor and the same frame, carries out the note and clears it.  One lookup decides, so that
no frame is forwarded twice or by none.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from dcnlab.lab.switchpath import entries

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
#: Interface to leave by or number of copies (0: no note), flags, length and interface of the frame, new
#: addresses or where the copies are, the switch, a new tag's control information and EtherType.
SLOT = struct.Struct("=IIII12sIII")
OUT_AT, FLAGS_AT, LENGTH_AT, FROM_AT, ADDRESSES_AT, SWITCH_AT = 0, 4, 8, 12, 16, 28
TAG_AT, TAG_TYPE_AT = 32, 36

#: Helpers of the kernel, by their numbers in linux/bpf.h.
TIME, L3_CHECKSUM, CLONE_REDIRECT, REDIRECT, LOAD_BYTES, PULL = 5, 10, 13, 23, 26, 39
#: Verdicts: of a filter, of a classifier.
NOTHING, EVERYTHING, NOT_HANDLED, DROPPED = 0, -1, -1, 2
#: Fields of the context (struct __sk_buff).
LENGTH, PACKET_TYPE, VLAN, VLAN_TCI, VLAN_TYPE, INTERFACE, DATA, DATA_END = 0, 4, 20, 24, 28, 40, 76, 80
ETHERNET_SIZE, IPV4_SIZE, NO_OPTIONS = 14, 20, 0x45
#: Places on the stack.
KEY, HEADER, NUMBER, IP, PORTS = -64, -32, -4, -88, -92


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
