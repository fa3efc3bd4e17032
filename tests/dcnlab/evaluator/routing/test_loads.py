"""Link loads compared with flows and betweenness; cuts and path counts compared with networkx."""

from __future__ import annotations

import itertools
from collections import Counter

import networkx as nx
import numpy as np
import pytest

from addressing.registry import bind
from dcnlab.evaluator.evaluate import evaluate
from dcnlab.evaluator.graph import failures
from dcnlab.evaluator.graph.betweenness import shortest_path_loads
from dcnlab.evaluator.graph.pairs import choose
from dcnlab.evaluator.graph.paths.path_diversity import path_diversity
from dcnlab.evaluator.optimum.exact import exact_abt
from dcnlab.evaluator.routing.path_lengths import path_lengths
from dcnlab.evaluator.traffic.flows import flows
from dcnlab.evaluator.traffic.loads import carried_load, link_loads
from dcnlab.traffic.patterns import traffic
from tests.topos.graphs import graph
from topos.fabric import Fabric
from topos.graph import LinkState
from topos.registry import fabric


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("bcube:4,1", "wmgr"),
        ("clot:4x4", "pow"),
        ("fattree:4", "ecmp"),
        ("torus:4x5", "dor"),
        ("mdcube:3,1", "dcube"),
        ("hdcube:4,1", "dcube"),
        ("bcube:3,2,parts=2", "brp"),
        ("dcell:3,1", "dfr"),
        ("dragonfly:4,2,2", "dor"),
        ("dragonfly:4,2,2", "valiant"),
        ("dragonfly:3,1,1", "valiant"),
        ("dragonfly:1,2,1", "valiant"),
    ],
)
@pytest.mark.parametrize("failing", ["", "links=15%", "servers=10%,switches=10%"])
def test_loads_are_the_sums_over_all_flows(spec: str, name: str, failing: str) -> None:
    network = fabric(spec)
    scheme = bind(name, network)
    failed = failures.draw(network, failing, 1)
    everybody = choose(network, "servers", 1, failed.nodes)
    expected = flows(scheme, traffic(network, "all-to-all", 1, failed.nodes), failed.links).loads(
        len(network.adjacency.peer)
    )
    routed = path_lengths(scheme, everybody, failed.links)
    for generic in (False, True):
        carried = carried_load(scheme, everybody, failed.links, generic=generic)
        assert carried.loads == pytest.approx(expected)
        assert carried.delivered == pytest.approx(routed.mass)
        assert carried.path_mean == pytest.approx(routed.path_mean)
    assert link_loads(scheme, everybody, failed.links) == pytest.approx(expected)


@pytest.mark.parametrize(
    "spec",
    ["hdcube:3,1", "bcube:3,1", "dcell:3,1", "hcn:3,1", "fattree:4", "jellyfish:4,6,3,seed=1", "clot:4x4"],
)
@pytest.mark.parametrize("failing", ["", "links=10%", "servers=10%,switches=20%"])
@pytest.mark.parametrize("which", ["servers", "sample:30", "from:h0"])
def test_loads_by_search_equal_those_of_the_rule(spec: str, failing: str, which: str) -> None:
    network = fabric(spec)
    scheme, failed = bind("ecmp", network), failures.draw(network, failing, 2)
    pairs = choose(network, which, 1, failed.nodes)
    for failure_knowledge in ("yes", "no"):
        fast = link_loads(scheme, pairs, failed.links, failure_knowledge=failure_knowledge)
        assert fast == pytest.approx(
            link_loads(scheme, pairs, failed.links, failure_knowledge=failure_knowledge, generic=True)
        )


@pytest.mark.parametrize("spec", ["hdcube:3,1", "fattree:4", "dcell:3,1"])
def test_loads_over_paths_equal_the_betweenness_of_networkx(spec: str) -> None:
    network = fabric(spec)
    failed = failures.draw(network, "links=10%", 2)
    directed = nx.Graph(graph(network, failed.links)).to_directed()
    expected = nx.edge_betweenness_centrality(directed, normalized=False)
    loads = shortest_path_loads(network, choose(network, "all", 1), failed.links, split_by="paths")
    owner = np.repeat(np.arange(network.size), np.diff(network.adjacency.start))
    for link in np.flatnonzero(loads):
        assert loads[link] == pytest.approx(expected.pop((int(owner[link]), int(network.adjacency.peer[link]))))
    assert not any(expected.values())


@pytest.mark.parametrize("spec", ["torus:4x5", "bcube:3,1", "smallworld:4x4,clusters=2x2"])
def test_splitting_over_paths_gives_every_shortest_path_the_same_share(spec: str) -> None:
    network = fabric(spec)
    loads = shortest_path_loads(network, choose(network, "servers", 1), split_by="paths")
    whole = nx.Graph(graph(network))
    expected: Counter[tuple[int, int]] = Counter()
    for pair in itertools.permutations(range(network.servers), 2):
        routes = list(nx.all_shortest_paths(whole, *pair))
        for route in routes:
            for hop in itertools.pairwise(route):
                expected[hop] += 1 / len(routes)
    for link in network.links():
        for near, far in ((link.a, link.b), (link.b, link.a)):
            link = int(network.adjacency.start[near.node]) + near.number - 1
            assert loads[link] == pytest.approx(expected[near.node, far.node])


def test_splitting_by_server_hops_prefers_fewest_servers() -> None:
    network = fabric("clot:4x4")
    loads = shortest_path_loads(network, choose(network, "servers", 1), hops="servers")
    arrivals = loads[network.adjacency.peer < network.servers].sum()
    direct = np.array(list(dict(nx.all_pairs_shortest_path_length(_one_hop(network))).values()))
    assert arrivals == pytest.approx(sum(sum(row.values()) for row in direct))
    with pytest.raises(ValueError, match="switches to switches"):
        shortest_path_loads(fabric("fattree:4"), choose(fabric("fattree:4"), "servers", 1), hops="servers")


def _one_hop(network: Fabric) -> nx.Graph:
    whole = graph(network)
    joined = nx.Graph((a, b) for a, b in whole.edges() if max(a, b) < network.servers)
    for switch in range(network.servers, network.size):
        joined.add_edges_from(itertools.combinations(whole[switch], 2))
    return joined


def test_path_diversity_equals_that_of_networkx() -> None:
    """Failures around server 0 make pairs differ; 600 draws of 120 pairs include each pair almost surely."""
    network = fabric("clot:4x4")
    links, failed = LinkState(frozenset({0, 1, 2})), (15,)
    whole = nx.Graph(graph(network, links))
    alive = [server for server in range(network.servers) if server not in failed]
    expected = {nx.edge_connectivity(whole, a, b) for a, b in itertools.combinations(alive, 2)}
    assert len(expected) > 1
    assert set(path_diversity(network, 600, 1, links, failed)) == expected
    assert set(path_diversity(fabric("bcube:3,2"), 6, seed=1)) == {3.0}


@pytest.mark.parametrize(
    ("spec", "abt"),
    [("torus:4x4", 30), ("torus:6x6", 140 / 3), ("torus:2x4", 14), ("torus:5x4", 95 / 3)],
)
def test_dimension_order_is_optimal_on_tori_where_ties_are_split(spec: str, abt: float) -> None:
    network = fabric(spec)
    scheme = bind("dor:balanced=yes", network)
    pairs = choose(network, "servers", 1)
    carried, expected = carried_load(scheme, pairs), carried_load(scheme, pairs, generic=True)
    assert carried.loads == pytest.approx(expected.loads)
    assert carried.delivered / carried.loads.max() == pytest.approx(abt)
    assert exact_abt(network) == pytest.approx(abt, rel=1e-6)


@pytest.mark.parametrize("spec", ["fattree:4", "jellyfish:6,10,4", "xpander:4,3", "leafspine:4,3,2"])
def test_paths_of_single_homed_servers_are_counted_between_their_switches(spec: str) -> None:
    network = fabric(spec)
    graph = nx.Graph(network.link_ends[:, [0, 2]].tolist())
    homes = sorted({next(iter(graph[host])) for host in range(network.servers)})
    expected = {nx.edge_connectivity(graph, a, b) for a, b in itertools.combinations(homes, 2)}
    assert set(path_diversity(network, 400, 1)) == expected
    assert evaluate(network, metrics=["diversity"]).metrics["diversity"]["between"] == "switches"
    assert evaluate("bcube:3,1", metrics=["diversity"]).metrics["diversity"]["between"] == "servers"
