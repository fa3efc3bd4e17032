"""Networks written for other programs: JSON, GraphML, GML, DOT, Mermaid, networkx.

JSON, GraphML, GML and DOT are read back as ``file:PATH`` with the same nodes, ports, links and labels, the
positions of the drawing (except JSON) and the attributes of links.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from topos import dot
from topos.fabric import Fabric
from topos.layout import positions

#: Names that Mermaid takes as they are, and characters that mean something to it.
_OWN_NAME, _SPECIAL = re.compile(r"[hs]\d+"), re.compile(r"[^\w .,:=/()+*-]")
#: Above this many nodes a drawing by distances takes too long for a file: only families' own drawings.
_MAX_DRAWN = 1000

Attributes = dict[str, Any]


def document(fabric: Fabric) -> Attributes:
    """Nodes and links as JSON, and notes if there are any: the value that ``dcnlab topology --json`` prints."""
    notes = list(fabric.family.notes())
    return {
        "nodes": [{"name": node.name, "kind": node.kind, "label": node.label} for node in fabric.nodes()],
        "links": [
            {"a": a, "a_port": data["a_port"], "b": b, "b_port": data["b_port"], **fabric.attributes(number)}
            for number, (a, b, data) in enumerate(_edges(fabric))
        ],
        **({"notes": notes} if notes else {}),
    }


def to_networkx(fabric: Fabric) -> Any:
    """A ``networkx.MultiGraph``: nodes by name with kind, coordinates and position; links with the ports of
    their ends, their number and their attributes."""
    import networkx  # a third of a second: only where it is needed

    graph = networkx.MultiGraph(name=fabric.spec)
    graph.add_nodes_from(_nodes(fabric).items())
    graph.add_edges_from(_edges(fabric))
    return graph


def _json(fabric: Fabric) -> str:
    return json.dumps(document(fabric), indent=2) + "\n"


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
        text = _SPECIAL.sub(lambda found: f"#{ord(found[0])};", f"{node.name} {node.label}")
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
    for number, (a, a_port, b, b_port) in enumerate(fabric.link_ends.tolist()):
        ends = {"a": fabric.name(a), "a_port": a_port, "b": fabric.name(b), "b_port": b_port}
        own = {key: _scalar(value) for key, value in fabric.attributes(number).items()}
        yield ends["a"], ends["b"], {**own, **ends, "number": number}


def _scalar(value: object) -> object:
    """A value that every format knows."""
    return value if isinstance(value, bool | int | float | str) else str(value)
