"""Labels and tags as MAC addresses: 46 bits around "locally administered, unicast".

The number's most significant bit comes first, so that a prefix of the label is a
prefix of the address; the two low bits of the first octet stay 10.  A label of
fewer bits is left-aligned, its remaining bits zero.
"""

from __future__ import annotations

BITS = 46
_LOW = 40
_LOCAL_UNICAST = 0b10


def align(value: int, bits: int) -> int:
    """A value (or mask) of ``bits`` bits at its place in the 48-bit address, other bits zero."""
    aligned = value << (BITS - bits)
    return (aligned >> _LOW) << (_LOW + 2) | aligned & ((1 << _LOW) - 1)


#: The two bits that every label address has in common, and their value.
FIXED_MASK = 0b11 << _LOW
FIXED = _LOCAL_UNICAST << _LOW


def encode(value: int, bits: int) -> int:
    """The 48-bit address that carries a label of ``bits`` bits."""
    return align(value, bits) | FIXED


def decode(address: int, bits: int) -> int:
    """The label in an address; bits beyond ``bits`` are dropped."""
    aligned = (address >> (_LOW + 2)) << _LOW | address & ((1 << _LOW) - 1)
    return aligned >> (BITS - bits)


def text(address: int) -> str:
    """``02:00:00:00:00:01``."""
    return ":".join(f"{byte:02x}" for byte in address.to_bytes(6, "big"))


def hardware(node: int, port: int) -> int:
    """The address of a network interface itself: globally administered, so never a label; its
    leading bits are zero, so that it reads as tag 0."""
    return (node + 1) << 8 | port
