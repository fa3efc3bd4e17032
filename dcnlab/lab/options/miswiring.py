"""Cables swapped on purpose: what AACM should find (CLOT, section 6)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dcnlab.lab import naming
from dcnlab.lab.errors import OptionError, UsageError
from topos.fabric import Fabric
from topos.graph import Link, Port

_PORT = re.compile(r"(.+):(\d+)")


def swapped_ports(fabric: Fabric, miswire: str) -> dict[Port, Port]:
    """The two ports that ``h3:2,h7:1`` names, each with the other: their cables are swapped.

    Empty without text; OptionError, in one line, unless both are ports of torus links.
    """
    if not miswire:
        return {}
    ports = [_torus_port(fabric, part.strip()) for part in miswire.split(",")]
    if len(ports) != 2 or ports[0] == ports[1]:
        raise OptionError("miswire", f"miswire takes two different ports, as in h3:2,h7:1, not {miswire!r}")
    a, b = ports
    return {a: b, b: a}


def wired(fabric: Fabric, miswire: str) -> Iterator[Link]:
    """The links as they are wired, with two ports swapped that ``miswire`` names."""
    swapped = swapped_ports(fabric, miswire)
    for link in fabric.links():
        yield Link(link.index, swapped.get(link.a, link.a), swapped.get(link.b, link.b)) if swapped else link


def _torus_port(fabric: Fabric, text: str) -> Port:
    """The port named ``h3:2``; OptionError unless it has a torus link."""
    match = _PORT.fullmatch(text)
    if match is None:
        raise OptionError("miswire", f"miswire: a port is written as server:number, as in h3:2, not {text!r}")
    try:
        port = Port(naming.server(fabric, match[1]), int(match[2]))
    except UsageError as error:
        raise OptionError("miswire", f"miswire: {error}") from error
    if port.number > 2 * len(fabric.family.torus_radices) or fabric.peer(port.node, port.number) is None:
        raise OptionError("miswire", f"miswire: {match[1]} has no torus link at port {port.number}")
    return port
