"""IPv6 addresses of hosts: their IPv4 address in the low 32 bits below a unique local prefix.

So a prefix of one is a prefix of the other, and both kinds of tables say the same.
"""

from __future__ import annotations

import ipaddress

#: All hosts lie below it; what follows are the bits of the IPv4 address.
NETWORK = ipaddress.IPv6Network("fd00::/96")
_BASE, _MASK = int(NETWORK.network_address), int(NETWORK.netmask)


def embed(address: int) -> int:
    """The IPv6 address that goes with an IPv4 address, both as numbers."""
    return _BASE | address


def mask(bits: int) -> int:
    """The 128-bit mask that compares the whole prefix and, below it, ``bits`` of the IPv4 part."""
    return _MASK | bits


def text(address: int) -> str:
    """As RFC 5952 writes it."""
    return str(ipaddress.IPv6Address(address))
