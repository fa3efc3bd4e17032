"""IPv6 addresses of hosts: a unique local /96 prefix, then the host's IPv4 address in the low 32 bits.

So an IPv4 prefix translates to an IPv6 prefix, and the tables of both have the same entries.
"""

from __future__ import annotations

import ipaddress

#: The prefix of all hosts' addresses.
NETWORK = ipaddress.IPv6Network("fd00::/96")
_BASE, _MASK = int(NETWORK.network_address), int(NETWORK.netmask)


def embed(address: int) -> int:
    """The IPv6 address of the host with an IPv4 address, both as numbers."""
    return _BASE | address


def mask(bits: int) -> int:
    """The 128-bit mask that compares the whole /96 prefix and the ``bits`` of the IPv4 part."""
    return _MASK | bits


def text(address: int) -> str:
    """The textual form of RFC 5952."""
    return str(ipaddress.IPv6Address(address))
