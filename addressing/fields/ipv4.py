"""IPv4 addresses of servers: consecutive ones, and CLOT's coordinates (CLOT, "address translation").

CLOT writes coordinates as six 5-bit slices, dimension 1 first, and a 2-bit flag in the lowest bits.
The flag of six dimensions is 11.  With fewer dimensions it is 10, and slice 6 has the number of
dimensions in its three high bits and zeros in its two low bits.
"""

from __future__ import annotations

import ipaddress

SLICES, SLICE_BITS, FLAG_BITS = 6, 5, 2
_FULL, _PARTIAL = 0b11, 0b10
#: The largest number of a further address of a server, and of a server that can have any.
ALIASES = 7
_ALIAS_AT = 21
ALIASED_SERVERS = (1 << _ALIAS_AT) - 1
_BASE = int(ipaddress.IPv4Address("10.0.0.0"))


class AddressError(ValueError):
    """An address or coordinates outside the mapping; the text is one line for the user."""


def text(address: int) -> str:
    """Dotted quad."""
    return str(ipaddress.IPv4Address(address))


def host_address(node: int) -> int:
    """The address of a numbered server: 10.0.0.0 plus its number plus one; up to 16,777,214 servers."""
    if not 0 <= node < (1 << 24) - 2:
        raise AddressError(f"server {node} has no address in 10.0.0.0/8")
    return _BASE + node + 1


def alias(node: int, number: int) -> int:
    """A further address of a server for one of its parallel paths; ``number`` is 1 to ALIASES.

    The high bits of the second octet contain the number."""
    if not 1 <= number <= ALIASES or not 0 <= node < ALIASED_SERVERS:
        raise AddressError(f"server {node} has no further address number {number}")
    return host_address(node) | number << _ALIAS_AT


def without_alias(address: int) -> tuple[int, int]:
    """The server's first address, and the number of the further address; 0 for the first address itself."""
    number = address >> _ALIAS_AT & ALIASES
    return address & ~(ALIASES << _ALIAS_AT), number


def slice_shift(dimension: int) -> int:
    """The position of the lowest bit of a dimension's slice (dimensions from 0)."""
    return FLAG_BITS + SLICE_BITS * (SLICES - 1 - dimension)


def from_coordinates(coordinates: tuple[int, ...]) -> int:
    """The address of a CLOT or torus server.

    Raises AddressError for more than six dimensions, coordinates over 31, and
    addresses that Linux refuses as unicast (127/8, 224/4 and broadcast).
    """
    address = encode(coordinates)
    _check_unicast(address, coordinates)
    return address


def encode(coordinates: tuple[int, ...]) -> int:
    """The 32 bits of coordinates, also where no host can use them as its address."""
    count = len(coordinates)
    if not 1 <= count <= SLICES:
        raise AddressError(f"{count} dimensions: an address holds 1 to {SLICES}")
    address = _FULL if count == SLICES else count << (FLAG_BITS + 2) | _PARTIAL
    for dimension, value in enumerate(coordinates):
        if not 0 <= value < 1 << SLICE_BITS:
            raise AddressError(f"coordinate {value} does not fit in {SLICE_BITS} bits (0 to 31)")
        address |= value << slice_shift(dimension)
    return address


def to_coordinates(address: int) -> tuple[int, ...]:
    """The coordinates in an address; AddressError when it contains none."""
    flag, last = address & 0b11, address >> FLAG_BITS & 0b11111
    if flag == _FULL:
        count = SLICES
    elif flag == _PARTIAL and 1 <= last >> 2 <= SLICES - 1 and not last & 0b11:
        count = last >> 2
    else:
        raise AddressError(f"{text(address)} contains no coordinates: its last byte is invalid")
    values = tuple(address >> slice_shift(d) & 0b11111 for d in range(SLICES))
    if any(values[count : SLICES - 1]):
        raise AddressError(f"{text(address)} has bits set in slices of dimensions that it does not have")
    _check_unicast(address, values[:count])
    return values[:count]


def usable_radices(radices: tuple[int, ...]) -> bool:
    """True when every server of a torus with those radices has a unicast address: the first octet,
    which is a_1 and the high bits of a_2, must be neither 127 nor 224 or more."""
    valid = 1 <= len(radices) <= SLICES and all(2 <= radix <= 1 << SLICE_BITS for radix in radices)
    return valid and radices[0] <= 28 and not (radices[0] > 15 and len(radices) > 1 and radices[1] > 28)


def check_radices(radices: tuple[int, ...]) -> None:
    """Raise AddressError, one line for the user, unless radices are usable."""
    if not usable_radices(radices):
        shown = "x".join(map(str, radices))
        raise AddressError(
            f"AACM cannot configure {shown}: 1 to 6 radices from 2 to 32 whose addresses avoid"
            " 127.0.0.0/8 and 224.0.0.0/3 (first radix at most 28; at most 15 if the second exceeds 28)"
        )


def _check_unicast(address: int, coordinates: tuple[int, ...]) -> None:
    first = address >> 24
    if first == 127 or 224 <= first < 240 or address == 0xFFFFFFFF:
        shown = ",".join(map(str, coordinates))
        block = "127.0.0.0/8 (loopback)" if first == 127 else "224.0.0.0/4 (multicast)"
        raise AddressError(f"({shown}) is {text(address)}, in {block}, which no host can use")
