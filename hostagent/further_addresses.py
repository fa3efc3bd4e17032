"""Further addresses of hosts, such as a service's (``h3=10.200.0.1``): packets to them reach that host.  Pure.

Schemes deliver by labels, so a host may have any number of addresses where labels are not addresses
themselves.  A subnet (``h3=10.200.0.0/24``) stands for all its addresses.  The IPv6 address that contains a
further address is the host's, too.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from addressing.fields import ipv4
from addressing.header import Field
from addressing.scheme import Scheme

#: The addresses of a subnet, each of which every host knows.
_LARGEST = 256


class FurtherAddressError(ValueError):
    """What names no further address of a host; one line."""


def parse(text: str, scheme: Scheme) -> dict[int, int]:
    """The server of each further address, as numbers; FurtherAddressError for what cannot be."""
    if text and scheme.label_field is not Field.ETH_DST:
        raise FurtherAddressError(f"the labels of {scheme.name} are addresses: a host has one")
    taken = {scheme.ipv4(server) for server in range(scheme.fabric.servers)} if text else set()
    servers: dict[int, int] = {}
    for part in filter(None, text.split(",")):
        name, _, written = part.strip().rpartition("=")
        server = _server(name, part, scheme)
        for address in _addresses(written, part):
            _check(address, server, scheme)
            if ipv4.without_alias(address)[0] in taken or address in taken or address in servers:
                text = f"{ipv4.text(address)} belongs to a host already: take one from 10.200.0.1 on"
                raise FurtherAddressError(text)
            servers[address] = server
    return servers


def _check(address: int, server: int, scheme: Scheme) -> None:
    length = 32 - scheme.ipv4_length
    if address >> length != scheme.ipv4(server) >> length or address + 1 & (1 << length) - 1 <= 1:
        network = ipaddress.ip_network((scheme.ipv4(server) >> length << length, scheme.ipv4_length))
        text = f"{ipv4.text(address)} is no address of a host in {network}, the lab's network"
        raise FurtherAddressError(text)


def _server(name: str, part: str, scheme: Scheme) -> int:
    if not name:
        raise FurtherAddressError(f"write h3=10.200.0.1 or h3=10.200.0.0/24, not {part!r}")
    try:
        server = scheme.fabric.index(name)
    except KeyError as error:
        raise FurtherAddressError(str(error.args[0])) from None
    if not scheme.fabric.is_server(server):
        raise FurtherAddressError(f"{name} is a switch: name a server")
    return server


def _addresses(written: str, part: str) -> Iterable[int]:
    """One address, or all of a subnet."""
    try:
        network = ipaddress.IPv4Network(written.strip())
    except ValueError:
        raise FurtherAddressError(f"write h3=10.200.0.1 or h3=10.200.0.0/24, not {part!r}") from None
    if network.num_addresses > _LARGEST:
        raise FurtherAddressError(f"{network} has {network.num_addresses} addresses: {_LARGEST} are the most")
    return range(int(network[0]), int(network[-1]) + 1)
