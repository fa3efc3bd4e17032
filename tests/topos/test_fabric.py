"""Fabrics: look-ups, link states, ports, and their cost at scale."""

from __future__ import annotations

import time
import tracemalloc
from dataclasses import dataclass

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.topos.graphs import built, graph, links
from topos.constructions.wiring import components, numbered_ports
from topos.fabric import Fabric
from topos.family import Family
from topos.graph import ALL_UP, NONE, IntArray, LinkState
from topos.ports import KeptPorts, Ports
from topos.registry import fabric


def test_nodes_are_found_by_name_and_by_coordinates() -> None:
    network = built("bcube:4,1")
    assert network.index("h5") == network.index("(1,1)") == 5
    assert network.index("s0") == network.index("<0;0>") == 16
    assert network.node(17).name == "s1"
    for wrong in ("h16", "s8", "h", "x1", "(4,0)", "h-1", ""):
        with pytest.raises(KeyError, match=r"no node .* in bcube:4,1: h0\.\.h15, s0\.\.s7"):
            network.index(wrong)


@given(down=st.sets(st.integers(0, 31)), more=st.sets(st.integers(0, 31)))
def test_link_states(down: set[int], more: set[int]) -> None:
    network = built("bcube:4,1")
    state = LinkState().fail(down)
    assert bool(state) == bool(down)
    assert state.fail(more).down == down | more
    assert state.restore(more).down == down - more
    alive = graph(network)
    for index in down:
        link = network.link(index)
        alive.remove_edge(link.a.node, link.b.node)
    for node in range(network.size):
        assert sorted(network.neighbours(node, state)) == sorted(alive[node])
        for other in network.neighbours(node):
            assert (network.port_to(node, other, state) is None) == (other not in alive[node])


@pytest.mark.parametrize(
    "spec", ["hcn:3,1", "bcube:4,1", "xdcube:3,2,ports=3,cubes=hyper+mobius1", "dcell:3,1"]
)
def test_ports_that_are_kept_are_those_of_the_arrays(spec: str) -> None:
    network = built(spec)
    kept, read = KeptPorts(network.adjacency), Ports(network.adjacency)
    for node in range(network.size):
        for port in range(-1, network.port_count(node) + 3):
            assert kept.peer(node, port) == read.peer(node, port)
            assert kept.link_at(node, port) == read.link_at(node, port)
            assert (kept.link_at(node, port) == NONE) == (kept.peer(node, port) is None)
        for down in (frozenset[int](), frozenset(range(0, len(network.link_ends), 3))):
            assert list(kept.up(node, down)) == list(read.up(node, down))


def test_unused_ports() -> None:
    network = built("hcn:3,1")
    assert network.peer(0, 2) is None
    assert network.peer(0, 3) is None
    assert network.peer(0, 0) is None
    assert network.port_count(0) == 1
    assert network.links_of(1) == tuple(network.link_at(1, port) for port in (1, 2))
    assert network.links_between(1, 3) == (network.link_at(1, 2),)
    assert network.links_between(0, 1) == ()


@dataclass(frozen=True)
class Clash(Family):
    """Two links at one port."""

    name = "clash"
    example = "clash"
    centric = "server"
    source = "none"

    def counts(self) -> tuple[int, int]:
        return 3, 0

    def link_ends(self) -> IntArray:
        return np.array([[0, 1, 1, 1], [0, 1, 2, 1]], dtype=np.int32)


def test_two_links_at_one_port_are_an_error() -> None:
    with pytest.raises(ValueError, match="two links share a port"):
        _ = Fabric.of(Clash()).adjacency


@given(pairs=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30), first=st.integers(1, 4))
@settings(max_examples=60)
def test_ports_are_numbered_in_the_order_of_the_pairs(pairs: list[tuple[int, int]], first: int) -> None:
    free = dict.fromkeys(range(10), first)
    expected = []
    for a, b in pairs:
        row = [a, free[a]]
        free[a] += 1
        row += [b, free[b]]
        free[b] += 1
        expected.append(row)
    assert numbered_ports(np.array(pairs, dtype=np.int64).reshape(-1, 2), first).tolist() == expected


@given(pairs=st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14)), max_size=15))
@settings(max_examples=60)
def test_components_equal_networkx(pairs: list[tuple[int, int]]) -> None:
    numbers = components(np.array(pairs, dtype=np.int64).reshape(-1, 2), 15)
    reference = nx.empty_graph(15)
    reference.add_edges_from(pairs)
    pieces = {frozenset(np.flatnonzero(numbers == piece).tolist()) for piece in set(numbers.tolist())}
    assert pieces == {frozenset(piece) for piece in nx.connected_components(reference)}


@pytest.mark.parametrize(
    ("spec", "nodes", "links"),
    [
        ("bcube:8,3", 4096 + 2048, 16_384),
        ("torus:100x100x100", 1_000_000, 3_000_000),
        ("jellyfish:24,100000,16", 900_000, 1_600_000),
        ("hypercube:19", 524_288, 4_980_736),
    ],
)
def test_scale(spec: str, nodes: int, links: int) -> None:
    """Processor time is bounded by that of sorting the links' ends, and memory by 200 bytes per link."""
    fabric("jellyfish:4,8,3")  # what is imported on first use is not what is measured
    tracemalloc.start()
    start = time.process_time()
    network = fabric(spec)
    adjacency = network.adjacency
    took = time.process_time() - start
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (network.size, len(network.link_ends)) == (nodes, links)
    assert (adjacency.peer != NONE).all()
    assert took < 100 * _seconds_of_sorting(2 * links) + 1
    assert peak < 200 * links + 1_000_000


def test_edges_that_are_made_in_blocks_are_those_of_the_definition() -> None:
    edges = built("hypercube:19").link_ends
    low, port, high, back = edges.T
    assert (port == back).all()
    assert (low ^ high == 1 << (port - 1)).all()
    assert (np.diff(low.astype(np.int64) << 5 | port) > 0).all()


def _seconds_of_sorting(count: int) -> float:
    """Processor seconds that this machine needs to sort so many random numbers."""
    numbers = np.random.default_rng(1).integers(count, size=count)
    start = time.process_time()
    np.sort(numbers)
    return time.process_time() - start


def test_a_fabric_prints_as_its_specification() -> None:
    network = built("clot:4x4")
    assert "link_ends" not in repr(network)
    assert isinstance(network, Fabric)
    assert list(network.ports(0)) == list(network.ports(0, ALL_UP))
    assert len(links(network)) == len(list(network.links()))
