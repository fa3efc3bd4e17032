"""Sentences that the record refutes: the same values by networkx and by brute force."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest

from dcnlab.evaluator.optimum.exact import exact_abt
from dcnlab.papers.clot.structure import cut_off, shortest_share
from dcnlab.papers.dcube.paths import disjoint_by_theorem_2
from dcnlab.papers.dcube.rivals import kautz, least_levels, level_loads, unjoined
from dcnlab.papers.dcube.structure import between_neighbours, kinds
from dcnlab.papers.hrsw.background import de_bruijn
from dcnlab.papers.measure import optimal_abt
from dcnlab.papers.wmgr.trade_offs import free_differences, largest_stretch
from dcnlab.papers.wmgr.trade_offs import kinds as kinds_of_vertices
from tests.topos.graphs import graph
from topos.registry import fabric


@pytest.mark.parametrize("spec", ["dcell:3,1", "dcell:4,1", "ficonn:4,2"])
def test_loads_of_levels_equal_edge_betweenness(spec: str) -> None:
    """A server hop is two links through a switch, or one link between servers."""
    network = fabric(spec)
    servers = range(network.servers)
    whole = nx.Graph()
    for link in network.links():
        a, b = link.a.node, link.b.node
        between = network.is_server(a) and network.is_server(b)
        whole.add_edge(a, b, weight=2 if between else 1, between=between)
    loads = nx.edge_betweenness_centrality_subset(whole, servers, servers, normalized=False, weight="weight")
    inner = [load for edge, load in loads.items() if not whole.edges[edge]["between"]]
    measured = level_loads(spec)
    assert measured[0] == pytest.approx(np.mean(inner))  # of each direction, as each pair is counted both ways
    total = sum(loads.values()) - sum(inner)
    counts = [sum(1 for _ in links) for links in by_level(spec)]
    assert sum(load * count for load, count in zip(measured[1:], counts, strict=True)) == pytest.approx(total)


def by_level(spec: str) -> list[list[int]]:
    """The links between servers of each level, from the sizes of the cells."""
    network = fabric(spec)
    sizes = network.family.sizes  # type: ignore[attr-defined]
    links: list[list[int]] = [[] for _ in sizes[1:]]
    for link in network.links():
        a, b = link.a.node, link.b.node
        if network.is_server(a) and network.is_server(b):
            level = next(level for level, size in enumerate(sizes) if a // size == b // size)
            links[level - 1].append(link.index)
    return links


@pytest.mark.parametrize("spec", ["dcell:3,1", "dcell:2,2", "ficonn:4,2"])
def test_sibling_cells_are_joined_by_one_link(spec: str) -> None:
    assert unjoined(spec) == 0


@pytest.mark.parametrize("m", [3, 4])
def test_paths_by_theorem_2_are_edge_disjoint_at_the_switches_of_the_claim_list(m: int) -> None:
    """50 % of the switches for m = 3 and 12.5 % for m = 4, as computed elsewhere from the paper's text."""
    disjoint = sum(disjoint_by_theorem_2(here, m) for here in range(2**m))
    assert disjoint / 2**m == {3: 0.5, 4: 0.125}[m]


@pytest.mark.parametrize("spec", ["hcn:3,1", "mdcube:3,1", "dcell:3,1"])
def test_the_bounds_of_the_optimal_throughput_contain_the_linear_program(spec: str) -> None:
    low, high = optimal_abt(spec)
    assert low * (1 - 1e-6) <= exact_abt(fabric(spec)) <= high * (1 + 1e-6)
    assert high <= 1.011 * low


@pytest.mark.parametrize("length", [3, 5])
def test_kautz_digraphs_have_words_without_equal_neighbours(length: int) -> None:
    words = [
        w for w in itertools.product(range(3), repeat=length) if all(a != b for a, b in itertools.pairwise(w))
    ]
    by_words = nx.DiGraph((w, (*w[1:], x)) for w in words for x in range(3) if x != w[-1])
    assert nx.is_isomorphic(kautz(length), by_words)
    assert nx.diameter(kautz(length)) == length
    assert len(de_bruijn(length)) == 2**length
    assert nx.diameter(de_bruijn(length)) == length


def test_the_least_cells_with_4096_servers() -> None:
    assert [least_levels("dcell", n, 5256) for n in (8, 6)] == [2, 3]
    assert least_levels("dcell", 8, 5257) == 3


def test_mdcube_has_several_kinds_of_servers_and_hdcube_one() -> None:
    for spec in ("mdcube:4,1", "hdcube:4,1"):
        network = graph(fabric(spec))
        servers = range(fabric(spec).servers)
        lengths = dict(nx.all_pairs_shortest_path_length(network))
        seen = {tuple(sorted(lengths[a][b] for b in servers)) for a in servers}
        assert kinds(fabric(spec)) == len(seen)
        assert (len(seen) > 1) == spec.startswith("m")


@pytest.mark.parametrize("m", [3, 4, 5])
def test_neighbours_of_a_switch_of_mdcube_are_near(m: int) -> None:
    assert 2 <= between_neighbours(m) <= 4


@pytest.mark.parametrize("s", [3, 4])
def test_greedy_routing_by_the_free_group_is_shortest_on_hypercubes(s: int) -> None:
    """Labels of a breadth-first tree, letters in ascending order; the nearest neighbour by common prefixes,
    the first among equals."""
    label = {0: ()}
    queue = [0]
    for at in queue:
        for bit in range(s):
            if at ^ 1 << bit not in label:
                label[at ^ 1 << bit] = (*label[at], bit)  # type: ignore[assignment]
                queue.append(at ^ 1 << bit)

    def apart(a: int, b: int) -> int:
        same = 0
        while same < min(len(label[a]), len(label[b])) and label[a][same] == label[b][same]:
            same += 1
        return len(label[a]) + len(label[b]) - 2 * same

    for a, b in itertools.permutations(range(2**s), 2):
        hops, at = 0, a
        while at != b:
            at = min((at ^ 1 << bit for bit in range(s)), key=lambda node: apart(node, b))
            hops += 1
        assert hops == (a ^ b).bit_count()
    assert largest_stretch(f"hypercube:{s}") == 1


def test_the_free_group_of_two_involutions_has_three_word_differences() -> None:
    assert free_differences(2, 2) == free_differences(2, 5) == 3


def test_vertices_of_a_cayley_graph_are_of_one_kind() -> None:
    assert kinds_of_vertices("slimfly:5") == 1  # vertex-transitive, as f = 1 modulo 4
    assert kinds_of_vertices("slimfly:7") > 1


def test_pow_takes_the_shortest_of_the_paths_that_it_has() -> None:
    assert shortest_share("torus:4x4") == pytest.approx(1)  # every step is nearer
    assert 0.5 < shortest_share("clot:4x4") < 1


def test_a_top_of_rack_switch_cuts_off_its_servers() -> None:
    assert (cut_off("fattree:4"), cut_off("clot:4x4"), cut_off("bcube:4,1")) == (2, 0, 0)
