"""Files and graphs of other programs: nothing in them is ignored in silence."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mininet.topo import Topo

from topos.files import file, link_attributes
from topos.files.file import GraphNote
from topos.files.numbering import GraphData
from topos.files.raw import FileError

KEYS = '<key id="{0}" for="edge" attr.name="{0}" attr.type="string"/>'
HEAD = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'


def graphml(body: str, *keys: str, directed: bool = False) -> str:
    kind = "directed" if directed else "undirected"
    return f'{HEAD}{"".join(map(KEYS.format, keys))}<graph edgedefault="{kind}">{body}</graph></graphml>'


def nodes(names: str) -> str:
    return "".join(f'<node id="{name}"/>' for name in names)


def edge(a: str, b: str, **attributes: str) -> str:
    data = "".join(f'<data key="{key}">{value}</data>' for key, value in attributes.items())
    return f'<edge source="{a}" target="{b}">{data}</edge>'


def read(path: Path, text: str) -> GraphData:
    """The graph in a file, whose notes are issued as warnings."""
    path.write_text(text)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = file.load(str(path))
    issued = [str(one.message) for one in caught if one.category is GraphNote]
    assert issued == [f"{path}: {note}" for note in data.notes]
    return data


@pytest.mark.parametrize(
    ("stated", "ours"),
    [
        ({"bw": "100.5"}, {"rate": "100.5Mbit"}),
        ({"bw": 2000, "delay": "5ms"}, {"rate": "2Gbit", "delay": "5ms"}),
        ({"latency": 2.5}, {"delay": "2.5ms"}),
        ({"latency": "20 us"}, {"delay": "20us"}),
        ({"LinkSpeed": "2.5", "LinkSpeedUnits": "G", "LinkSpeedRaw": 2500000000.0}, {"rate": "2.5Gbit"}),
        ({"LinkSpeed": "155", "LinkSpeedUnits": "M"}, {"rate": "155Mbit"}),
        ({"LinkSpeedRaw": 45000}, {"rate": "45Kbit"}),
        ({"capacity": "40 Gbps"}, {"rate": "40Gbit"}),
        ({"bandwidth": "1T" + "bit/s"}, {"rate": "1000Gbit"}),
        ({"loss": 1, "rate": "10Mbit", "delay": 3}, {"loss": 1, "rate": "10Mbit", "delay": 3}),
    ],
)
def test_attributes_of_clear_meaning_and_unit_are_ours(
    stated: dict[str, object], ours: dict[str, object]
) -> None:
    [mapped], notes = link_attributes.mapped([stated])
    assert mapped == ours
    others = [name for name in stated if name not in link_attributes.OURS]
    assert all(any(name in note and "read as" in note for note in notes) for name in others)


@pytest.mark.parametrize(
    "stated",
    [
        {"capacity": 10}, {"bandwidth": "fast"}, {"LinkSpeed": "10"},
        {"LinkSpeed": "<10", "LinkSpeedUnits": "M"},
        {"bw": 5, "rate": "10Mbit"}, {"weight": 3}, {"latency": "5 light years"}, {"bw": "nan"},
    ],
)  # fmt: skip
def test_attributes_of_unclear_unit_are_named(stated: dict[str, object]) -> None:
    [mapped], notes = link_attributes.mapped([stated])
    assert mapped == stated
    [note] = notes
    assert note.endswith(("not used", "used by the scheme weighted only"))
    assert all(name in note for name in stated.keys() - {"rate"})


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(
                ["bw", "Latency", "LinkSpeed", "LinkSpeedUnits", "LinkSpeedRaw", "speed", "dist", "rate"]
            )
            | st.text("abcxyz", min_size=4),
            st.floats(0, 1e12) | st.sampled_from(["10G", "1 Gbps", "5ms", "M", ""]),
        ),
        max_size=4,
    )
)
def test_every_attribute_is_used_or_named(links: list[dict[str, object]]) -> None:
    mapped, notes = link_attributes.mapped(links)
    said = set(" ".join(notes).replace(",", "").split())
    for before, after in zip(links, mapped, strict=True):
        assert before.keys() - said <= {*link_attributes.OURS, *link_attributes.STRUCTURE}
        assert after.keys() <= before.keys() | {"rate", "delay"}


SAID = [
    (graphml(nodes("ab") + edge("a", "b") + edge("b", "a"), directed=True), 2, 1, [
        "it is directed, and links carry packets both ways",
        "1 of 1 links are stated in both directions and are one link each",
    ]),
    (graphml(nodes("abc") + edge("a", "b") + edge("b", "c") + edge("c", "a"), directed=True), 3, 3, [
        "it is directed, and links carry packets both ways",
    ]),
    (graphml(nodes("ab") + edge("a", "b", bw="1") + edge("b", "a", bw="2"), "bw", directed=True), 2, 1, [
        "it is directed, and links carry packets both ways",
        "1 of 1 links are stated in both directions and are one link each",
        "1 of them differ by direction: the attributes of the first one are used",
        "link attribute bw is read as rate",
    ]),
    (graphml(nodes("ab") + edge("a", "zz") + edge("a", "b")), 3, 2, [
        "node zz is not declared: only links name it",
    ]),
    (graphml(nodes("ab") + edge("a", "b", weight="100"), "weight"), 2, 1, [
        "link attribute weight is used by the scheme weighted only",
    ]),
    (graphml(nodes("ab") + edge("a", "b", delay="5ms"), "delay"), 2, 1, []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "size", "links", "notes"), SAID)
def test_what_graphml_states_otherwise_is_said(
    tmp_path: Path, text: str, size: int, links: int, notes: list[str]
) -> None:
    data = read(tmp_path / "net.graphml", text)
    assert (len(data.names), len(data.links), list(data.notes)) == (size, links, notes)


def test_a_node_without_an_id_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"net.graphml: a node has no id$"):
        read(tmp_path / "net.graphml", graphml('<node/><node id="b"/>' + edge("a", "b")))


def test_a_directed_node_link_file_has_one_link_for_opposite_arcs(tmp_path: Path) -> None:
    arcs = nx.node_link_data(nx.DiGraph([("a", "b"), ("b", "a"), ("b", "c")]), edges="edges")
    data = read(tmp_path / "net.json", json.dumps(arcs))
    assert [row[::2] for row in data.links.tolist()] == [[0, 1], [1, 2]]
    assert data.notes[1] == "1 of 2 links are stated in both directions and are one link each"


def test_a_directed_graph_in_dot_has_one_link_for_opposite_arcs(tmp_path: Path) -> None:
    pytest.importorskip("pydot")
    data = read(tmp_path / "net.dot", "digraph { a -> b; b -> a; b -> c }")
    assert [row[::2] for row in data.links.tolist()] == [[0, 1], [1, 2]]
    assert data.notes[0] == "it is directed, and links carry packets both ways"


REPEATED = "links stated again are left out (1): parallel links need JSON, YAML or DOT"
UNUSED = "link attribute weight is used by the scheme weighted only"


@pytest.mark.parametrize(
    ("text", "links", "weights", "notes"),
    [
        ("a,b\nb,c\n", ["ab", "bc"], [None, None], []),
        ("a, b, 2\nb;c\n", ["ab", "bc"], [2.0, None], [UNUSED]),
        ("a b\nb c 3.5\nc a\n", ["ab", "bc", "ca"], [None, 3.5, None], [UNUSED]),
        ("a b {'weight': 3}\nb c 7\n", ["ab", "bc"], [3, 7.0], [UNUSED]),
        ("a b {}\n# a comment\n\nb\tc {} # another\n", ["ab", "bc"], [None, None], []),
        ("a b\na b\nb c\n", ["ab", "bc"], [None, None], [REPEATED]),
        ("a b\nb a\n", ["ab"], [None], [REPEATED]),
        ("é ß\nß 日本\n", ["éß", "ß日本"], [None, None], []),
    ],
)
def test_edge_lists(
    tmp_path: Path, text: str, links: list[str], weights: list[float | None], notes: list[str]
) -> None:
    data = read(tmp_path / "net.edgelist", text)
    assert ["".join((data.names[a], data.names[b])) for a, _, b, _ in data.links.tolist()] == links
    assert [attributes.get("weight") for attributes in data.attributes] == weights
    assert list(data.notes) == notes


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a b\nlonely\n", "line 2: write two nodes and, if you like, a weight, not 'lonely'"),
        ("a b c d\n", "line 1: write two nodes"),
        ("a b heavy\n", "line 1: the weight must be a number, not 'heavy'"),
        ("a b {'x'\n", "line 1: the attributes \"{'x'\" cannot be read"),
    ],
)
def test_lines_of_edge_lists_that_are_no_links(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(FileError, match=says.replace("{", r"\{")):
        read(tmp_path / "net.edgelist", text)


class MyTopo(Topo):  # type: ignore[misc]
    """A topology as Mininet's users write them."""

    def build(self) -> None:
        s1, s2 = self.addSwitch("s1"), self.addSwitch("s2")
        h1, h2, h3 = (self.addHost(f"h{number}", ip=f"10.0.0.{number}/24") for number in (1, 2, 3))
        self.addLink(h1, s1, bw=10, delay="5ms", loss=0)
        self.addLink(h2, s2, bw=10)
        self.addLink(h3, s2)
        self.addLink(s1, s2, bw=5, delay="20ms", max_queue_size=100)


def test_a_topology_of_mininet_keeps_its_switches_rates_and_delays() -> None:
    with pytest.warns(GraphNote) as caught:
        data = file.from_networkx(MyTopo().convertTo(nx.MultiGraph))
    assert data.names[: data.servers] == ("h1", "h2", "h3")
    shapes = {
        frozenset((data.names[a], data.names[b])): {key: stated.get(key) for key in ("rate", "delay")}
        for (a, _, b, _), stated in zip(data.links.tolist(), data.attributes, strict=True)
    }
    assert shapes == {
        frozenset(("h1", "s1")): {"rate": "10Mbit", "delay": "5ms"},
        frozenset(("h2", "s2")): {"rate": "10Mbit", "delay": None},
        frozenset(("h3", "s2")): {"rate": None, "delay": None},
        frozenset(("s1", "s2")): {"rate": "5Mbit", "delay": "20ms"},
    }
    assert [str(one.message) for one in caught] == [
        "graph: link attribute max_queue_size is read as queue, in frames",
        "graph: link attribute bw is read as rate",
    ]
    ports = {(data.names[a], data.names[b]): (a_port, b_port) for a, a_port, b, b_port in data.links.tolist()}
    assert ports == {("h1", "s1"): (1, 1), ("h2", "s2"): (1, 1), ("h3", "s2"): (1, 2), ("s1", "s2"): (2, 3)}
