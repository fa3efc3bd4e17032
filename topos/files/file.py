"""Graphs from outside: of networkx, and of files: DOT, YAML, and all that networkx reads, also as .gz or .bz2.

JSON and YAML hold either ``{"nodes": [{"name", "kind"}], "links": [{"a", "b"}]}``, with ``a_port`` and
``b_port`` where ports matter (the output of ``dcnlab topology --json``), or networkx's node-link form
(``id``, ``source``, ``target``, ``edges``).  JSON may also have its other forms: adjacency, cytoscape, tree.

Attributes of nodes: ``kind`` (server, switch, or router: a switch unless programs route), ``router`` (yes: a
node of another kind forwards too), or Mininet's ``isSwitch``; ``label``, or ``coordinates`` where the format
needs ``label`` itself; ``x`` and ``y``, or Graphviz's ``pos``, GML's ``graphics``, ``Longitude`` and
``Latitude``. Attributes of links: ``a_port`` and ``b_port``, with ``a`` and ``b`` as the names of the ends
where the graph has no direction; ``number``, the order of the links; those of :mod:`link_attributes`.

What is read other than it is written, or not at all, is a note: one line, issued as a :class:`GraphNote`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from topos.files import dot, edge_list, limits
from topos.files.numbering import GraphData, graph_data
from topos.files.raw import FileError, RawGraph, stated_link
from topos.files.readers import READERS, of_networkx

#: Files that come with the program, found by their bare name.
SAMPLES = Path(__file__).parents[1] / "samples"
#: The Earth's mean radius, and how far light goes in fibre in a millisecond.
_EARTH_KM, _KM_PER_MS = 6371.0, 200.0


class GraphNote(UserWarning):
    """One line about what of a file or a graph is not used, or not as it is written."""


def load(path: str) -> GraphData:
    """The graph in a file, relative to the working directory or to the samples; raises FileError."""
    place = Path(path) if Path(path).exists() else SAMPLES / path
    kind = (place.with_suffix("") if place.suffix.lower() in limits.PACKED else place).suffix.lower()
    if kind not in READERS:
        raise FileError(f"{path}: unknown kind of file: known are {', '.join(READERS)}")
    try:
        limits.check_size(place, limits.GRAPH)
        with limits.unpacked(place) as plain:
            return _noted(path, graph_data(READERS[kind](plain)))
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or error}") from error
    except (FileError, dot.DotError, edge_list.EdgeListError, limits.LimitError) as error:
        raise FileError(f"{path}: {error}") from error
    except RecursionError:
        raise FileError(f"{path}: it is nested too deeply") from None
    except Exception as error:  # each parser has its own errors, without a common base
        first = str(error).strip().partition("\n")[0]
        raise FileError(f"{path}: cannot be read as {kind[1:]}: {first}") from error


def from_networkx(graph: Any) -> GraphData:
    """A networkx graph with the attributes that files may have; raises FileError."""
    data = graph_data(replace(of_networkx(graph), title=str(getattr(graph, "name", ""))))
    return _noted(data.title or "graph", data)


def from_parts(
    nodes: Mapping[str, Mapping[str, Any]], links: Iterable[Mapping[str, Any]], notes: Iterable[str], title: str
) -> GraphData:
    """The graph of these nodes and links, whose ends are ``a`` and ``b``, with the attributes that files may
    have; raises FileError."""
    ends = tuple(stated_link(str(link["a"]), str(link["b"]), link) for link in links)
    return _noted(title, graph_data(RawGraph(nodes, ends, tuple(notes), title)))


def with_delays(data: GraphData) -> GraphData:
    """The graph with delays by the distances of its nodes, where a link states none: light in fibre takes 5 us
    a kilometre.  FileError where the nodes have no longitudes and latitudes."""
    if data.positions is None or not data.geographic:
        raise FileError("delays=distance needs the longitude and the latitude of every node")
    places = np.radians(data.positions)
    a, b = places[data.links[:, 0]], places[data.links[:, 2]]
    across = np.sin((a - b) / 2) ** 2
    arcs = 2 * np.arcsin(np.sqrt(across[:, 1] + np.cos(a[:, 1]) * np.cos(b[:, 1]) * across[:, 0]))
    delays = (_EARTH_KM * arcs / _KM_PER_MS).tolist()
    attributes = (
        {"delay": f"{delay:.3f}ms", **given} for delay, given in zip(delays, data.attributes, strict=True)
    )
    return replace(data, attributes=tuple(attributes))


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
        {"name": name, "label": label, "kind": kind, **({"router": True} if number in data.routers else {})}
        for number, (name, label, kind) in enumerate(zip(data.names, data.labels, kinds, strict=True))
    ]
    if data.positions is not None:
        for node, (x, y) in zip(nodes, data.positions.tolist(), strict=True):
            node |= {"x": x, "y": y}
    links = [
        {**attributes, "a": data.names[a], "a_port": a_port, "b": data.names[b], "b_port": b_port}
        for attributes, (a, a_port, b, b_port) in zip(data.attributes, data.links.tolist(), strict=True)
    ]
    return {"title": data.title, "nodes": nodes, "links": links}
