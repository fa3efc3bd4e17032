"""Matrices that depend on the network: distances by networkx, the assignment by brute force."""

from __future__ import annotations

import itertools
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from dcnlab.traffic.matrices import hops_between
from dcnlab.traffic.patterns import traffic
from dcnlab.traffic.workload import Demand, draw
from topos.fabric import Fabric
from topos.registry import fabric
from topos.spec import SpecError


def graph_of(network: Fabric) -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from(range(network.size))
    graph.add_edges_from(network.link_ends[:, [0, 2]].tolist())
    return graph


def length(graph: nx.Graph, sources: np.ndarray, destinations: np.ndarray) -> int:
    return sum(
        nx.shortest_path_length(graph, a, b)
        for a, b in zip(sources.tolist(), destinations.tolist(), strict=True)
    )


@pytest.mark.parametrize("spec", ["bcube:3,1", "fattree:4", "dcell:3,1", "random:9,2"])
def test_distances_are_those_of_networkx(spec: str) -> None:
    network = fabric(spec)
    expected = dict(nx.all_pairs_shortest_path_length(graph_of(network)))
    nodes = np.arange(network.size, dtype=np.int32)
    hops = hops_between(network, nodes)
    assert hops.tolist() == [[expected[a].get(b, -1) for b in range(network.size)] for a in range(network.size)]


@pytest.mark.parametrize("spec", ["torus:6", "bcube:2,1", "random:7,2", "jellyfish:4,4,3"])
def test_no_permutation_is_longer_than_the_longest_matching(spec: str) -> None:
    network = fabric(spec)
    graph = graph_of(network)
    made = traffic(network, "longest-matching", seed=4)
    servers = np.arange(network.servers)
    assert sorted(made.destinations) == sorted(made.sources)
    hops = np.array([[nx.shortest_path_length(graph, a, b) for b in servers] for a in servers])
    longest = max(hops[servers, list(order)].sum() for order in itertools.permutations(servers))
    # A server that would send to itself sends nothing, and adds nothing either.
    assert length(graph, made.sources, made.destinations) == longest


def test_racks_of_a_fat_tree_send_to_one_other_rack() -> None:
    network = fabric("fattree:4")
    for name in ("max-weight", "rack-permutation"):
        made = traffic(network, name, seed=2)
        partners = {a // 2: set() for a in range(16)}
        for a, b in zip(made.sources.tolist(), made.destinations.tolist(), strict=True):
            partners[a // 2].add(b // 2)
        assert all(len(racks) == 1 for racks in partners.values())
        assert sorted(made.destinations) == list(range(16))
    far = traffic(network, "max-weight", seed=2)
    assert (far.sources // 4 != far.destinations // 4).all()  # in different pods: six links


def test_gravity_is_a_product_and_hot_servers_receive_their_share() -> None:
    network = fabric("bcube:4,1")
    made = traffic(network, "gravity:sigma=1.5", seed=3)
    amount = {(a, b): x for a, b, x in zip(made.sources, made.destinations, made.amounts, strict=True)}
    assert len(amount) == 16 * 15
    assert amount[0, 1] * amount[2, 3] == pytest.approx(amount[0, 3] * amount[2, 1])
    hot = traffic(network, "skewed:share=0.5,count=2", seed=3)
    received = np.sort(np.bincount(hot.destinations, hot.amounts))
    assert received[-2] > 5 * received[-3]


def test_a_file_may_state_amounts(tmp_path: Path) -> None:
    network, path = fabric("bcube:2,1"), tmp_path / "matrix"
    path.write_text("h0 h1 2.5\nh2 h3\n")
    made = traffic(network, str(path))
    assert made.amounts.tolist() == [2.5, 1]
    path.write_text("h0 h1 -2\n")
    with pytest.raises(SpecError, match="matrix:1: '-2' is not an amount"):
        traffic(network, str(path))


def test_workloads_follow_the_amounts(tmp_path: Path) -> None:
    network, path = fabric("bcube:2,1"), tmp_path / "matrix"
    path.write_text("h0 h1 9\nh2 h3 1\n")
    arriving = draw(network, Demand(str(path), "fixed:1K", load=0.5, seconds=1.0, rate=1e8))
    first = int((arriving.source == 0).sum())
    assert 0.85 < first / len(arriving) < 0.95
    # The busiest server sends half of 100 Mb/s: flows of 1000 bytes and 66 of headers.
    wanted = 6.25e6 / (1000 + 66)
    assert abs(first - wanted) < 5 * wanted**0.5
    at_once = draw(network, Demand(str(path), "fixed:1K", count=5))
    assert np.bincount(at_once.source).tolist() == [9, 0, 1]


@pytest.mark.parametrize(("network", "pattern"), [("hypercube:14", "all-to-all"), ("hypercube:15", "gravity")])
def test_traffic_that_does_not_fit_into_memory_is_refused_in_one_line(network: str, pattern: str) -> None:
    with pytest.raises(SpecError, match=r"servers are too many: at most \d+,000"):
        traffic(fabric(network), pattern)
