"""Graphs with numbered nodes and ports, checked, from what was read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from topos.constructions.layout import Points
from topos.constructions.wiring import numbered_ports
from topos.files import link_attributes
from topos.files.raw import FileError, RawGraph, StatedLink
from topos.graph import IntArray

#: OpenFlow's highest port number.
_MAX_PORT = 0xFF00
#: Attributes of a node that give its position, in the order in which they are tried.
_POSITIONS = (("x", "y", 1), ("Longitude", "Latitude", -1))


@dataclass(frozen=True, eq=False)
class GraphData:
    """A graph as read, servers before switches.

    ``servers`` is None when no node has a kind; ``links`` has rows ``(a, a_port, b, b_port)``;
    ``positions`` is None unless every node has one; ``attributes`` has a mapping per link, in our words where
    there are such; ``notes`` are lines about what was read otherwise than it is written, or not used; ``title``
    is what the graph itself is called.
    """

    names: tuple[str, ...]
    servers: int | None
    links: IntArray
    labels: tuple[str, ...]
    positions: Points | None
    attributes: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...] = ()
    title: str = ""
    #: Whether ``positions`` are longitudes and, with the sign changed, latitudes, in degrees.
    geographic: bool = False
    #: The nodes that are routers, by number.
    routers: frozenset[int] = frozenset()


def graph_data(raw: RawGraph) -> GraphData:
    kinds = _kinds(raw.nodes)
    stated = any(kind is not None for kind in kinds.values())
    for name, kind in kinds.items():
        if stated and kind not in ("server", "switch"):
            raise FileError(f"node {name}: kind must be server, switch or router, not {kind!r}")
    names = sorted(kinds, key=lambda name: kinds[name] == "switch")
    servers = sum(kinds[name] == "server" for name in names) if stated else None
    if not names or servers == 0:
        raise FileError("there is no server in it")
    links, shown = _in_order(_with_our_ports(raw)), _shown(names, raw.nodes)
    attributes, said = link_attributes.mapped([link.attributes for link in links])
    positions, geographic = _positions([raw.nodes[name] for name in names])
    return GraphData(
        shown,
        servers,
        _numbered(names, links),
        _labels(names, shown, raw.nodes),
        positions,
        attributes,
        (*raw.notes, *said),
        raw.title,
        geographic,
        frozenset(number for number, name in enumerate(names) if _is_router(raw.nodes[name])),
    )


def _is_router(node: Mapping[str, Any]) -> bool:
    return node.get("kind") == "router" or str(node.get("router", "")).lower() in ("true", "yes", "1")


def _kinds(nodes: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The stated kind of each node; in a topology of Mininet's only switches have ``isSwitch``."""
    mininet = any("isSwitch" in data for data in nodes.values())
    if not mininet or any("kind" in data for data in nodes.values()):
        return {
            name: "switch" if data.get("kind") == "router" else data.get("kind") for name, data in nodes.items()
        }
    switches = {name for name, data in nodes.items() if str(data.get("isSwitch")).lower() in ("true", "1")}
    return {name: "switch" if name in switches else "server" for name in nodes}


def _with_our_ports(raw: RawGraph) -> tuple[StatedLink, ...]:
    """The links; in a topology of Mininet's with its ports, where those of hosts begin at 0 and ours at 1."""
    ends = [(str(link.attributes.get("node1")), str(link.attributes.get("node2"))) for link in raw.links]
    stated = [{"port1", "port2"} <= link.attributes.keys() for link in raw.links]
    if not all(stated) or any({a, b} != {link.a, link.b} for (a, b), link in zip(ends, raw.links, strict=True)):
        return raw.links

    def port(name: str, number: object) -> object:
        whole = _whole(number)
        return number if whole is None or raw.nodes[name].get("isSwitch") else whole + 1

    return tuple(
        StatedLink(a, port(a, link.attributes["port1"]), b, port(b, link.attributes["port2"]), link.attributes)
        for (a, b), link in zip(ends, raw.links, strict=True)
    )


def _in_order(links: tuple[StatedLink, ...]) -> tuple[StatedLink, ...]:
    """The links by their ``number`` where all have one, else in the order of the file."""
    numbers = [_whole(link.attributes.get("number")) for link in links]
    if any(number is None for number in numbers):
        return links
    return tuple(link for _, link in sorted(zip(numbers, links, strict=True), key=lambda pair: pair[0] or 0))


def _shown(names: list[str], nodes: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """The names of nodes: their attribute ``name`` where all have one and no two the same, else their ids."""
    given = [str(nodes[name].get("name", "")) for name in names]
    return tuple(given if all(given) and len(set(given)) == len(given) else names)


def _labels(
    names: list[str], shown: tuple[str, ...], nodes: Mapping[str, Mapping[str, Any]]
) -> tuple[str, ...]:
    """The nodes' labels; what they are shown as where labels are missing or not distinct."""
    labels = [
        str(nodes[name].get("label", nodes[name].get("coordinates", other)))
        for name, other in zip(names, shown, strict=True)
    ]
    return tuple(labels) if len(set(labels)) == len(labels) else shown


def _positions(nodes: list[Mapping[str, Any]]) -> tuple[Points | None, bool]:
    """The positions of all nodes, and whether they are places on Earth; None when a node has none."""
    flat = [{**node, **node["graphics"]} if isinstance(node.get("graphics"), dict) else node for node in nodes]
    for x, y, sign in _POSITIONS:
        try:
            points = np.array([(float(node[x]), sign * float(node[y])) for node in flat])
        except (KeyError, TypeError, ValueError):
            continue
        return (points, x == "Longitude") if np.isfinite(points).all() else (None, False)
    return None, False


def _numbered(names: list[str], links: tuple[StatedLink, ...]) -> IntArray:
    """The links by node number; without port numbers, ports are numbered in the file's order."""
    index = {name: number for number, name in enumerate(names)}
    for link in links:
        for name in (link.a, link.b):
            if name not in index:
                raise FileError(f"link {link.a} - {link.b}: there is no node {name}")
        if link.a == link.b:
            raise FileError(f"node {link.a} is linked to itself")
    if any(link.a_port is not None or link.b_port is not None for link in links):
        return _explicit_ports(index, links)
    pairs = [(index[link.a], index[link.b]) for link in links]
    return numbered_ports(np.array(pairs, dtype=np.int64).reshape(-1, 2))


def _explicit_ports(index: Mapping[str, int], links: tuple[StatedLink, ...]) -> IntArray:
    used: set[tuple[str, int]] = set()
    rows = []
    for link in links:
        row = []
        for name, stated in ((link.a, link.a_port), (link.b, link.b_port)):
            port = _whole(stated)
            if port is None or not 1 <= port <= _MAX_PORT:
                raise FileError(
                    f"link {link.a} - {link.b}: port of {name} must be 1 to {_MAX_PORT}, not {stated!r}"
                )
            if (name, port) in used:
                raise FileError(f"port {port} of {name} is used twice")
            used.add((name, port))
            row += [index[name], port]
        rows.append(row)
    return np.array(rows, dtype=np.int32)


def _whole(value: object) -> int | None:
    """A whole number, also as text (all values of DOT are text)."""
    if isinstance(value, str) and value.isascii() and value.isdecimal():
        return int(value)
    return int(value) if isinstance(value, int | np.integer) and not isinstance(value, bool) else None
