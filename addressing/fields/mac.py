"""Labels and tags as MAC addresses: the 46 free bits of a locally administered unicast address.

The most significant bit comes first, so that a prefix of the label is a prefix of the address.  The two
low bits of the first octet are always 10.  A shorter label is left-aligned; the remaining bits are zero.
"""

from __future__ import annotations

BITS = 46
_LOW = 40
_LOCAL_UNICAST = 0b10


def align(value: int, bits: int) -> int:
    """A value (or mask) of ``bits`` bits at its position in the 48-bit address, other bits zero."""
    aligned = value << (BITS - bits)
    return (aligned >> _LOW) << (_LOW + 2) | aligned & ((1 << _LOW) - 1)


#: The two fixed bits of every address that carries a label, and their value.
FIXED_MASK = 0b11 << _LOW
FIXED = _LOCAL_UNICAST << _LOW


def encode(value: int, bits: int) -> int:
    """The 48-bit MAC address that carries a label of ``bits`` bits."""
    return align(value, bits) | FIXED


def decode(address: int, bits: int) -> int:
    """The label of ``bits`` bits in an address; further bits are ignored."""
    aligned = (address >> (_LOW + 2)) << _LOW | address & ((1 << _LOW) - 1)
    return aligned >> (BITS - bits)


def text(address: int) -> str:
    """``02:00:00:00:00:01``."""
    return ":".join(f"{byte:02x}" for byte in address.to_bytes(6, "big"))


def hardware(node: int, port: int) -> int:
    """The MAC address of a network interface.

    It is globally administered, so it is never a label.  Its high bits are zero, so it decodes to tag 0."""
    return (node + 1) << 8 | port
