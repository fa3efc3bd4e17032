"""The readers of files, by their endings, and of networkx graphs."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from topos.files import dot, edge_list, limits, link_attributes
from topos.files.raw import FileError, RawGraph, StatedLink, stated_link

T = TypeVar("T")


def _graphml(path: Path) -> RawGraph:
    import networkx  # a third of a second: paid only by those who read such files

    limits.check_entities(path)
    declared = _declared(path)
    read = of_networkx(networkx.read_graphml(path))
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


def _by_networkx(name: str) -> Callable[[Path], RawGraph]:
    """What a reader of networkx makes of a file."""

    def read(path: Path) -> RawGraph:
        import networkx

        if name == "read_gexf":
            limits.check_entities(path)
        return of_networkx(getattr(networkx, name)(path))

    return read


def _sparse6(path: Path) -> RawGraph:
    import networkx
    from networkx.readwrite.graph6 import data_to_n

    lines = [line.strip() for line in path.read_bytes().splitlines() if line.strip()]
    for line in lines:  # a few bytes stand for billions of nodes
        numbers = [byte - 63 for byte in line.removeprefix(b">>sparse6<<")[1:9]]
        limits.check_nodes(data_to_n(numbers)[0])
    if len(lines) > 1:
        raise FileError(f"it has {len(lines)} graphs: keep one of them")
    return of_networkx(networkx.read_sparse6(path))


def _leda(path: Path) -> RawGraph:
    import networkx

    graph = networkx.read_leda(path)
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    nodes, links = int(lines[4]), int(lines[5 + int(lines[4])])
    if len(graph) < nodes:
        raise FileError(f"its {nodes} nodes have only {len(graph)} labels: each needs one of its own, or none")
    for _, _, data in graph.edges(data=True):
        if not data["label"]:
            del data["label"]
    return _with_repeated(of_networkx(graph), links - graph.number_of_edges())


def _edge_list(path: Path) -> RawGraph:
    pairs, repeated = edge_list.read(limits.read(path, limits.GRAPH))
    nodes = dict.fromkeys(name for a, b, _ in pairs for name in (a, b))
    links = tuple(stated_link(a, b, data) for a, b, data in pairs)
    return _with_repeated(RawGraph({name: {} for name in nodes}, links), repeated)


def _with_repeated(raw: RawGraph, repeated: int) -> RawGraph:
    """A graph with a note about so many links that were stated again."""
    note = f"links stated again are left out ({repeated}): parallel links need JSON, YAML or DOT"
    return replace(raw, notes=(*raw.notes, note)) if repeated else raw


def _dot(path: Path) -> RawGraph:
    nodes, edges, directed = dot.read(limits.read(path, limits.GRAPH))
    links = [stated_link(a, b, data) for a, b, data in edges]
    return _both_ways(nodes, links) if directed else RawGraph(nodes, tuple(links))


def _json(path: Path) -> RawGraph:
    document = _checked(json.loads(limits.read(path, limits.GRAPH)))
    form = next((form for key, form in _FORMS.items() if isinstance(document, dict) and key in document), None)
    if form is None:
        return _from_mapping(document)
    import networkx

    return of_networkx(getattr(networkx, form)(document))


def _yaml(path: Path) -> RawGraph:
    from ruamel.yaml import YAML

    return _from_mapping(_checked(YAML(typ="safe", pure=True).load(limits.read_yaml(path, limits.YAML_GRAPH))))


def _checked(document: Any) -> Any:
    limits.check_values(document)
    return document


#: The forms of JSON besides nodes and links that networkx has, by a key that no other has.
_FORMS = {"adjacency": "adjacency_graph", "elements": "cytoscape_graph", "children": "tree_graph"}

READERS: dict[str, Callable[[Path], RawGraph]] = {
    ".graphml": _graphml,
    ".gml": _by_networkx("read_gml"),
    ".gexf": _by_networkx("read_gexf"),
    ".net": _by_networkx("read_pajek"),
    ".adjlist": _by_networkx("read_adjlist"),
    ".multi_adjlist": _by_networkx("read_multiline_adjlist"),
    ".g6": _by_networkx("read_graph6"),
    ".s6": _sparse6,
    ".leda": _leda,
    ".p2g": _by_networkx("read_p2g"),
    ".dot": _dot,
    ".gv": _dot,
    ".edgelist": _edge_list,
    ".txt": _edge_list,
    ".json": _json,
    ".yaml": _yaml,
    ".yml": _yaml,
}


def of_networkx(graph: Any) -> RawGraph:
    nodes = {str(name): data for name, data in graph.nodes(data=True)}
    edges = [(str(a), str(b), data) for a, b, data in graph.edges(data=True)]
    if not graph.is_directed():
        return RawGraph(nodes, tuple(_undirected(*edge) for edge in edges))
    return _both_ways(nodes, [_undirected(a, b, {"a": a, "b": b, **data}) for a, b, data in edges])


def _both_ways(nodes: Mapping[str, Mapping[str, Any]], arcs: Iterable[StatedLink]) -> RawGraph:
    """A directed graph, as one of links: it often states a link in both directions."""
    kept: list[StatedLink] = []
    single: defaultdict[tuple[str, str], list[StatedLink]] = defaultdict(list)
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
    return RawGraph(nodes, tuple(kept), tuple(notes))


def _description(link: StatedLink) -> dict[str, Any]:
    return {key: value for key, value in link.attributes.items() if key not in link_attributes.STRUCTURE}


def _undirected(a: str, b: str, data: Mapping[str, Any]) -> StatedLink:
    """A link of a graph that does not record which end was given first."""
    if "a_port" not in data and "b_port" not in data:
        return stated_link(a, b, data)
    ends = str(data.get("a")), str(data.get("b"))
    if set(ends) != {a, b}:
        raise FileError(f"link {a} - {b}: its ports need the attributes a and b, the nodes that they belong to")
    return stated_link(*ends, data)


def _from_mapping(data: object) -> RawGraph:
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
    links = [
        stated_link(str(_first(link, "a", "source")), str(_first(link, "b", "target")), link) for link in joined
    ]
    raw = _both_ways(nodes, links) if data.get("directed") is True else RawGraph(nodes, tuple(links))
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
