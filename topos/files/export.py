"""Networks written for other programs: JSON, GraphML, GML, DOT, Mermaid, networkx.

JSON, GraphML, GML and DOT are read back as ``file:PATH`` with the same nodes, ports, links and labels, the
positions of the drawing (except JSON) and the attributes of links.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from topos.constructions.layout import positions
from topos.fabric import Fabric
from topos.files import dot

#: Names that Mermaid takes as they are, and characters that mean something to it.
_OWN_NAME, _SPECIAL = re.compile(r"[hs]\d+"), re.compile(r"[^\w .,:=/()+*-]")
#: Above this many nodes a drawing by distances takes too long for a file: only families' own drawings.
_MAX_DRAWN = 1000
#: Links that are listed at a time.
_BLOCK = 1 << 14

Attributes = dict[str, Any]


def json_text(fabric: Fabric) -> Iterator[str]:
    """Nodes and links as JSON, and notes if there are any, in pieces: a large network is not held twice."""
    nodes = ({"name": node.name, "kind": node.kind, "label": node.label} for node in fabric.nodes())
    notes = [json.dumps(note) for note in fabric.family.notes()]
    yield '{\n  "nodes": '
    yield from _listed(map(_item, nodes))
    yield ',\n  "links": '
    yield from _listed(map(_item, _links(fabric)))
    if notes:
        yield ',\n  "notes": '
        yield from _listed(iter(notes))
    yield "\n}\n"


def _listed(items: Iterator[str]) -> Iterator[str]:
    before = "[\n    "
    for item in items:
        yield before + item
        before = ",\n    "
    yield "[]" if before[0] == "[" else "\n  ]"


def _item(values: Attributes) -> str:
    inside = ",\n".join(f"      {json.dumps(key)}: {json.dumps(value)}" for key, value in values.items())
    return f"{{\n{inside}\n    }}"


def _links(fabric: Fabric) -> Iterator[Attributes]:
    for number, (a, b, data) in enumerate(_edges(fabric)):
        yield {"a": a, "a_port": data["a_port"], "b": b, "b_port": data["b_port"], **fabric.attributes(number)}


def to_networkx(fabric: Fabric) -> Any:
    """A ``networkx.MultiGraph``: nodes by name with kind, coordinates and position; links with the ports of
    their ends, their number and their attributes."""
    import networkx  # a third of a second: only where it is needed

    graph = networkx.MultiGraph(name=fabric.spec)
    graph.add_nodes_from(_nodes(fabric).items())
    graph.add_edges_from(_edges(fabric))
    return graph


def _json(fabric: Fabric) -> str:
    return "".join(json_text(fabric))


def _graphml(fabric: Fabric) -> str:
    import networkx

    return "\n".join(networkx.generate_graphml(to_networkx(fabric))) + "\n"


def _gml(fabric: Fabric) -> str:
    import networkx

    return "\n".join(networkx.generate_gml(to_networkx(fabric))) + "\n"


def _dot(fabric: Fabric) -> str:
    return dot.write(fabric.spec, _nodes(fabric), _edges(fabric))


def _mermaid(fabric: Fabric) -> str:
    """A flow chart without directions: servers as boxes, switches as rounded boxes."""
    lines, ids = ["graph LR"], {}
    for node in fabric.nodes():
        ids[node.name] = node.name if _OWN_NAME.fullmatch(node.name) else f"n{node.index}"
        opening, closing = ("[", "]") if node.kind == "server" else ("(", ")")
        text = _SPECIAL.sub(lambda character: f"#{ord(character[0])};", f"{node.name} {node.label}")
        lines.append(f'  {ids[node.name]}{opening}"{text}"{closing}')
    lines += [f"  {ids[a]} --- {ids[b]}" for a, b, _ in _edges(fabric)]
    return "\n".join(lines) + "\n"


#: The text of a network in each format.
WRITERS: dict[str, Callable[[Fabric], str]] = {
    "json": _json,
    "graphml": _graphml,
    "gml": _gml,
    "dot": _dot,
    "mermaid": _mermaid,
}


def _nodes(fabric: Fabric) -> dict[str, Attributes]:
    nodes: dict[str, Attributes] = {
        node.name: {"kind": node.kind, "coordinates": node.label} for node in fabric.nodes()
    }
    points = positions(fabric) if fabric.size <= _MAX_DRAWN else fabric.family.layout()
    if points is not None:
        for attributes, (x, y) in zip(nodes.values(), points.round(4).tolist(), strict=True):
            attributes |= {"x": x, "y": y}
    return nodes


def _edges(fabric: Fabric) -> Iterator[tuple[str, str, Attributes]]:
    blocks = (fabric.link_ends[i : i + _BLOCK].tolist() for i in range(0, len(fabric.link_ends), _BLOCK))
    for number, (a, a_port, b, b_port) in enumerate(itertools.chain.from_iterable(blocks)):
        ends = {"a": fabric.name(a), "a_port": a_port, "b": fabric.name(b), "b_port": b_port}
        own = {key: _scalar(value) for key, value in fabric.attributes(number).items()}
        yield ends["a"], ends["b"], {**own, **ends, "number": number}


def _scalar(value: object) -> object:
    """A value that every format knows."""
    return value if isinstance(value, bool | int | float | str) else str(value)
