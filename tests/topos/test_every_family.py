"""Properties of every family in the registry, and of those in ``--custom`` files."""

from __future__ import annotations

import functools
import os
import random
import re

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.topos.graphs import built, graph, instances
from topos.bases.vertices import SymmetricGraph
from topos.fabric import Fabric
from topos.graph import NONE, Port
from topos.registry import fabric, known, parse
from topos.spec import usage

TEXTS = st.text(alphabet="0123456789abcdefhxs.,;<>() ²", max_size=12)
EVERY = pytest.mark.parametrize("name", sorted(known()))


@functools.cache
def drawn(name: str) -> tuple[str, ...]:
    """Networks of a family: the same where it is decided what lands, others each time elsewhere."""
    draw = random.Random(name if os.environ.get("DCNLAB_REQUIRE_LABS") else None)
    specs = instances(name)
    return (specs[0], *draw.sample(specs[1:], min(19, len(specs) - 1)))


@EVERY
def test_small_instances_are_found(name: str) -> None:
    """The tests below need several networks to draw from."""
    assert len(instances(name)) >= 3, instances(name)


@EVERY
def test_closed_form_counts_equal_what_is_built(name: str) -> None:
    for network in map(built, drawn(name)):
        assert parse(network.spec).counts() == (network.servers, network.switches), network.spec
        assert network.link_ends.dtype == np.int32
        assert set(network.link_ends[:, [0, 2]].ravel().tolist()) == set(range(network.size)), network.spec


@EVERY
def test_simple_and_connected(name: str) -> None:
    for spec in drawn(name):
        multigraph = graph(built(spec))
        assert nx.is_connected(multigraph), spec
        assert nx.number_of_selfloops(multigraph) == 0, spec
        assert multigraph.number_of_edges() == nx.Graph(multigraph).number_of_edges(), spec


@EVERY
def test_ports_are_numbered_from_1_and_lead_both_ways(name: str) -> None:
    for network in map(built, drawn(name)):
        spec = network.spec
        ends = [tuple(end) for a, p, b, q in network.link_ends.tolist() for end in ((a, p), (b, q))]
        assert len(set(ends)) == len(ends), spec
        assert min(port for _, port in ends) == 1, spec
        for link in network.links():
            assert network.peer(link.a.node, link.a.number) == link.b, spec
            assert network.peer(link.b.node, link.b.number) == link.a, spec
            assert network.link_at(link.a.node, link.a.number) == link.index, spec
        uncabled = (network.adjacency.peer == NONE).sum()
        assert uncabled == sum(map(network.port_count, range(network.size))) - len(ends), spec


@EVERY
def test_names_and_labels_are_found_again(name: str) -> None:
    for network in map(built, drawn(name)):
        nodes = list(network.nodes())
        assert len({node.label for node in nodes}) == network.size, network.spec
        for node in nodes:
            assert network.index(node.name) == node.index, network.spec
            assert network.family.locate(node.label) == node.index, network.spec
            assert (node.kind == "server") == network.is_server(node.index)
            assert network.family.node_names() or node.name.startswith("h" if node.kind == "server" else "s")


@EVERY
@given(data=st.data(), texts=st.lists(TEXTS, min_size=4, max_size=4))
@settings(max_examples=8, deadline=None)
def test_locate_finds_labels_and_nothing_else(name: str, data: st.DataObject, texts: list[str]) -> None:
    """Brackets may be left out, blanks replace commas, numbers may have leading zeros; nothing else."""

    def bare(label: str) -> str:
        words = re.sub(r"[()<>]", "", label).replace(",", " ").split()
        return re.sub(r"\b0+(?=\d)", "", " ".join(words))

    network = built(data.draw(st.sampled_from(instances(name))))
    labels = [node.label for node in network.nodes()]
    known_labels = data.draw(st.lists(st.sampled_from(labels), min_size=4, max_size=4))
    for wanted in (*texts, *(label + text[:1] for label, text in zip(known_labels, texts, strict=True))):
        located = network.family.locate(wanted)
        if wanted in labels:
            assert located == labels.index(wanted), wanted
        elif located is not None:
            assert bare(labels[located]) == bare(wanted), wanted


@EVERY
def test_specifications_round_trip(name: str) -> None:
    for spec in drawn(name):
        family = parse(spec)
        assert parse(family.spec) == family
        assert parse(family.spec).spec == family.spec
        assert np.array_equal(Fabric.of(family).link_ends, built(spec).link_ends), spec


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
def test_symmetric_graphs_have_servers_or_switches_as_vertices(name: str) -> None:
    """With hosts=m the same graph is one of switches: hosts on ports 1 to m, graph ports after them."""
    alike = [spec for spec in drawn(name) if ",hosts=" not in spec and ",servers=" not in spec]
    for number, spec in enumerate(alike):
        have_servers_or_switches_as_vertices(built(spec), 1 + number % 3)


def have_servers_or_switches_as_vertices(bare: Fabric, hosts: int) -> None:
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
