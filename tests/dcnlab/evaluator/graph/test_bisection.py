"""Cuts and bounds compared with the minimum over all halves, with switches placed by maximum flow."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest

from dcnlab.evaluator.graph import failures
from dcnlab.evaluator.graph.bisection import bisection
from topos.fabric import Fabric
from topos.registry import fabric

TINY = (
    "bcube:2,2", "bcube:3,1", "dcell:3,1", "clot:2x4", "hdcube:2,2", "mdcube:2,1", "hcn:3,1", "fattree:2",
    "jellyfish:4,6,3", "dragonfly:2,1,1", "random:10,3", "hypercube:3,hosts=1", "torus:3x3", "ficonn:4,1",
)  # fmt: skip


def least(network: Fabric, failed: failures.Failures) -> int:
    """The minimum cut over all halves of the live servers, each half connected to a terminal."""
    graph = nx.Graph()
    for link in network.links():
        if link.index not in failed.links.down:
            a, b = link.a.node, link.b.node
            present = graph.get_edge_data(a, b, {"capacity": 0})["capacity"]
            graph.add_edge(a, b, capacity=present + 1)
    alive = [server for server in range(network.servers) if server not in failed.nodes]
    graph.add_nodes_from(alive)
    best = graph.size("capacity")
    for half in itertools.combinations(alive, len(alive) // 2):
        if len(alive) % 2 == 0 and alive[0] not in half:
            continue
        joined = nx.Graph(graph)
        joined.add_edges_from(("one", s) for s in half)  # without capacity: infinite
        joined.add_edges_from(("two", s) for s in set(alive) - set(half))
        best = min(best, nx.minimum_cut_value(joined, "one", "two"))
    return int(best)


@pytest.mark.parametrize("spec", TINY)
@pytest.mark.parametrize("failing", ["", "links=10%,nodes=1"])
def test_the_minimum_cut_lies_between_the_bound_and_the_cut_found(spec: str, failing: str) -> None:
    network = fabric(spec)
    failed = failures.draw(network, failing, 3)
    exact, halves = least(network, failed), bisection(network, failed=failed)
    assert halves.cut == exact
    assert halves.bound <= exact
    assert max(halves.spectral, halves.flow) <= exact + 1e-9
    crossing = [x for x in network.links() if halves.side[x.a.node] != halves.side[x.b.node]]
    assert sum(x.index not in failed.links.down for x in crossing) == exact
    alive = [halves.side[s] for s in range(network.servers) if s not in failed.nodes]
    assert sum(alive) in (len(alive) // 2, (len(alive) + 1) // 2)


@pytest.mark.parametrize(
    ("spec", "cut", "bound"),
    [
        ("hypercube:5,hosts=0", 16, 16),
        ("torus:4x6", 8, 8),
        ("torus:4x4x4", 32, 32),
        ("bcube:4,1", 8, 6),
        ("clot:4x4", 16, 12),
        ("clot:8x8", 32, 30),
    ],
)
def test_known_bisections_are_found_and_some_are_proven(spec: str, cut: int, bound: int) -> None:
    halves = bisection(fabric(spec))
    assert (halves.cut, halves.bound) == (cut, bound)


def test_the_bisection_of_sixteen_servers_is_exact() -> None:
    """All 12,870 halves of CLOT(4x4); a switch is on the side of the majority of its members."""
    network = fabric("clot:4x4")
    ends = network.link_ends[:, [0, 2]]
    direct = ends[(ends < 16).all(axis=1)]
    members = [ends[ends[:, 1] == switch, 0] for switch in range(16, 20)]
    halves = np.zeros((12870, 16), dtype=bool)
    for row, half in enumerate(itertools.combinations(range(16), 8)):
        halves[row, list(half)] = True
    cut = (halves[:, direct[:, 0]] != halves[:, direct[:, 1]]).sum(axis=1)
    for some in members:
        there = halves[:, some].sum(axis=1)
        cut += np.minimum(there, len(some) - there)
    assert cut.min() == bisection(network).cut == 16


def test_iterative_eigenvalues_equal_dense_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    network = fabric("dcell:5,1")
    dense = bisection(network)
    monkeypatch.setattr("dcnlab.evaluator.graph.bisection._DENSE", 0)
    assert bisection(network).spectral == pytest.approx(dense.spectral, rel=1e-4)
    assert bisection(network).cut == dense.cut


def test_a_partitioned_network_has_no_bound() -> None:
    network = fabric("bcube:2,1")
    failed = failures.draw(network, "switches=4", 1)
    halves = bisection(network, failed=failed)
    assert (halves.cut, halves.bound) == (0, 0)
