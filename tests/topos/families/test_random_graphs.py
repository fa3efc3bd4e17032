"""Jellyfish, random regular graphs, Xpander lifts: regular, connected, reproducible by seed."""

from __future__ import annotations

import itertools
from collections import Counter

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.topos.graphs import built, links, refusal
from topos.constructions.randomgraph import random_lift, random_regular
from topos.fabric import Fabric
from topos.families.jellyfish import Jellyfish
from topos.families.xpander import Xpander
from topos.registry import fabric

SEEDS = st.integers(0, 2**32)


def switch_graph(network: Fabric) -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from(range(network.switches))
    graph.add_edges_from(
        (a - network.servers, b - network.servers) for a, b in links(network) if a >= network.servers
    )
    return graph


@given(n=st.integers(3, 60), d=st.integers(2, 12), seed=SEEDS)
@settings(max_examples=150, deadline=None)
def test_random_regular_graphs(n: int, d: int, seed: int) -> None:
    assume(d < n and n * d % 2 == 0)
    pairs = random_regular(np.random.default_rng(seed), n, d)
    graph = nx.Graph(pairs.tolist())
    assert set(dict(graph.degree()).values()) == {d}
    assert len(graph) == n
    assert graph.number_of_edges() == len(pairs) == n * d // 2
    assert nx.number_of_selfloops(graph) == 0
    assert nx.is_connected(graph)
    assert pairs.tolist() == sorted(map(sorted, pairs.tolist()))


@given(p=st.integers(2, 7), q=st.integers(1, 9), seed=SEEDS)
@settings(max_examples=100, deadline=None)
def test_lifts_cover_the_complete_graph(p: int, q: int, seed: int) -> None:
    """Each vertex has exactly one neighbour in every other group: the graph covers K_(p+1)."""
    graph = nx.Graph(random_lift(np.random.default_rng(seed), p, q).tolist())
    assert len(graph) == (p + 1) * q
    assert nx.is_connected(graph)
    for vertex in graph:
        groups = sorted(other // q for other in graph[vertex])
        assert groups == [g for g in range(p + 1) if g != vertex // q]


def test_small_graphs_are_drawn_evenly() -> None:
    """Each of the 12 cycles through 5 vertices is drawn about equally often."""
    drawn = Counter(
        tuple(map(tuple, random_regular(np.random.default_rng(seed), 5, 2).tolist())) for seed in range(3000)
    )
    assert len(drawn) == 12
    assert max(drawn.values()) < 1.5 * min(drawn.values())


@given(p=st.integers(3, 9), q=st.integers(3, 30), r=st.integers(2, 8), seed=SEEDS)
@settings(max_examples=40, deadline=None)
def test_jellyfish(p: int, q: int, r: int, seed: int) -> None:
    assume(r < p and r < q and q * r % 2 == 0)
    network = fabric(f"jellyfish:{p},{q},{r},seed={seed}")
    assert isinstance(network.family, Jellyfish)
    assert (network.servers, network.switches) == (q * (p - r), q)
    assert all(network.port_count(switch) == p for switch in range(network.servers, network.size))
    for switch in range(network.servers, network.size):
        below = list(network.neighbours(switch))[: p - r]
        first = (switch - network.servers) * (p - r)
        assert below == list(range(first, first + p - r))
        assert list(network.neighbours(switch))[p - r :] == sorted(list(network.neighbours(switch))[p - r :])


@given(p=st.integers(2, 6), q=st.integers(1, 6), seed=SEEDS)
@settings(max_examples=30, deadline=None)
def test_xpander_counts(p: int, q: int, seed: int) -> None:
    """q (p + 1) (ceil(p/2) + 1) nodes (WMGR, Table I)."""
    network = fabric(f"xpander:{p},{q},seed={seed}")
    assert isinstance(network.family, Xpander)
    assert network.size == q * (p + 1) * (-(-p // 2) + 1)
    assert network.switches == q * (p + 1)
    quotient = {tuple(sorted((a // q, b // q))) for a, b in switch_graph(network).edges()}
    assert quotient == set(itertools.combinations(range(p + 1), 2))


@given(p=st.integers(3, 9), q=st.integers(10, 30), servers=st.integers(1, 120), seed=SEEDS)
@settings(max_examples=40, deadline=None)
def test_hosts_in_all_are_spread_evenly_and_all_other_ports_join_switches(
    p: int, q: int, servers: int, seed: int
) -> None:
    """Jellyfish, section 4: the equipment of another network, with any number of servers."""
    assume(servers <= q * (p - 2) - 1)
    network = fabric(f"jellyfish:{p},{q},servers={servers},seed={seed}")
    assert (network.servers, network.switches) == (servers, q)
    hosts = [0] * q
    for host in range(servers):
        (switch,) = network.neighbours(host)
        hosts[switch - servers] += 1
        assert network.family.locate(network.family.label(host)) == host
        assert network.family.label(host).startswith(f"{switch - servers}.")
    assert max(hosts) - min(hosts) <= 1
    degrees = sorted(degree for _, degree in switch_graph(network).degree())
    assert sum(degrees) == q * p - servers - (q * p - servers) % 2
    assert nx.is_connected(switch_graph(network))


def test_xpander_takes_hosts_in_all_as_well() -> None:
    network = fabric("xpander:4,3,servers=20")
    counts = [sum(n < 20 for n in network.neighbours(switch)) for switch in range(20, network.size)]
    assert (network.servers, sorted(set(counts)), sum(counts)) == (20, [1, 2], 20)


@pytest.mark.parametrize("spec", ["jellyfish:6,20,4", "xpander:4,6", "random:20,3", "smallworld:6x6"])
def test_seeds_determine_the_graph(spec: str) -> None:
    assert np.array_equal(fabric(spec).link_ends, fabric(f"{spec},seed=1").link_ends)
    assert not np.array_equal(fabric(spec).link_ends, fabric(f"{spec},seed=2").link_ends)


@pytest.mark.parametrize("seed", range(1, 6))
def test_random_regular_graphs_expand(seed: int) -> None:
    """The second eigenvalue of a random d-regular graph is near 2 sqrt(d - 1) (Friedman)."""
    adjacency = nx.to_numpy_array(switch_graph(built(f"jellyfish:8,200,6,seed={seed}")))
    values = np.sort(np.abs(np.linalg.eigvalsh(adjacency)))
    assert values[-1] == pytest.approx(6)
    assert values[-2] < 1.15 * 2 * 5**0.5


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("jellyfish:4,8,4", "jellyfish: r must be less than p = 4: no port is left for hosts"),
        ("jellyfish:9,8,8", "jellyfish: r must be less than the number of vertices, 8, not 8"),
        (
            "jellyfish:4,9,3",
            "jellyfish: no graph has 9 vertices of degree 3: one of the two numbers must be even",
        ),
        ("random:4,1", "random: d must be at least 2 to connect 4 vertices"),
        ("jellyfish:4,8", "jellyfish: write r or servers: jellyfish:4,8,3 or jellyfish:4,8,servers=10"),
        (
            "jellyfish:4,8,3,servers=8",
            "jellyfish: write r or servers: jellyfish:4,8,3 or jellyfish:4,8,servers=10",
        ),
        (
            "jellyfish:4,8,servers=25",
            "jellyfish: a switch of 4 ports has room for 3 hosts beside a port to other switches, not for 4",
        ),
        (
            "jellyfish:4,8,servers=20",
            "jellyfish: each switch has 1 to 2 ports for other switches: they must be between 2 and q - 1 = 7",
        ),
        ("xpander:3,3,hosts=1,servers=9", "xpander: write hosts or servers, not both"),
        ("xpander:1,3", "xpander: p must be at least 2, not 1"),
    ],
)
def test_refusals(spec: str, message: str) -> None:
    assert refusal(spec) == message
