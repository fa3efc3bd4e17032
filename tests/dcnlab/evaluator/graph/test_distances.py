"""Bit-parallel distances equal scipy's on random graphs, with failures and in both units of distance."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from dcnlab.evaluator.graph.distances import distance_rows, distances, pair_distances, sampled_distances
from dcnlab.evaluator.graph.hop_graph import HopGraph, hop_graph
from dcnlab.evaluator.graph.pairs import choose
from dcnlab.evaluator.graph.sweeps import UNREACHABLE
from dcnlab.evaluator.routing.blocks import single_distances
from dcnlab.evaluator.routing.torus_distances import single_torus_distances
from topos.graph import LinkState
from topos.registry import fabric


def oracle(graph: HopGraph) -> np.ndarray:
    matrix = csr_array((np.ones(len(graph.peer)), graph.peer, graph.start), shape=(graph.size, graph.size))
    return shortest_path(matrix, unweighted=True)


@st.composite
def graphs(draw: st.DrawFn) -> HopGraph:
    size = draw(st.integers(1, 700))
    mean_degree = draw(st.floats(0, 5))
    graph = nx.gnm_random_graph(size, int(mean_degree * size / 2), seed=draw(st.integers(0, 10**6)))
    matrix = csr_array(nx.to_scipy_sparse_array(graph, nodelist=range(size), format="csr"))
    return HopGraph(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32))


@settings(max_examples=25, deadline=None)
@given(graphs(), st.data())
def test_rows_histogram_and_pairs_equal_scipy(graph: HopGraph, data: st.DataObject) -> None:
    expected = oracle(graph)
    chosen = st.lists(st.integers(0, graph.size - 1), min_size=1, unique=True)
    sources, targets = (np.array(data.draw(chosen), dtype=np.int32) for _ in range(2))
    far = np.where(np.isinf(expected), UNREACHABLE, expected)
    assert np.array_equal(distance_rows(graph, sources), far[sources])
    assert np.array_equal(distance_rows(graph, sources, large=0), far[sources])
    ours = distances(graph, sources, targets)
    block = expected[np.ix_(sources, targets)]
    different = sources[:, None] != targets[None, :]
    finite = block[different & np.isfinite(block)].astype(int)
    assert np.array_equal(ours.histogram, np.bincount(finite, minlength=1))
    assert (ours.pairs, ours.unreachable) == (different.sum(), np.isinf(block).sum())
    assert ours.diameter == finite.max(initial=0)
    assert math.isclose(ours.mean, finite.mean()) if len(finite) else math.isnan(ours.mean)
    ends = np.random.default_rng(0).integers(0, graph.size, (2, 1200)).astype(np.int32)
    assert np.array_equal(pair_distances(graph, *ends), far[ends[0], ends[1]])
    assert np.array_equal(pair_distances(graph, *ends, large=0), far[ends[0], ends[1]])


def test_all_pairs_of_a_large_graph_by_histogram_and_by_rows() -> None:
    graph = hop_graph(fabric("torus:9x10x12"))
    whole = distances(graph)
    counted = np.bincount(distance_rows(graph, np.arange(graph.size)).ravel())
    assert np.array_equal(whole.histogram[1:], counted[1:])
    assert whole.diameter == 4 + 5 + 6


@pytest.mark.parametrize("spec", ["bcube:3,1", "clot:4x4", "torus:3x4", "smallworld:4x4,clusters=2x2"])
def test_server_hops_do_not_count_switches(spec: str) -> None:
    network = fabric(spec)
    down = LinkState(frozenset(range(0, len(network.link_ends), 5)))
    weighted = nx.DiGraph()
    weighted.add_nodes_from(range(network.size))
    for link in network.links():
        if link.index not in down.down:
            for a, b in ((link.a.node, link.b.node), (link.b.node, link.a.node)):
                weighted.add_edge(a, b, weight=int(network.is_server(b)))
    expected = dict(nx.all_pairs_dijkstra_path_length(weighted))
    servers = np.arange(network.servers, dtype=np.int32)
    hops = distance_rows(hop_graph(network, down, "servers"), servers)
    for a in range(network.servers):
        for b in range(network.servers):
            assert hops[a, b] == expected[a].get(b, UNREACHABLE)


def test_a_sample_is_reproducible_and_its_interval_covers_the_mean() -> None:
    graph = hop_graph(fabric("smallworld:40x40,clusters=4x4"))
    servers = np.arange(1600, dtype=np.int32)
    exact = distances(graph, servers, servers)
    assert exact.confidence() == 0
    drawn = [sampled_distances(graph, servers, 256, seed) for seed in range(12)]
    covered = [abs(d.mean - exact.mean) <= d.confidence() for d in drawn]
    assert sum(covered) >= 10
    assert np.array_equal(drawn[3].by_word, sampled_distances(graph, servers, 256, 3).by_word)
    assert math.isinf(sampled_distances(graph, servers, 64, 1).confidence())


@pytest.mark.parametrize("spec", ["torus:5x2x4", "torus:3x4", "torus:7", "hypercube:5"])
def test_distances_of_single_pairs_of_a_torus_in_closed_form(spec: str) -> None:
    network = fabric(spec)
    pairs = choose(network, "sample:30", 3)
    closed = single_torus_distances(network, pairs)
    assert closed is not None
    searched = single_distances(hop_graph(network), pairs)
    assert searched is not None
    assert (closed.dtype, closed.tolist()) == (searched.dtype, searched.tolist())


@pytest.mark.parametrize("spec", ["clot:4x4", "hypercube:4,hosts=2", "novacube:4x4", "random:10,3"])
def test_only_whole_tori_of_servers_have_the_closed_form(spec: str) -> None:
    network = fabric(spec)
    assert single_torus_distances(network, choose(network, "sample:20", 3)) is None
    assert single_torus_distances(fabric("torus:3x3"), choose(fabric("torus:3x3"), "servers", 3)) is None
