"""Nodes, servers and links by the names that people give; UsageError with one line otherwise.

A node is named ``h3`` or ``s0``, by its coordinates as the family prints them, or, a server,
by its IPv4 address.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence

from addressing.fields import ipv4
from addressing.scheme import Scheme
from dcnlab.lab.errors import UsageError
from hostagent.protocols.aacm.frames import inside
from topos.fabric import Fabric
from topos.families.torus import Torus

_DOTTED = re.compile(r"\d+(\.\d+){3}")


def node(fabric: Fabric, name: str, scheme: Scheme | None = None) -> int:
    """The node of that name; ``scheme`` is the one that gives the servers their addresses."""
    if _DOTTED.fullmatch(name):
        return _holder(fabric, name, scheme)
    try:
        return fabric.index(name)
    except KeyError as error:
        raise UsageError(str(error.args[0])) from error


def server(fabric: Fabric, name: str, scheme: Scheme | None = None) -> int:
    """The server of that name."""
    found = node(fabric, name, scheme)
    if not fabric.is_server(found):
        raise UsageError(f"{name} is a switch: name a server")
    return found


def two_servers(fabric: Fabric, a: str, b: str, scheme: Scheme | None = None) -> tuple[int, int]:
    """The servers of two names, which are not one."""
    source, target = server(fabric, a, scheme), server(fabric, b, scheme)
    if source == target:
        raise UsageError("name two different servers")
    return source, target


def links(fabric: Fabric, kind: str, names: Sequence[str], scheme: Scheme | None = None) -> tuple[int, ...]:
    """The link numbers of ``link A B`` (several where cables are parallel) or ``node A``."""
    if kind == "node" and len(names) == 1:
        return fabric.links_of(node(fabric, names[0], scheme))
    if kind == "link" and len(names) == 2:
        a, b = (node(fabric, name, scheme) for name in names)
        found = fabric.links_between(a, b)
        if found:
            return found
        raise UsageError(f"there is no link between {names[0]} and {names[1]}")
    raise UsageError("say `link A B` or `node A`")


def _holder(fabric: Fabric, text: str, scheme: Scheme | None) -> int:
    """The server with an address: one that the scheme gives, or on a torus CLOT's for its coordinates."""
    try:
        address = int(ipaddress.IPv4Address(text))
    except ValueError as error:
        raise UsageError(f"{text} is no IPv4 address: {error}") from error
    given = ipv4.host_address if scheme is None else scheme.ipv4
    if scheme is not None or not isinstance(fabric.family, Torus):
        for found in range(fabric.servers):
            if given(found) == address:
                return found
    if not isinstance(fabric.family, Torus):
        raise UsageError(f"no server of {fabric.spec} has the address {text}")
    return _at(fabric.family, text, address)


def _at(torus: Torus, text: str, address: int) -> int:
    try:
        place = ipv4.to_coordinates(address)
    except ipv4.AddressError as error:
        raise UsageError(str(error)) from error
    if not inside(place, torus.sizes):
        shown = ",".join(map(str, place))
        raise UsageError(f"{text} stands for ({shown}), which is not in {torus.spec}")
    return torus.server(place)
