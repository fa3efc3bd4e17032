"""Properties of every family in the registry, and of those in ``--custom`` files."""

from __future__ import annotations

import re

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.topos.graphs import built, graph, instances
from topos.fabric import Fabric
from topos.graph import NONE, Port
from topos.registry import fabric, known, parse
from topos.spec import usage
from topos.vertices import SymmetricGraph

EVERY = pytest.mark.parametrize("name", sorted(known()))


def drawn(data: st.DataObject, name: str) -> str:
    return data.draw(st.sampled_from(instances(name)))


@EVERY
def test_small_instances_are_found(name: str) -> None:
    """The tests below need several networks to draw from."""
    assert len(instances(name)) >= 3, instances(name)


@EVERY
@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_closed_form_counts_equal_what_is_built(name: str, data: st.DataObject) -> None:
    network = built(drawn(data, name))
    assert parse(network.spec).counts() == (network.servers, network.switches)
    assert network.link_ends.dtype == np.int32
    assert set(network.link_ends[:, [0, 2]].ravel().tolist()) == set(range(network.size))


@EVERY
@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_simple_and_connected(name: str, data: st.DataObject) -> None:
    found = graph(built(drawn(data, name)))
    assert nx.is_connected(found)
    assert nx.number_of_selfloops(found) == 0
    assert found.number_of_edges() == nx.Graph(found).number_of_edges()


@EVERY
@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_ports_are_numbered_from_1_and_lead_both_ways(name: str, data: st.DataObject) -> None:
    network = built(drawn(data, name))
    ends = [tuple(end) for a, p, b, q in network.link_ends.tolist() for end in ((a, p), (b, q))]
    assert len(set(ends)) == len(ends)
    assert min(port for _, port in ends) == 1
    for link in network.links():
        assert network.peer(link.a.node, link.a.number) == link.b
        assert network.peer(link.b.node, link.b.number) == link.a
        assert network.link_at(link.a.node, link.a.number) == link.index
    uncabled = (network.adjacency.peer == NONE).sum()
    assert uncabled == sum(map(network.port_count, range(network.size))) - len(ends)


@EVERY
@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_names_and_labels_are_found_again(name: str, data: st.DataObject) -> None:
    network = built(drawn(data, name))
    nodes = list(network.nodes())
    assert len({node.label for node in nodes}) == network.size
    for node in nodes:
        assert network.index(node.name) == node.index
        assert network.family.locate(node.label) == node.index
        assert (node.kind == "server") == node.name.startswith("h") == network.is_server(node.index)


@EVERY
@given(data=st.data(), text=st.text(alphabet="0123456789abcdefhxs.,;<>() ²", max_size=12))
@settings(max_examples=30, deadline=None)
def test_locate_finds_labels_and_nothing_else(name: str, data: st.DataObject, text: str) -> None:
    """Brackets may be left out, blanks replace commas, numbers may have leading zeros; nothing else."""

    def bare(label: str) -> str:
        words = re.sub(r"[()<>]", "", label).replace(",", " ").split()
        return re.sub(r"\b0+(?=\d)", "", " ".join(words))

    network = built(drawn(data, name))
    labels = [node.label for node in network.nodes()]
    for wanted in (text, data.draw(st.sampled_from(labels)) + text[:1]):
        found = network.family.locate(wanted)
        if wanted in labels:
            assert found == labels.index(wanted)
        elif found is not None:
            assert bare(labels[found]) == bare(wanted)


@EVERY
@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_specifications_round_trip(name: str, data: st.DataObject) -> None:
    spec = drawn(data, name)
    family = parse(spec)
    assert parse(family.spec) == family
    assert parse(family.spec).spec == family.spec
    assert np.array_equal(Fabric.of(family).link_ends, built(spec).link_ends)


@EVERY
def test_examples_are_canonical_and_relay_as_declared(name: str) -> None:
    family = known()[name]
    network = fabric(family.example)
    assert network.spec == family.example
    assert network.size <= 60, "examples are launched by the lab tests"
    if family.centric != "symmetric":
        assert network.relaying == (family.centric == "server")
    assert family.source
    assert family.__doc__
    assert usage(family, name).startswith(name)


@pytest.mark.parametrize("name", sorted(n for n, f in known().items() if f.centric == "symmetric"))
@given(data=st.data(), hosts=st.integers(1, 3))
@settings(max_examples=15, deadline=None)
def test_symmetric_graphs_have_servers_or_switches_as_vertices(
    name: str, data: st.DataObject, hosts: int
) -> None:
    """With hosts=m the same graph is one of switches: hosts on ports 1 to m, graph ports after them."""
    alike = [spec for spec in instances(name) if ",hosts=" not in spec]
    bare = built(data.draw(st.sampled_from(alike)))
    loaded = fabric(f"{bare.spec},hosts={hosts}")
    assert (loaded.servers, loaded.switches) == (bare.servers * hosts, bare.servers)
    assert bare.relaying
    assert not loaded.relaying
    family = loaded.family
    assert isinstance(family, SymmetricGraph)
    for vertex in range(bare.servers):
        switch = family.node_of(vertex)
        assert family.vertex(switch) == vertex
        for host in range(hosts):
            node = vertex * hosts + host
            assert loaded.peer(node, 1) == Port(switch, host + 1)
            assert family.vertex(node) == vertex
        for port, end in bare.ports(vertex):
            far = Port(family.node_of(end.node), family.port_of(end.number))
            assert loaded.peer(switch, family.port_of(port)) == far
