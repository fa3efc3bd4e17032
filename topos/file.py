"""Graphs read from files: GraphML, edge lists, JSON and YAML become a :class:`Drawing`.

JSON and YAML hold either ``{"nodes": [{"name", "kind"}], "links": [{"a", "b"}]}``, with
``a_port`` and ``b_port`` where ports matter (what ``dcnlab topology --json`` prints), or
networkx's node-link form (``id``, ``source``, ``target``, ``edges``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from topos.graph import IntArray
from topos.wiring import numbered_ports

#: Files that come with the program, found by their bare name.
SAMPLES = Path(__file__).parent / "samples"
#: OpenFlow's highest port number.
_MAX_PORT = 0xFF00

T = TypeVar("T")


class FileError(ValueError):
    """A file that holds no usable graph; its text is one line: the file, and what is wrong."""


@dataclass(frozen=True, eq=False)
class GraphData:
    """What a file says: node names, servers before switches; how many are servers, or None when
    no node states a kind; links as rows ``(a, a_port, b, b_port)``."""

    names: tuple[str, ...]
    servers: int | None
    links: IntArray


@dataclass(frozen=True)
class _Raw:
    """Nodes with their kinds and links with their ports, as read."""

    kinds: Mapping[str, str | None]
    links: tuple[tuple[str, object, str, object], ...]


def load(path: str) -> GraphData:
    """The graph in a file, relative to the working directory or to the samples; raises FileError."""
    place = Path(path) if Path(path).exists() else SAMPLES / path
    reader = _READERS.get(place.suffix.lower())
    if reader is None:
        raise FileError(f"{path}: unknown kind of file: known are {', '.join(_READERS)}")
    try:
        return _graph_data(reader(place))
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or error}") from error
    except FileError as error:
        raise FileError(f"{path}: {error}") from error
    except Exception as error:  # each parser has its own errors, without a common base
        first = str(error).strip().partition("\n")[0]
        raise FileError(f"{path}: cannot be read as {place.suffix[1:]}: {first}") from error


def _graphml(path: Path) -> _Raw:
    import networkx  # a third of a second: paid only by those who read such files

    return _from_networkx(networkx.read_graphml(path))


def _edge_list(path: Path) -> _Raw:
    import networkx

    return _from_networkx(networkx.read_edgelist(path))


def _json(path: Path) -> _Raw:
    return _from_mapping(json.loads(path.read_text(encoding="utf-8")))


def _yaml(path: Path) -> _Raw:
    from ruamel.yaml import YAML

    return _from_mapping(YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8")))


_READERS: dict[str, Callable[[Path], _Raw]] = {
    ".graphml": _graphml,
    ".edgelist": _edge_list,
    ".txt": _edge_list,
    ".json": _json,
    ".yaml": _yaml,
    ".yml": _yaml,
}


def _from_networkx(graph: Any) -> _Raw:
    """A link may be named in both directions: directed graphs and edge lists often do."""
    kinds = {str(name): data.get("kind") for name, data in graph.nodes(data=True)}
    edges = graph.to_undirected().edges(data=True)
    return _Raw(kinds, tuple((str(a), d.get("a_port"), str(b), d.get("b_port")) for a, b, d in edges))


def _from_mapping(data: object) -> _Raw:
    if not isinstance(data, dict):
        raise FileError("must be a mapping with nodes and links")
    kinds: dict[str, str | None] = {}
    for node in _records(data, "nodes"):
        name = str(_first(node, "name", "id"))
        if name in kinds:
            raise FileError(f"node {name} is listed twice")
        kinds[name] = node.get("kind")
    links = []
    for link in _records(data, "links", "edges"):
        a, b = str(_first(link, "a", "source")), str(_first(link, "b", "target"))
        links.append((a, link.get("a_port"), b, link.get("b_port")))
    return _Raw(kinds, tuple(links))


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


def _graph_data(raw: _Raw) -> GraphData:
    stated = [name for name, kind in raw.kinds.items() if kind is not None]
    for name, kind in raw.kinds.items():
        if stated and kind not in ("server", "switch"):
            raise FileError(f"node {name}: kind must be server or switch, not {kind!r}")
    names = sorted(raw.kinds, key=lambda name: raw.kinds[name] == "switch")
    servers = sum(raw.kinds[name] == "server" for name in names) if stated else None
    if not names or servers == 0:
        raise FileError("there is no server in it")
    return GraphData(tuple(names), servers, _links(names, raw))


def _links(names: list[str], raw: _Raw) -> IntArray:
    """The links by node number; without port numbers, ports are numbered in the file's order."""
    index = {name: number for number, name in enumerate(names)}
    for a, _, b, _ in raw.links:
        for name in (a, b):
            if name not in index:
                raise FileError(f"link {a} - {b}: there is no node {name}")
        if a == b:
            raise FileError(f"node {a} is linked to itself")
    given = [a_port is not None or b_port is not None for _, a_port, _, b_port in raw.links]
    if any(given):
        return _explicit_ports(index, raw)
    pairs = [(index[a], index[b]) for a, _, b, _ in raw.links]
    return numbered_ports(np.array(pairs, dtype=np.int64).reshape(-1, 2))


def _explicit_ports(index: Mapping[str, int], raw: _Raw) -> IntArray:
    used: set[tuple[str, int]] = set()
    rows = []
    for a, a_port, b, b_port in raw.links:
        for name, port in ((a, a_port), (b, b_port)):
            if not isinstance(port, int) or not 1 <= port <= _MAX_PORT:
                raise FileError(f"link {a} - {b}: port of {name} must be 1 to {_MAX_PORT}, not {port!r}")
            if (name, port) in used:
                raise FileError(f"port {port} of {name} is used twice")
            used.add((name, port))
        rows.append((index[a], a_port, index[b], b_port))
    return np.array(rows, dtype=np.int32)
