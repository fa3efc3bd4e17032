"""Nodes, servers and links by the names that people give; UsageError with one line otherwise."""

from __future__ import annotations

from collections.abc import Sequence

from lab.errors import UsageError
from topos.graph import Fabric


def node(fabric: Fabric, name: str) -> int:
    """The node of that name: ``h3``, ``s0``, or coordinates as the family prints them."""
    try:
        return fabric.index(name)
    except KeyError as error:
        raise UsageError(str(error.args[0])) from error


def server(fabric: Fabric, name: str) -> int:
    """The server of that name."""
    found = node(fabric, name)
    if not fabric.is_server(found):
        raise UsageError(f"{name} is a switch: name a server")
    return found


def links(fabric: Fabric, kind: str, names: Sequence[str]) -> tuple[int, ...]:
    """The link numbers of ``link A B`` (several where cables are parallel) or ``node A``."""
    if kind == "node" and len(names) == 1:
        return fabric.links_of(node(fabric, names[0]))
    if kind == "link" and len(names) == 2:
        found = fabric.links_between(node(fabric, names[0]), node(fabric, names[1]))
        if found:
            return found
        raise UsageError(f"there is no link between {names[0]} and {names[1]}")
    raise UsageError("say `link A B` or `node A`")
