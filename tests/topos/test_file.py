"""Graphs from files: the files that networkx writes are read; errors are one line."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from tests.topos.graphs import built, graph, links, refusal
from topos.fabric import Fabric
from topos.files import file
from topos.files.raw import FileError
from topos.files.readers import READERS
from topos.registry import fabric, parse
from topos.spec import SpecError


def two_tier() -> nx.Graph:
    tiers = nx.Graph()
    tiers.add_nodes_from(["leaf1", "leaf2"], kind="switch")
    tiers.add_nodes_from(["a", "b", "c"], kind="server")
    tiers.add_edges_from([("leaf1", "leaf2"), ("leaf1", "a"), ("leaf1", "b"), ("leaf2", "c")])
    return tiers


def write(path: Path, network: nx.Graph) -> str:
    if path.suffix == ".graphml":
        nx.write_graphml(network, path)
    elif path.suffix == ".edgelist":
        nx.write_edgelist(network, path, data=False)
    elif path.suffix == ".json":
        path.write_text(json.dumps(nx.node_link_data(network, edges="edges")))
    else:
        with path.open("w") as stream:
            YAML(typ="safe").dump(nx.node_link_data(network, edges="links"), stream)
    return str(path)


def named(network: Fabric) -> set[frozenset[str]]:
    return {frozenset((network.family.label(a), network.family.label(b))) for a, b in links(network)}


@pytest.mark.parametrize("suffix", [".graphml", ".json", ".yaml", ".yml"])
def test_kinds_are_read_in_every_form(suffix: str, tmp_path: Path) -> None:
    network = fabric(f"file:{write(tmp_path / f'net{suffix}', two_tier())}")
    assert (network.servers, network.switches) == (3, 2)
    assert [n.label for n in network.nodes()] == ["a", "b", "c", "leaf1", "leaf2"]
    assert network.index("leaf2") == network.index("s1") == 4
    assert named(network) == {frozenset(e) for e in two_tier().edges()}
    assert not network.relaying


@pytest.mark.parametrize("suffix", [".graphml", ".edgelist", ".json", ".yaml"])
def test_without_kinds_it_is_a_plain_graph(suffix: str, tmp_path: Path) -> None:
    petersen = nx.relabel_nodes(nx.petersen_graph(), str)
    spec = f"file:{write(tmp_path / f'petersen{suffix}', petersen)}"
    bare, loaded = fabric(spec), fabric(f"{spec},hosts=2")
    assert (bare.servers, bare.switches, loaded.servers, loaded.switches) == (10, 0, 20, 10)
    assert named(bare) == {frozenset(e) for e in petersen.edges()}
    assert nx.is_isomorphic(nx.Graph(graph(bare)), petersen)
    assert loaded.index("7.1") == 2 * bare.index("7") + 1


def test_directed_graphs_and_doubled_edges_are_undirected(tmp_path: Path) -> None:
    both = nx.DiGraph([("x", "y"), ("y", "x"), ("y", "z")])
    assert len(fabric(f"file:{write(tmp_path / 'directed.graphml', both)}").link_ends) == 2
    assert len(fabric(f"file:{write(tmp_path / 'doubled.edgelist', both)}").link_ends) == 2


def as_printed(network: Fabric) -> dict[str, Any]:
    """The value that `dcnlab topology SPEC --json` prints."""
    return {
        "nodes": [{"name": n.name, "kind": n.kind, "label": n.label} for n in network.nodes()],
        "links": [
            {"a": network.name(a), "a_port": p, "b": network.name(b), "b_port": q}
            for a, p, b, q in network.link_ends.tolist()
        ],
    }


@pytest.mark.parametrize(
    "spec", ["bcube:3,1", "clot:4x4", "ficonn:4,1", "hypercube:3,hosts=2", "file:leafspine.yaml"]
)
def test_printed_topologies_are_read_back_port_by_port(spec: str, tmp_path: Path) -> None:
    network, path = built(spec), tmp_path / "printed.json"
    path.write_text(json.dumps(as_printed(network)))
    again = fabric(f"file:{path}")
    assert (again.servers, again.switches) == (network.servers, network.switches)
    assert np.array_equal(again.link_ends, network.link_ends)
    assert all(again.index(network.name(v)) == v for v in range(network.size))


def test_the_samples_are_found_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert parse("file:leafspine.yaml").counts() == (6, 5)
    assert nx.is_isomorphic(nx.Graph(graph(fabric("file:petersen.edgelist"))), nx.petersen_graph())


NODES = [{"name": "a", "kind": "server"}, {"name": "s", "kind": "switch"}]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "must be a mapping with nodes and links"),
        ({}, "nodes is missing in {}"),
        ({"nodes": []}, 'links or edges is missing in {"nodes": []}'),
        ({"nodes": 3, "links": []}, "nodes must be a list of mappings"),
        ({"nodes": [{"kind": "server"}], "links": []}, 'name or id is missing in {"kind": "server"}'),
        ({"nodes": [NODES[0], NODES[0]], "links": []}, "node a is listed twice"),
        (
            {"nodes": [NODES[0], {"name": "b"}], "links": []},
            "node b: kind must be server, switch or router, not None",
        ),
        (
            {"nodes": [{"name": "a", "kind": "hub"}], "links": []},
            "node a: kind must be server, switch or router, not 'hub'",
        ),
        ({"nodes": NODES[1:], "links": []}, "there is no server in it"),
        ({"nodes": [], "links": []}, "there is no server in it"),
        ({"nodes": NODES, "links": [{"a": "a", "b": "x"}]}, "link a - x: there is no node x"),
        ({"nodes": NODES, "links": [{"a": "a", "b": "a"}]}, "node a is linked to itself"),
        ({"nodes": NODES, "links": [{"a": "a"}]}, 'b or target is missing in {"a": "a"}'),
        (
            {"nodes": NODES, "links": [{"a": "a", "a_port": 1, "b": "s", "b_port": 0}]},
            "link a - s: port of s must be 1 to 65280, not 0",
        ),
        (
            {"nodes": NODES, "links": [{"a": "a", "a_port": 1, "b": "s"}]},
            "link a - s: port of s must be 1 to 65280, not None",
        ),
        (
            {"nodes": NODES, "links": [{"a": "a", "a_port": 1, "b": "s", "b_port": p} for p in (1, 2)]},
            "port 1 of a is used twice",
        ),
    ],
)
def test_errors_name_the_file_and_the_problem(data: object, message: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(data))
    with pytest.raises(SpecError) as caught:
        parse(f"file:{path}")
    assert str(caught.value) == f"file: {path}: {message}"


UNKNOWN = f"unknown kind of file: known are {', '.join(READERS)}"


ENDINGS = {
    "pajek": "net", "graph6": "g6", "sparse6": "s6", "multiline_adjlist": "multi_adjlist",
    "weighted_edgelist": "edgelist",
}  # fmt: skip


@pytest.mark.parametrize("packed", ["", ".gz", ".bz2"])
@pytest.mark.parametrize(
    "kind",
    ["gml", "gexf", "graphml", "adjlist", "edgelist", *ENDINGS],
)
def test_what_networkx_writes_is_the_same_graph(kind: str, packed: str, tmp_path: Path) -> None:
    random = nx.random_regular_graph(3, 12, seed=1)
    path = tmp_path / f"net.{ENDINGS.get(kind, kind)}{packed}"
    getattr(nx, f"write_{kind}")(random, path)
    same_graph(random, path)


@pytest.mark.parametrize("form", ["node_link_data", "adjacency_data", "cytoscape_data"])
def test_json_of_networkx_is_the_same_graph(form: str, tmp_path: Path) -> None:
    random = nx.random_regular_graph(3, 12, seed=1)
    (path := tmp_path / "net.json").write_text(json.dumps(getattr(nx, form)(random)))
    same_graph(random, path)


def test_a_tree_in_json_is_the_same_graph(tmp_path: Path) -> None:
    tree = nx.balanced_tree(2, 3, create_using=nx.DiGraph)
    (path := tmp_path / "net.json").write_text(json.dumps(nx.tree_data(tree, root=0)))
    same_graph(tree, path)


LEDA = """LEDA.GRAPH
string
int
-2
{count}
{nodes}
3
1 2 0 |{{}}|
2 3 0 |{{}}|
{last} 0 |{{}}|
"""


def test_leda_files(tmp_path: Path) -> None:
    path = tmp_path / "net.leda"
    path.write_text(LEDA.format(count=3, nodes="|{a}|\n|{b}|\n|{c}|", last="3 1"))
    data = file.load(str(path))
    assert (data.names, data.notes) == (("a", "b", "c"), ())
    assert data.links[:, [0, 2]].tolist() == [[0, 1], [0, 2], [1, 2]]
    path.write_text(LEDA.format(count=3, nodes="|{}|\n|{}|\n|{}|", last="2 1"))
    with pytest.warns(file.GraphNote, match=r"links stated again are left out \(1\)"):
        assert file.load(str(path)).names == ("1", "2", "3")
    path.write_text(LEDA.format(count=3, nodes="|{a}|\n|{a}|\n|{c}|", last="3 1"))
    with pytest.raises(FileError, match="its 3 nodes have only 2 labels"):
        file.load(str(path))


def test_a_file_of_several_graphs_is_refused(tmp_path: Path) -> None:
    (path := tmp_path / "net.s6").write_bytes(b">>sparse6<<:Fa@x^\n:Fa@x^\n")
    with pytest.raises(FileError, match="it has 2 graphs: keep one of them"):
        file.load(str(path))


def same_graph(graph: nx.Graph, path: Path) -> None:
    """Check that the file has this graph, whose nodes are numbers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", file.GraphNote)  # Pajek's files state a weight of every link
        data = file.load(str(path))
    links = {frozenset((int(data.names[a]), int(data.names[b]))) for a, _, b, _ in data.links.tolist()}
    assert len(data.names) == len(graph)
    assert links == {frozenset(edge) for edge in graph.edges}


def test_unusable_paths(tmp_path: Path) -> None:
    for name, message in (
        ("none.json", "No such file or directory"),
        (
            "net.xyz",
            UNKNOWN,
        ),
        (
            "net",
            UNKNOWN,
        ),
    ):
        with pytest.raises(SpecError) as caught:
            parse(f"file:{tmp_path / name}")
        assert str(caught.value) == f"file: {tmp_path / name}: {message}"
    (tmp_path / "dir.json").mkdir()
    with pytest.raises(SpecError, match="Is a directory"):
        parse(f"file:{tmp_path / 'dir.json'}")
    path = write(tmp_path / "net.json", two_tier())
    with pytest.raises(SpecError, match="states which nodes are servers: it takes no hosts="):
        parse(f"file:{path},hosts=1")


@pytest.mark.parametrize("suffix", ["graphml", "gml", "edgelist", "json", "yaml"])
@given(
    content=st.binary(max_size=60) | st.text(alphabet="{}[]:,-<>/abc 1\n\"'&*!#", max_size=60).map(str.encode)
)
@settings(max_examples=60, deadline=None)
def test_no_content_raises_anything_else(
    suffix: str, content: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"fuzz.{suffix}"
    path.write_bytes(content)
    message = refusal(f"file:{path}")
    if message is None:
        assert fabric(f"file:{path}").adjacency.start[0] == 0
    else:
        assert "\n" not in message
        assert str(path) in message
