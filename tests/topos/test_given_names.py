"""The names of a file are the names: ours never stand for another node than the file's do."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcnlab.lab import naming
from dcnlab.lab.errors import UsageError
from dcnlab.lab.scenario.values import FailureTarget, read_links, read_target
from topos import registry
from topos.fabric import Fabric

#: Names like ours at other nodes; with blanks, dots, umlauts, slashes, quotes; of digits only; too long.
NAMES = st.one_of(
    st.builds("{}{}".format, st.sampled_from("hs"), st.integers(0, 9)),
    st.integers(0, 9).map(str),
    st.text(st.sampled_from("ab.ö /'\"-_7"), min_size=1, max_size=40).filter(lambda name: name.strip() == name),
)


def network(names: list[str], switches: int) -> Fabric:
    """A ring of nodes with these names, the last of which are switches."""
    graph = nx.cycle_graph(names)
    for place, name in enumerate(names):
        graph.nodes[name]["kind"] = "switch" if place >= len(names) - switches else "server"
    return registry.from_networkx(graph)


@given(st.lists(NAMES, min_size=3, max_size=9, unique=True), st.integers(0, 2))
def test_every_name_of_a_file_is_that_node(names: list[str], switches: int) -> None:
    fabric = network(names, switches)
    for node, name in enumerate(names):
        assert naming.node(fabric, name) == node
        assert naming.node(fabric, fabric.name(node)) == node
        assert len(fabric.name(node)) <= 9
        if name.isidentifier() and name.isascii() and len(name) <= 9 and name[0] != "_":
            assert fabric.name(node) == name
    assert len({fabric.name(node) for node in range(fabric.size)}) == fabric.size


def test_long_names_are_shortened() -> None:
    names = [
        "Frankfurt am Main",
        "Frankfurt",
        "Frankfurt (Oder)",
        "Zürich",
        "St. Gallen",
        "10 Downing St",
        "all",
    ]
    fabric = network([*names, "h 5"], 0)
    assert [fabric.name(node) for node in range(8)] == [
        "Frankfur2", "Frankfurt", "Frankfur3", "Zurich", "St._Galle", "h5", "all2", "h_5",
    ]  # fmt: skip
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {0: "b", 1: "x y", 2: "c"}, "label")
    nx.set_node_attributes(graph, {0: "a 1", 1: "b", 2: "b 2"}, "name")
    assert len({registry.from_networkx(graph).name(node) for node in range(3)}) == 3


def test_our_names_do_not_shadow_those_of_the_file() -> None:
    fabric = network(["h1", "h2", "h3", "s1", "s2"], 2)
    assert [fabric.name(node) for node in range(5)] == ["h1", "h2", "h3", "s1", "s2"]
    assert [fabric.index(name) for name in ("h1", "h3", "s1", "s2")] == [0, 2, 3, 4]


def test_names_beside_ids_are_read(tmp_path: Path) -> None:
    graph = nx.cycle_graph(5)
    for node in graph:
        graph.nodes[node]["name"] = f"city{node}"
    file = tmp_path / "five.json"
    file.write_text(json.dumps(nx.node_link_data(graph, edges="edges")))
    fabric = registry.fabric(f"file:{file}")
    assert [fabric.name(node) for node in range(5)] == [f"city{node}" for node in range(5)]
    twice = json.loads(file.read_text())
    twice["nodes"][3]["name"] = "city0"
    (copy := tmp_path / "twice.json").write_text(json.dumps(twice))
    assert registry.fabric(f"file:{copy}").node(3).label == "3"


def test_one_of_parallel_links_has_a_name() -> None:
    graph = nx.MultiGraph([("a", "s"), ("s", "t"), ("s", "t"), ("s", "t"), ("t", "b")])
    nx.set_node_attributes(graph, {"a": "server", "b": "server", "s": "switch", "t": "switch"}, "kind")
    fabric = registry.from_networkx(graph)
    for link in range(len(fabric.link_ends)):
        assert naming.links(fabric, "link", fabric.link_names(link)) == (link,)
        for end in (fabric.link(link).a, fabric.link(link).b):
            assert naming.links(fabric, "link", [f"{fabric.name(end.node)}:{end.number}"]) == (link,)
    assert len(naming.links(fabric, "link", ["s", "t"])) == 3
    for names, said in (
        (["s", "t", "4"], "they have 3 links"),
        (["s:9"], "s has no port 9: it has 1, 2, 3, 4"),
    ):
        with pytest.raises(UsageError, match=said):
            naming.links(fabric, "link", names)


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ('link "Frankfurt am Main" Hamburg', FailureTarget("link", ("Frankfurt am Main", "Hamburg"))),
        ("link s0 s1 2", FailureTarget("link", ("s0", "s1", "2"))),
        ("link s0:3", FailureTarget("link", ("s0:3",))),
        ("node 'St. Gallen'", FailureTarget("node", ("St. Gallen",))),
    ],
)
def test_scenarios_take_names_as_a_shell_does(text: str, target: FailureTarget) -> None:
    assert read_target(text) == read_links(text) == target
    assert read_target(str(target)) == target
