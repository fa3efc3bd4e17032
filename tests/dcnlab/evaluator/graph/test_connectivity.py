"""Disjoint paths, edge connectivity, spectral gap and conductance: by networkx, igraph and brute force."""

from __future__ import annotations

import itertools

import igraph
import networkx as nx
import numpy as np
import pytest

from dcnlab.evaluator.evaluate import evaluate
from dcnlab.evaluator.graph import connectivity as ours
from topos.registry import fabric

SPECS = [
    "bcube:3,1",
    "fattree:4",
    "jellyfish:6,12,4",
    "torus:4x4",
    "dcell:3,1",
    "dragonfly:3,1,1",
    "random:12,3",
]


def graph_of(spec: str) -> tuple[nx.Graph, object]:
    matrix = ours.vertex_graph(fabric(spec))
    return nx.from_scipy_sparse_array(matrix), matrix


@pytest.mark.parametrize("spec", SPECS)
def test_disjoint_paths_and_edge_connectivity_equal_networkx(spec: str) -> None:
    graph, matrix = graph_of(spec)
    assert ours.edge_connectivity(matrix, np.random.default_rng(1)) == nx.edge_connectivity(graph)
    split = ours._split(matrix)
    for a, b in itertools.islice(itertools.combinations(graph, 2), 0, None, 5):
        assert ours._flow(matrix, a, b) == nx.edge_connectivity(graph, a, b)
        if not graph.has_edge(a, b):
            assert ours.node_disjoint(matrix, split, a, b) == nx.node_connectivity(graph, a, b)
        shortest = nx.DiGraph()
        for path in nx.all_shortest_paths(graph, a, b):
            nx.add_path(shortest, path, capacity=1)
        assert ours.shortest_disjoint(matrix, a, b) == nx.maximum_flow_value(shortest, a, b)


@pytest.mark.parametrize("spec", [*SPECS, "slimfly:5", "leafspine:4,2,4"])
def test_means_over_all_pairs_are_those_of_igraph(spec: str) -> None:
    graph, matrix = graph_of(spec)
    edges = [edge for *edge, count in graph.edges(data="weight") for _ in range(int(count))]
    other = igraph.Graph(n=len(graph), edges=edges)
    cuts = [other.edge_disjoint_paths(a, b) for a, b in itertools.combinations(graph, 2)]
    tree = ours.least_cuts(matrix)
    assert ours.mean_cut(len(graph), tree) == pytest.approx(np.mean(cuts))
    assert min(size for *_, size in tree) == min(cuts)
    result = ours.connectivity(fabric(spec))
    assert (result.exact, result.pairs) == (True, len(cuts))
    assert (result.edge_connectivity, result.edge_disjoint) == (min(cuts), pytest.approx(np.mean(cuts)))


@pytest.mark.parametrize("spec", SPECS)
def test_edge_connectivity_equals_that_of_igraph(spec: str) -> None:
    graph, matrix = graph_of(spec)
    other = igraph.Graph(n=len(graph), edges=list(graph.edges))
    assert ours.edge_connectivity(matrix, np.random.default_rng(1)) == other.edge_connectivity()


@pytest.mark.parametrize("spec", SPECS)
def test_interference_follows_its_definition(spec: str) -> None:
    graph, matrix = graph_of(spec)

    def paths(sources: set[int], targets: set[int]) -> int:
        joined = nx.DiGraph(graph)
        nx.set_edge_attributes(joined, 1, "capacity")
        joined.add_edges_from([("from", s) for s in sources] + [(t, "to") for t in targets])
        return int(nx.maximum_flow_value(joined, "from", "to"))

    rng = np.random.default_rng(3)
    for _ in range(5):
        a, b, c, d = rng.choice(len(graph), 4, replace=False).tolist()
        expected = paths({a, c}, {b}) + paths({a, c}, {d}) - paths({a, c}, {b, d})
        assert ours.interference(matrix, a, b, c, d) == expected


@pytest.mark.parametrize("spec", ["torus:32x32", "jellyfish:16,1024,8"])
def test_1024_nodes_beside_igraph_and_networkx(spec: str) -> None:
    graph, matrix = graph_of(spec)
    count, split, rng = len(graph), ours._split(matrix), np.random.default_rng(2)
    assert count == ours.EXACT == 1024
    other = igraph.Graph(n=count, edges=list(graph.edges))
    assert ours.edge_connectivity(matrix, rng) == other.edge_connectivity()
    for _ in range(20):
        a, b, c, d = rng.choice(count, 4, replace=False).tolist()
        assert ours._flow(matrix, a, b) == other.edge_connectivity(a, b)
        if not other.are_adjacent(a, b):
            assert ours.node_disjoint(matrix, split, a, b) == other.vertex_connectivity(a, b)
        ends = ({b}, {d}, {b, d})
        alone, also, both = (_paths_by_igraph(other, {a, c}, targets) for targets in ends)
        assert ours.interference(matrix, a, b, c, d) == alone + also - both
    gap = np.linalg.eigvalsh(nx.normalized_laplacian_matrix(graph).toarray())[1]
    assert ours.spectral(matrix)[0] == pytest.approx(gap)


def _paths_by_igraph(graph: igraph.Graph, sources: set[int], targets: set[int]) -> int:
    """The number of link-disjoint paths between two sets of vertices."""
    count, links = graph.vcount(), graph.get_edgelist()
    joined = [(count, source) for source in sources] + [(target, count + 1) for target in targets]
    directed = igraph.Graph(n=count + 2, edges=links + [(b, a) for a, b in links] + joined, directed=True)
    capacity = [1] * (2 * len(links)) + [len(links)] * len(joined)
    return int(directed.maxflow_value(count, count + 1, capacity))


@pytest.mark.parametrize("spec", ["hypercube:4", "torus:6x6", "random:12,3"])
def test_the_spectral_gap_of_regular_graphs(spec: str) -> None:
    graph, matrix = graph_of(spec)
    degree = max(dict(graph.degree).values())
    second = np.sort(nx.adjacency_spectrum(graph).real)[-2]
    gap, conductance = ours.spectral(matrix)
    assert gap == pytest.approx(1 - second / degree)
    least = min(
        nx.conductance(graph, some)
        for size in range(1, len(graph) // 2 + 1)
        for some in itertools.islice(itertools.combinations(graph, size), 3000)
    )
    assert gap / 2 <= least + 1e-9
    assert conductance <= (2 * gap) ** 0.5 + 1e-9  # Cheeger's inequality


def test_a_hypercube_by_its_closed_forms() -> None:
    """s edge-disjoint paths between any two vertices, the gap is 2 / s, and half of it is the conductance."""
    figures = evaluate("hypercube:5", metrics=("connectivity",)).as_dict()["connectivity"]
    assert (figures["edge_connectivity"], figures["edge_disjoint"], figures["node_disjoint"]) == (5, 5, 5)
    assert figures["spectral_gap"] == pytest.approx(2 / 5)
    assert figures["conductance_bound"] == pytest.approx(1 / 5)
    assert figures["conductance"] >= 1 / 5 - 1e-9


def test_a_network_in_parts() -> None:
    figures = evaluate("torus:3x3", metrics=("connectivity",), failures="links=80%").as_dict()["connectivity"]
    assert figures["edge_connectivity"] == 0
    assert figures["spectral_gap"] == 0
