"""Networks written in each format are read back: nodes, labels, ports, links, positions, attributes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import networkx as nx
import numpy as np
import pytest

from dcnlab.cli.commands.topology import Format
from dcnlab.lab.drawing.svg import svg
from topos.constructions.layout import positions, scaled
from topos.fabric import Fabric
from topos.files.export import WRITERS, to_networkx
from topos.registry import fabric, from_networkx, known
from topos.spec import SpecError

EXAMPLES = [family.example for family in known().values()]
MORE = [
    "bcube:2,2",
    "hypercube:3,hosts=2",
    "torus:2x3",
    "torus:3x3x3",
    "file:leafspine.yaml",
    "bcube:3,1,parts=2",
]


def needs(form: str) -> None:
    """DOT is read with pydot, an optional package; CI has it."""
    if form == "dot" and not os.environ.get("DCNLAB_REQUIRE_LABS"):
        pytest.importorskip("pydot")


def written(network: Fabric, form: str, folder: Path) -> str:
    needs(form)
    path = folder / f"net.{form}"
    path.write_text(WRITERS[form](network))
    return f"file:{path}"


def same(a: Fabric, b: Fabric) -> None:
    assert (a.servers, a.switches) == (b.servers, b.switches)
    assert np.array_equal(a.link_ends, b.link_ends)
    assert [node.label for node in a.nodes()] == [node.label for node in b.nodes()]
    assert [a.index(a.family.label(v)) for v in range(a.size)] == list(range(a.size))


#: pydot takes half a second for some of them, so it reads only those that differ for a writer.
IN_DOT = {*MORE, "clot:4x4", "fattree:4", "smallworld:4x4,clusters=2x2"}
WRITTEN = [
    (spec, form)
    for spec in (*EXAMPLES, *MORE)
    for form in ("json", "graphml", "gml", "dot")
    if form != "dot" or spec in IN_DOT
]


@pytest.mark.parametrize(("spec", "form"), WRITTEN)
def test_what_is_written_is_read_back(spec: str, form: str, tmp_path: Path) -> None:
    network = fabric(spec)
    again = fabric(written(network, form, tmp_path))
    same(again, network)
    if form != "json":
        ends = network.link_ends[:, [0, 2]]
        assert np.allclose(positions(again), scaled(positions(network).round(4), ends), atol=1e-6)


@pytest.mark.parametrize("form", ["graphml", "gml", "dot", "json"])
def test_attributes_of_links_are_kept(form: str, tmp_path: Path) -> None:
    graph = nx.Graph(name="wan")
    graph.add_edge("Oslo", "Rome", length=2009.5, line="A-12")
    graph.add_edge("Oslo", "Bern", length=1400.25, line='the "old" one')
    network = from_networkx(graph)
    again = fabric(written(network, form, tmp_path))
    same(again, network)
    for link in range(2):
        kept = again.attributes(link)
        assert (float(kept["length"]), kept["line"]) == tuple(network.attributes(link).values())


def test_graphviz_reads_the_dot_file(tmp_path: Path) -> None:
    if not shutil.which("neato"):
        pytest.skip("needs Graphviz")
    path = tmp_path / "net.dot"
    path.write_text(WRITERS["dot"](fabric("clot:4x4")))
    done = subprocess.run(["neato", "-n", "-Tplain", str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.count("\nnode ") == 20


def test_dot_of_other_programs_is_read(tmp_path: Path) -> None:
    needs("dot")
    (tmp_path / "net.gv").write_text(
        'strict graph G { node [shape=box]; a [label="Edge, 1" pos="10,20!"]; a -- b -- "c d" [bw=5];\n'
        " subgraph cluster_x { d -- a:p1; } }"
    )
    network = fabric(f"file:{tmp_path / 'net.gv'}")
    assert [node.label for node in network.nodes()] == ["Edge, 1", "b", "c d", "d"]
    named = [{network.family.label(link.a.node), network.family.label(link.b.node)} for link in network.links()]
    assert named == [{"Edge, 1", "b"}, {"b", "c d"}, {"d", "Edge, 1"}]
    assert [dict(network.attributes(link)) for link in range(3)] == [{"rate": "5Mbit"}, {"rate": "5Mbit"}, {}]
    for text, message in (
        ("graph { a -- ", "cannot be read|Expected|there is no graph"),
        ("graph { {a b} -- c }", "an edge joins a whole subgraph"),
        ("", "there is no graph|Expected|no server"),
    ):
        (tmp_path / "wrong.dot").write_text(text)
        with pytest.raises(SpecError, match=message) as caught:
            fabric(f"file:{tmp_path / 'wrong.dot'}")
        assert "\n" not in str(caught.value)


def test_positions_and_labels_of_other_programs_are_read(tmp_path: Path) -> None:
    (tmp_path / "zoo.gml").write_text(
        'graph [ node [ id 0 label "A" Longitude 1.0 Latitude 50.0 ] node [ id 1 label "B" Longitude 4.0'
        ' Latitude 54.0 ] edge [ source 0 target 1 LinkSpeed "10" ] ]'
    )
    (tmp_path / "yed.gml").write_text(
        'graph [ node [ id 0 label "A" graphics [ x 0.0 y 10.0 ] ] node [ id 1 label "B" graphics [ x 0.0'
        " y 30.0 ] ] edge [ source 0 target 1 ] ]"
    )
    zoo, yed = fabric(f"file:{tmp_path / 'zoo.gml'}"), fabric(f"file:{tmp_path / 'yed.gml'}")
    scale, placed = zoo.family.map_scale, positions(zoo)
    assert scale is not None
    assert np.allclose(placed, np.array([[1.0, -50.0], [4.0, -54.0]]) * scale)  # north is up
    assert np.linalg.norm(placed[1] - placed[0]) == pytest.approx(1)
    assert scale[0] / scale[1] == pytest.approx(np.cos(np.radians(52)))
    assert dict(zoo.attributes(0)) == {"LinkSpeed": "10"}
    assert np.allclose(positions(yed), [[0, 0.5], [0, 1.5]])


def test_labels_that_are_not_distinct_are_not_used(tmp_path: Path) -> None:
    graph = nx.Graph([("a", "b")])
    nx.set_node_attributes(graph, "router", "label")
    assert [node.label for node in from_networkx(graph).nodes()] == ["a", "b"]


def test_networkx_there_and_back() -> None:
    for spec in ("bcube:3,1", "smallworld:4x4", "hcn:3,1"):
        network = fabric(spec)
        graph = to_networkx(network)
        assert graph.number_of_edges() == len(network.link_ends)
        same(from_networkx(graph), network)


def test_a_graph_is_not_changed_by_reading_it() -> None:
    graph = nx.DiGraph([("a", "b", {"a_port": 3, "b_port": 4})])
    network = from_networkx(graph)
    assert network.link_ends.tolist() == [[0, 3, 1, 4]]
    assert list(graph.edges(data=True)) == [("a", "b", {"a_port": 3, "b_port": 4})]


def test_ports_of_an_undirected_graph_need_their_nodes() -> None:
    graph = nx.Graph([("a", "b", {"a_port": 3, "b_port": 4})])
    with pytest.raises(SpecError, match="ports need the attributes a and b, the nodes that they belong to"):
        from_networkx(graph)
    graph.edges["a", "b"].update(a="b", b="a")
    assert from_networkx(graph).link_ends.tolist() == [[1, 3, 0, 4]]


def test_mermaid_and_svg_show_every_node_and_link() -> None:
    network = fabric("clot:4x4")
    lines = WRITERS["mermaid"](network).splitlines()
    assert (lines[0], len(lines)) == ("graph LR", 1 + network.size + len(network.link_ends))
    assert '  h5["h5 (1,1)"]' in lines
    picture = ElementTree.fromstring(svg(network))
    name = "{http://www.w3.org/2000/svg}"
    counts = [len(list(picture.iter(name + tag))) for tag in ("rect", "circle", "path")]
    assert counts == [1 + network.switches, network.servers, len(network.link_ends)]  # one is the background


def test_the_command_writes_every_format() -> None:
    assert {form.value for form in Format} == {*WRITERS, "svg"}
    assert json.loads(WRITERS["json"](fabric("bcube:2,1")))["links"][0] == {
        "a": "h0", "a_port": 1, "b": "s0", "b_port": 1,
    }  # fmt: skip
