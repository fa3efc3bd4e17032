"""The IPv4 networks of a fabric: what does not go outside."""

from __future__ import annotations

import ipaddress

from addressing.scheme import Scheme

_NUMBERED = ipaddress.IPv4Network("10.0.0.0/8")


def servers(scheme: Scheme) -> list[ipaddress.IPv4Address]:
    """The addresses of all servers, in their order."""
    return [ipaddress.IPv4Address(scheme.ipv4(server)) for server in range(scheme.fabric.servers)]


def fabric_networks(scheme: Scheme) -> tuple[ipaddress.IPv4Network, ...]:
    """Networks that hold all addresses of servers: 10.0.0.0/8, or where they are not numbered as few as hold
    exactly these."""
    addresses = servers(scheme)
    if all(address in _NUMBERED for address in addresses):
        return (_NUMBERED,)
    return tuple(ipaddress.collapse_addresses(map(ipaddress.IPv4Network, addresses)))


def common_network(scheme: Scheme) -> ipaddress.IPv4Network:
    """The smallest network that holds all addresses of servers."""
    addresses = servers(scheme)
    network = ipaddress.IPv4Network(min(addresses))
    while max(addresses) not in network:
        network = network.supernet()
    return network
