"""Graphs from outside: files (GraphML, GML, DOT, edge lists, JSON, YAML) and networkx graphs.

JSON and YAML hold either ``{"nodes": [{"name", "kind"}], "links": [{"a", "b"}]}``, with ``a_port`` and
``b_port`` where ports matter (the output of ``dcnlab topology --json``), or networkx's node-link form
(``id``, ``source``, ``target``, ``edges``).

Attributes of nodes: ``kind`` (server, switch), or Mininet's ``isSwitch``; ``label``, or ``coordinates`` where
the format needs ``label`` itself; ``x`` and ``y``, or Graphviz's ``pos``, GML's ``graphics``, ``Longitude`` and
``Latitude``.  Attributes of links: ``a_port`` and ``b_port``, with ``a`` and ``b`` as the names of the ends
where the graph has no direction; ``number``, the order of the links; those of :mod:`topos.link_attributes`.

What is read other than it is written, or not at all, is a note: one line, issued as a :class:`GraphNote`.
"""

from __future__ import annotations

import json
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from topos import dot, edge_list, limits, link_attributes
from topos.graph import IntArray
from topos.layout import Points
from topos.wiring import numbered_ports

#: Files that come with the program, found by their bare name.
SAMPLES = Path(__file__).parent / "samples"
#: OpenFlow's highest port number.
_MAX_PORT = 0xFF00
#: Attributes of a node that give its position, in the order in which they are tried.
_POSITIONS = (("x", "y", 1), ("Longitude", "Latitude", -1))

T = TypeVar("T")


class FileError(ValueError):
    """A file or a graph that cannot be used; its text is one line: where, and what is wrong."""


class GraphNote(UserWarning):
    """One line about what of a file or a graph is not used, or not as it is written."""


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


@dataclass(frozen=True)
class _Link:
    a: str
    a_port: object
    b: str
    b_port: object
    attributes: Mapping[str, Any]


@dataclass(frozen=True)
class _Raw:
    """Nodes with their attributes, and links, as read."""

    nodes: Mapping[str, Mapping[str, Any]]
    links: tuple[_Link, ...]
    notes: tuple[str, ...] = ()
    title: str = ""


def load(path: str) -> GraphData:
    """The graph in a file, relative to the working directory or to the samples; raises FileError."""
    place = Path(path) if Path(path).exists() else SAMPLES / path
    reader = _READERS.get(place.suffix.lower())
    if reader is None:
        raise FileError(f"{path}: unknown kind of file: known are {', '.join(_READERS)}")
    try:
        limits.check_size(place, limits.GRAPH)
        return _noted(path, _graph_data(reader(place)))
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or error}") from error
    except (FileError, dot.DotError, edge_list.EdgeListError, limits.LimitError) as error:
        raise FileError(f"{path}: {error}") from error
    except RecursionError:
        raise FileError(f"{path}: it is nested too deeply") from None
    except Exception as error:  # each parser has its own errors, without a common base
        first = str(error).strip().partition("\n")[0]
        raise FileError(f"{path}: cannot be read as {place.suffix[1:]}: {first}") from error


def from_networkx(graph: Any) -> GraphData:
    """A networkx graph with the attributes that files may have; raises FileError."""
    data = _graph_data(replace(_networkx(graph), title=str(getattr(graph, "name", ""))))
    return _noted(data.title or "graph", data)


def _noted(name: str, data: GraphData) -> GraphData:
    for note in data.notes:
        warnings.warn(f"{name}: {note}", GraphNote, stacklevel=3)
    return data


def to_json(data: GraphData) -> dict[str, Any]:
    """The value that :func:`load` reads as the same graph from a JSON file."""
    kinds = [
        "server" if data.servers is None or node < data.servers else "switch" for node in range(len(data.names))
    ]
    nodes: list[dict[str, Any]] = [
        {"name": name, "label": label, "kind": kind}
        for name, label, kind in zip(data.names, data.labels, kinds, strict=True)
    ]
    if data.positions is not None:
        for node, (x, y) in zip(nodes, data.positions.tolist(), strict=True):
            node |= {"x": x, "y": y}
    links = [
        {**attributes, "a": data.names[a], "a_port": a_port, "b": data.names[b], "b_port": b_port}
        for attributes, (a, a_port, b, b_port) in zip(data.attributes, data.links.tolist(), strict=True)
    ]
    return {"title": data.title, "nodes": nodes, "links": links}


# --- readers ----------------------------------------------------------------------


def _graphml(path: Path) -> _Raw:
    import networkx  # a third of a second: paid only by those who read such files

    limits.check_entities(path)
    declared = _declared(path)
    read = _networkx(networkx.read_graphml(path))
    undeclared = [name for name in read.nodes if name not in declared]
    notes = [f"node {name} is not declared: only links name it" for name in undeclared]
    return replace(read, notes=(*read.notes, *notes))


def _declared(path: Path) -> set[str]:
    """The nodes that a GraphML file declares; networkx makes a node of any name that a link has."""
    from xml.etree import ElementTree

    nodes = [item for item in ElementTree.parse(path).iter() if item.tag.rpartition("}")[2] == "node"]
    if any("id" not in node.attrib for node in nodes):
        raise FileError("a node has no id")
    return {node.attrib["id"] for node in nodes}


def _gml(path: Path) -> _Raw:
    import networkx

    return _networkx(networkx.read_gml(path))


def _edge_list(path: Path) -> _Raw:
    pairs, repeated = edge_list.read(limits.read(path, limits.GRAPH))
    nodes = dict.fromkeys(name for a, b, _ in pairs for name in (a, b))
    links = tuple(_link(a, b, data) for a, b, data in pairs)
    note = f"links stated again are left out ({repeated}): parallel links need JSON, YAML or DOT"
    return _Raw({name: {} for name in nodes}, links, (note,) if repeated else ())


def _dot(path: Path) -> _Raw:
    nodes, edges, directed = dot.read(limits.read(path, limits.GRAPH))
    links = [_link(a, b, data) for a, b, data in edges]
    return _both_ways(nodes, links) if directed else _Raw(nodes, tuple(links))


def _json(path: Path) -> _Raw:
    return _from_mapping(_checked(json.loads(limits.read(path, limits.GRAPH))))


def _yaml(path: Path) -> _Raw:
    from ruamel.yaml import YAML

    return _from_mapping(_checked(YAML(typ="safe", pure=True).load(limits.read_yaml(path, limits.YAML_GRAPH))))


def _checked(document: Any) -> Any:
    limits.check_values(document)
    return document


_READERS: dict[str, Callable[[Path], _Raw]] = {
    ".graphml": _graphml,
    ".gml": _gml,
    ".dot": _dot,
    ".gv": _dot,
    ".edgelist": _edge_list,
    ".txt": _edge_list,
    ".json": _json,
    ".yaml": _yaml,
    ".yml": _yaml,
}


def _networkx(graph: Any) -> _Raw:
    nodes = {str(name): data for name, data in graph.nodes(data=True)}
    edges = [(str(a), str(b), data) for a, b, data in graph.edges(data=True)]
    if not graph.is_directed():
        return _Raw(nodes, tuple(_undirected(*edge) for edge in edges))
    return _both_ways(nodes, [_undirected(a, b, {"a": a, "b": b, **data}) for a, b, data in edges])


def _both_ways(nodes: Mapping[str, Mapping[str, Any]], arcs: Iterable[_Link]) -> _Raw:
    """A directed graph, as one of links: it often states a link in both directions."""
    kept: list[_Link] = []
    single: defaultdict[tuple[str, str], list[_Link]] = defaultdict(list)
    merged = differ = 0
    for arc in arcs:
        if opposite := single[arc.b, arc.a]:
            merged += 1
            differ += _description(opposite.pop(0)) != _description(arc)
        else:
            kept.append(arc)
            single[arc.a, arc.b].append(arc)
    notes = ["it is directed, and links carry packets both ways"]
    if merged:
        notes.append(f"{merged} of {len(kept)} links are stated in both directions and are one link each")
    if differ:
        notes.append(f"{differ} of them differ by direction: the attributes of the first one are used")
    return _Raw(nodes, tuple(kept), tuple(notes))


def _description(link: _Link) -> dict[str, Any]:
    return {key: value for key, value in link.attributes.items() if key not in link_attributes.STRUCTURE}


def _undirected(a: str, b: str, data: Mapping[str, Any]) -> _Link:
    """A link of a graph that does not record which end was given first."""
    if "a_port" not in data and "b_port" not in data:
        return _link(a, b, data)
    ends = str(data.get("a")), str(data.get("b"))
    if set(ends) != {a, b}:
        raise FileError(f"link {a} - {b}: its ports need the attributes a and b, the nodes that they belong to")
    return _link(*ends, data)


def _link(a: str, b: str, data: Mapping[str, Any]) -> _Link:
    return _Link(a, data.get("a_port"), b, data.get("b_port"), data)


def _from_mapping(data: object) -> _Raw:
    if not isinstance(data, dict):
        raise FileError("must be a mapping with nodes and links")
    nodes: dict[str, Mapping[str, Any]] = {}
    listed, joined = _records(data, "nodes"), _records(data, "links", "edges")
    # In networkx's form links name nodes by id, which may have names as well.
    keys = ("id", "name") if any("source" in link for link in joined) else ("name", "id")
    for node in listed:
        name = str(_first(node, *keys))
        if name in nodes:
            raise FileError(f"node {name} is listed twice")
        nodes[name] = node
    links = [_link(str(_first(link, "a", "source")), str(_first(link, "b", "target")), link) for link in joined]
    raw = _both_ways(nodes, links) if data.get("directed") is True else _Raw(nodes, tuple(links))
    return replace(raw, title=str(data.get("title", "")))


def _records(data: Mapping[str, object], *keys: str) -> Iterable[Mapping[str, Any]]:
    """The list of mappings under the first of the keys that is there."""
    records = _first(data, *keys)
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise FileError(f"{keys[0]} must be a list of mappings")
    return records


def _first(record: Mapping[str, T], *keys: str) -> T:
    for key in keys:
        if key in record:
            return record[key]
    raise FileError(f"{' or '.join(keys)} is missing in {json.dumps(record, default=str)[:60]}")


# --- checks and numbers ------------------------------------------


def _graph_data(raw: _Raw) -> GraphData:
    kinds = _kinds(raw.nodes)
    stated = any(kind is not None for kind in kinds.values())
    for name, kind in kinds.items():
        if stated and kind not in ("server", "switch"):
            raise FileError(f"node {name}: kind must be server or switch, not {kind!r}")
    names = sorted(kinds, key=lambda name: kinds[name] == "switch")
    servers = sum(kinds[name] == "server" for name in names) if stated else None
    if not names or servers == 0:
        raise FileError("there is no server in it")
    links, shown = _in_order(raw.links), _shown(names, raw.nodes)
    attributes, said = link_attributes.mapped([link.attributes for link in links])
    return GraphData(
        shown,
        servers,
        _numbered(names, links),
        _labels(names, shown, raw.nodes),
        _positions([raw.nodes[name] for name in names]),
        attributes,
        (*raw.notes, *said),
        raw.title,
    )


def _kinds(nodes: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The stated kind of each node; in a topology of Mininet's only switches have ``isSwitch``."""
    mininet = any("isSwitch" in data for data in nodes.values())
    if not mininet or any("kind" in data for data in nodes.values()):
        return {name: data.get("kind") for name, data in nodes.items()}
    switches = {name for name, data in nodes.items() if str(data.get("isSwitch")).lower() in ("true", "1")}
    return {name: "switch" if name in switches else "server" for name in nodes}


def _in_order(links: tuple[_Link, ...]) -> tuple[_Link, ...]:
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


def _positions(nodes: list[Mapping[str, Any]]) -> Points | None:
    """The positions of all nodes; None when a node has none."""
    flat = [{**node, **node["graphics"]} if isinstance(node.get("graphics"), dict) else node for node in nodes]
    for x, y, sign in _POSITIONS:
        try:
            points = np.array([(float(node[x]), sign * float(node[y])) for node in flat])
        except (KeyError, TypeError, ValueError):
            continue
        return points if np.isfinite(points).all() else None
    return None


def _numbered(names: list[str], links: tuple[_Link, ...]) -> IntArray:
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


def _explicit_ports(index: Mapping[str, int], links: tuple[_Link, ...]) -> IntArray:
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
