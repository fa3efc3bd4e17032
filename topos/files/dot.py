"""Graphviz's DOT: written here, read with pydot (``pip install 'dcnlab[dot]'``)."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Attributes = dict[str, Any]
Nodes = dict[str, Attributes]
Edges = list[tuple[str, str, Attributes]]


class DotError(ValueError):
    """A text that is no graph in DOT; half a line."""


def write(title: str, nodes: Mapping[str, Attributes], edges: Iterable[tuple[str, str, Attributes]]) -> str:
    """An undirected graph; nodes with x and y get the ``pos`` that neato -n reads."""
    lines = [f"graph {_quoted(title)} {{"]
    for name, attributes in nodes.items():
        kept = {key: value for key, value in attributes.items() if key not in ("x", "y")}
        if "x" in attributes:
            kept["pos"] = f"{attributes['x']},{-attributes['y']}!"  # y grows upwards in DOT
        lines.append(f"  {_quoted(name)}{_list(kept)};")
    lines += [f"  {_quoted(a)} -- {_quoted(b)}{_list(attributes)};" for a, b, attributes in edges]
    return "\n".join([*lines, "}", ""])


def read(text: str) -> tuple[Nodes, Edges, bool]:
    """Nodes and edges with their attributes, those of subgraphs as well, and whether edges have a direction;
    raises DotError."""
    try:
        import pydot
    except ImportError:
        raise DotError("DOT files need pydot: pip install 'dcnlab[dot]'") from None
    said = io.StringIO()
    with contextlib.redirect_stdout(said):  # where pydot reports what it cannot parse
        graphs = pydot.graph_from_dot_data(text)
    if not graphs:
        lines = said.getvalue().strip().splitlines()
        raise DotError(lines[-1] if lines else "there is no graph in it")
    nodes: Nodes = {}
    edges: Edges = []
    for graph in _with_subgraphs(graphs[0]):
        for node in graph.get_nodes():
            if (name := _plain(node.get_name())) not in ("node", "edge", "graph", "\\n"):
                nodes.setdefault(name, {}).update(_attributes(node))
        for edge in graph.get_edges():
            a, b = (_end(end) for end in (edge.get_source(), edge.get_destination()))
            nodes.setdefault(a, {})
            nodes.setdefault(b, {})
            edges.append((a, b, _attributes(edge)))
    return nodes, edges, graphs[0].get_type() == "digraph"


def _with_subgraphs(graph: Any) -> Iterator[Any]:
    yield graph
    for inner in graph.get_subgraphs():
        yield from _with_subgraphs(inner)


def _end(end: Any) -> str:
    """The node at the end of an edge, without the port of its shape (``a:p1``)."""
    if not isinstance(end, str):
        raise DotError("an edge joins a whole subgraph: write an edge per node")
    return _plain(end) if end.startswith('"') else end.partition(":")[0]


def _attributes(item: Any) -> Attributes:
    attributes: Attributes = {key: _plain(str(value)) for key, value in item.get_attributes().items()}
    if "pos" in attributes:
        x, _, y = attributes.pop("pos").rstrip("!").partition(",")
        with contextlib.suppress(ValueError):
            attributes |= {"x": float(x), "y": -float(y)}
    return attributes


def _list(attributes: Mapping[str, Any]) -> str:
    if not attributes:
        return ""
    return " [" + ", ".join(f"{key}={_quoted(value)}" for key, value in attributes.items()) + "]"


def _quoted(value: object) -> str:
    text = str(value)
    return text if text.isdecimal() else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _plain(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    return text
