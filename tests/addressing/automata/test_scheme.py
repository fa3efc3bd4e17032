"""The scheme wmgr-cayley: shortest paths, labels, and the prefixes in switches' tables."""

from __future__ import annotations

import json

import networkx as nx
import pytest

from addressing.algorithms.cover import prefixes
from addressing.automata.underlying import underlying
from addressing.registry import bind
from addressing.scheme import Scheme, path
from addressing.schemes.wmgr_cayley import WmgrCayley
from addressing.table import compile_table
from tests.addressing.automata.oracles import family, normal_forms
from tests.lab.lines import dcnlab
from tests.topos.graphs import graph
from topos.registry import fabric
from topos.spec import SpecError

SPECS = (
    "hypercube:4", "bubblesort:4", "star:4", "transposition:4", "pancake:4", "butterfly:3", "borel:11,3,1,2",
)  # fmt: skip


def bound(spec: str, text: str = "wmgr-cayley") -> Scheme:
    return bind(text, fabric(spec))


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("hosts", ["", ",hosts=2"])
def test_stretch_is_one(spec: str, hosts: str) -> None:
    scheme = bound(spec + hosts)
    distances = dict(nx.all_pairs_shortest_path_length(graph(scheme.fabric)))
    for source in range(0, scheme.fabric.servers, 3):
        for destination in range(scheme.fabric.servers):
            nodes = path(scheme, source, destination)
            assert nodes is not None
            assert len(nodes) - 1 == distances[source][destination]


@pytest.mark.parametrize(
    "spec", ["bcube:4,1", "bcube:3,2", "bcube:4,1,parts=2", "torus:3x4", "torus:2x5", "torus:2x2x3", "torus:6"]
)
def test_stretch_is_one_over_the_underlying_graph(spec: str) -> None:
    """BCube's is a generalised hypercube, a torus is one itself."""
    scheme = bound(spec)
    assert isinstance(scheme, WmgrCayley)
    distances = dict(nx.all_pairs_shortest_path_length(graph(scheme.fabric)))
    for source in range(scheme.fabric.servers):
        for destination in range(scheme.fabric.servers):
            nodes = path(scheme, source, destination)
            assert nodes is not None
            assert len(nodes) - 1 == distances[source][destination]
    for switch in range(scheme.fabric.servers, scheme.fabric.size):
        linked = len(list(scheme.fabric.ports(switch)))
        assert len(compile_table(scheme, switch).entries) >= linked


@pytest.mark.parametrize("spec", ["bcube:3,1", "bcube:4,1,parts=3", "torus:3x4", "torus:2x2x3"])
def test_generators_of_the_underlying_graph_lead_over_their_ports(spec: str) -> None:
    network = fabric(spec)
    under = underlying(network.family)
    assert under is not None
    for vertex in range(under.graph.vertices):
        for generator in range(len(under.graph.letters)):
            end = network.peer(vertex, under.port(vertex, generator))
            there = under.graph.step(vertex, generator + 1)
            assert end is not None
            if under.vertex(end.node) is None:
                end = network.peer(end.node, under.completion(end.node, there))
            assert end is not None
            assert end.node == there
        assert under.graph.product(vertex, under.graph.inverse(vertex)) == 0


def test_the_path_from_the_identity_is_the_normal_form() -> None:
    scheme, star = bound("star:5"), family("star:5")
    for vertex, word in normal_forms("star:5").items():
        nodes = [star.spell(tuple(letter + 1 for letter in word[:t])) for t in range(len(word) + 1)]
        assert path(scheme, 0, vertex) == tuple(nodes)


@pytest.mark.parametrize("s", [3, 5, 6])
def test_hypercubes_need_one_prefix_per_port(s: int) -> None:
    scheme = bound(f"hypercube:{s},hosts=1")
    switches = range(scheme.fabric.servers, scheme.fabric.size)
    assert {len(compile_table(scheme, node).entries) for node in switches} == {s + 1}


@pytest.mark.parametrize("spec", [spec for spec in SPECS if not spec.startswith("hypercube")])
def test_on_other_graphs_only_the_identity_has_one_prefix_per_port(spec: str) -> None:
    """Its prefixes are the first letters; other switches need more, but fewer than a full table has."""
    scheme = bound(f"{spec},hosts=1")
    first, degree = scheme.fabric.servers, len(family(spec).letters)
    sizes = [len(compile_table(scheme, node).entries) for node in range(first, scheme.fabric.size)]
    assert sizes[0] == min(sizes) <= degree + 1
    assert degree + 1 < max(sizes) < scheme.fabric.switches


def test_values_left_out_are_dont_cares() -> None:
    """Prefixes for some values are those for all values with None for the others."""
    decisions = {3: "a", 4: "b", 5: "b", 9: "a", 14: "b"}
    few = list(prefixes(4, decisions.__getitem__, sorted(decisions)))
    assert few == list(prefixes(4, decisions.get))


@pytest.mark.parametrize("order", ["lex", "search", "6.5.4.3.2.1"])
def test_orders(order: str) -> None:
    scheme = bound("transposition:4", f"wmgr-cayley:order={order}")
    assert isinstance(scheme, WmgrCayley)
    assert path(scheme, 0, 23) is not None
    if order[0] == "6":
        assert scheme.structure.group.generators == (5, 4, 3, 2, 1, 0)


def test_errors_are_one_line() -> None:
    with pytest.raises(
        SpecError, match="order must be one of natural, lex, colex, search, or the ports 1 to 3"
    ):
        bound("star:4", "wmgr-cayley:order=1.2")
    with pytest.raises(SpecError, match="it needs a Cayley graph"):
        bound("dcell:3,1")


def test_command() -> None:
    sources = ("graph", "presentation")
    both = [json.loads(dcnlab("automaton", "star:4", "--json", "--from", source).stdout) for source in sources]
    for answer in both:
        assert answer.pop("seconds") >= 0
    assert both[0] | {"from": ""} == both[1] | {"from": ""}
    assert both[0]["diff"]["states"] == 14
    for spec in ("bcube:3,1", "torus:3x4"):
        both = [json.loads(dcnlab("automaton", spec, "--json", "--from", source).stdout) for source in sources]
        assert both[0]["diff"] == both[1]["diff"]
    shown = dcnlab("automaton", "butterfly:4", "--order", "search", "--seconds", "0.2")
    assert "Diff, trimmed" in shown.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("dcell:3,1",), "no known Cayley graph"),
        (("star:4", "--order", "2"), "separated by full stops"),
    ],
)
def test_command_refuses(words: tuple[str, ...], message: str) -> None:
    done = dcnlab("automaton", *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
