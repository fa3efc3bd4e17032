"""Parallel paths and complete graphs, compared with the links and with networkx."""

from __future__ import annotations

import functools
import itertools
import random

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from addressing.algorithms.disjoint import disjoint_paths
from addressing.multipath.complete_graphs import complete_graph
from addressing.multipath.construction import NoCompleteGraph
from addressing.multipath.edge_disjoint import shareable_links
from addressing.multipath.parallel_paths import parallel_paths, shareable_nodes
from addressing.multipath.registry import construction, known
from dcnlab.evaluator.graph.paths.path_check import check_complete_graph, check_parallel
from tests.topos.graphs import graph
from topos.fabric import Fabric
from topos.families.dcube import CubeOfSwitches
from topos.registry import fabric


@functools.cache
def without_parallel_links(network: Fabric) -> nx.Graph:
    return nx.Graph(graph(network))


def check_walks(network: Fabric, paths: list[tuple[int, ...]], source: int, destination: int) -> None:
    simple = without_parallel_links(network)
    for path in paths:
        assert nx.is_simple_path(simple, path)
        assert (path[0], path[-1]) == (source, destination)


def cube_paths(network: Fabric, source: int, destination: int) -> int:
    """The number of disjoint paths over the switches, counting each direct link as a path of its own."""
    cube = network.family
    assert isinstance(cube, CubeOfSwitches)
    here, there = cube.address(source), cube.address(destination)
    graph = nx.Graph((a, cube.neighbour(a, j)) for a in range(2**cube.m) for j in range(cube.m))
    direct = graph.has_edge(here, there)
    if direct:
        graph.remove_edge(here, there)
    return nx.node_connectivity(graph, here, there) + (cube.k if direct else 0)


CUBES = ["hdcube:4,1", "hdcube:6,2", "mdcube:3,1", "mdcube:8,2", "mdcube:6,1", "dcube:5,1,cube=twisted"]


@pytest.mark.parametrize("spec", CUBES)
@pytest.mark.parametrize("weak", [False, True])
def test_dcube_has_as_many_paths_as_max_flow_allows(spec: str, weak: bool) -> None:
    network = fabric(spec)
    cube = network.family
    assert isinstance(cube, CubeOfSwitches)
    for destination in range(1, network.servers, max(1, network.servers // 24)):
        source = destination * 7 % cube.n
        paths = parallel_paths(network, source, destination, weak)
        check_walks(network, list(paths), source, destination)
        ends = {cube.switch(cube.address(source)), cube.switch(cube.address(destination))}
        if len(ends) == 1:
            assert len(paths) == (1 if source != destination else len(paths))
            continue
        inner = [set(path[1:-1]) - ends for path in paths]
        if weak:
            inner = [{node for node in part if network.is_server(node)} for part in inner]
            assert len(paths) == cube.n
        else:
            assert len(paths) == cube_paths(network, source, destination) >= cube.m
        assert sum(map(len, inner)) == len(set().union(*inner))
        assert check_parallel(
            network, source, destination, paths, shareable_nodes(network, source, destination, weak)
        ).holds


@pytest.mark.parametrize(
    "spec", ["bcube:4,1", "bcube:3,2,parts=2", "dcell:4,1", "dcell:2,2", "torus:3x4", "hcn:3,1"]
)
def test_elsewhere_paths_share_nothing_and_are_as_many_as_max_flow_allows(spec: str) -> None:
    network = fabric(spec)
    simple = nx.Graph(graph(network))
    ends = random.Random(4)
    for _ in range(25):
        source, destination = ends.sample(range(network.servers), 2)
        paths = parallel_paths(network, source, destination)
        check_walks(network, list(paths), source, destination)
        assert len(list(itertools.chain(*(path[1:-1] for path in paths)))) == len(
            set(itertools.chain(*(path[1:-1] for path in paths)))
        )
        most = len(list(nx.node_disjoint_paths(simple, source, destination)))
        assert len(paths) == most
        if spec.startswith(("bcube", "dcell")):
            assert most == len(network.links_of(source))
        assert check_parallel(network, source, destination, paths, ()).holds


def test_hosts_of_a_fat_tree_share_their_switches_only() -> None:
    network = fabric("fattree:6")
    assert len(parallel_paths(network, 0, network.servers - 1)) == 3
    assert parallel_paths(network, 0, 1) == ((0, network.servers, 1),)
    with pytest.raises(ValueError, match="only DCube has weak parallel paths"):
        parallel_paths(network, 0, 9, weak=True)


@settings(max_examples=60, deadline=None)
@given(st.integers(4, 12), st.integers(0, 10**6))
def test_paths_are_as_many_as_there_are_and_of_least_total_length(size: int, seed: int) -> None:
    graph = nx.gnp_random_graph(size, 0.4, seed=seed)
    paths = disjoint_paths(size, np.array(graph.edges, dtype=np.int64).reshape(-1, 2), 0, 1)
    split = nx.DiGraph()
    for node in graph:
        split.add_edge((node, 0), (node, 1), capacity=size if node in (0, 1) else 1, weight=0)
    for a, b in itertools.chain(graph.edges, (edge[::-1] for edge in graph.edges)):
        split.add_edge((a, 1), (b, 0), capacity=1, weight=1)
    flow = nx.max_flow_min_cost(split, (0, 1), (1, 0))
    assert len(paths) == sum(flow[0, 1].values()) - sum(flow[a, 1].get((0, 0), 0) for a in graph)
    assert sum(len(path) - 1 for path in paths) == nx.cost_of_flow(split, flow)
    assert all(nx.is_simple_path(graph, path) for path in paths)


CONSTRUCTED = ["hdcube:2,1", "hdcube:6,1", "hdcube:8,2", "bcube:4,1", "bcube:3,2", "bcube:3,2,parts=2"]
CELLS = ["dcell:4,1", "dcell:2,2", "dcell:3,2,parts=5", "hcn:3,1", "hcn:4,2", "hcn:3,2,parts=2"]
SEARCHED = ["mdcube:3,1", "mdcube:6,2", "mdcube:6,1", "dcube:5,1,cube=twisted", "dcube:4,1,cube=mobius0"]


@pytest.mark.parametrize("spec", CONSTRUCTED + CELLS + SEARCHED)
def test_complete_graphs_are_complete_and_edge_disjoint(spec: str) -> None:
    network = fabric(spec)
    for source in range(0, network.servers, max(1, network.servers // 12)):
        complete = complete_graph(network, source)
        assert complete.method == ("search" if spec in SEARCHED else "construction")
        assert complete.servers[0] == source
        cube = network.family
        size = 1 + (cube.m if isinstance(cube, CubeOfSwitches) else len(network.links_of(source)))
        if "parts" in spec and spec in CELLS:  # some neighbours lack a port
            assert 2 <= len(set(complete.servers)) <= size
        else:
            assert len(set(complete.servers)) == size
        seen: set[frozenset[int]] = set()
        for a, b in itertools.combinations(complete.servers, 2):
            path = complete.path(a, b)
            assert path == complete.path(b, a)[::-1]
            check_walks(network, [path], a, b)
            assert not set(path[1:-1]) & set(complete.servers)
            # Servers of DCube have two ports: paths may share the members' own links, and no others.
            links = {frozenset(step) for step in itertools.pairwise(path)}
            if size > 3 and isinstance(cube, CubeOfSwitches):
                links = {link for link in links if not link & set(complete.servers)}
            assert not links & seen
            seen |= links
        assert check_complete_graph(network, complete.servers, complete.paths).holds


@pytest.mark.parametrize("spec", ["mdcube:4,1", "mdcube:6,1", "mdcube:8,1"])
def test_m_dcube_has_complete_graphs_with_at_most_four_switch_hops_for_every_source(spec: str) -> None:
    network = fabric(spec)
    cube = network.family
    assert isinstance(cube, CubeOfSwitches)
    step = cube.n * (32 if cube.m == 8 else 8 if cube.m == 6 else 1)
    for source in range(0, network.servers, step):
        for path in complete_graph(network, source).paths.values():
            assert sum(not network.is_server(node) for node in path) <= 5


def test_given_servers_are_joined_by_search_or_the_error_says_why_not() -> None:
    network = fabric("bcube:4,1")
    servers = [network.index(name) for name in ("h0", "h5", "h9", "h12")]
    complete = complete_graph(network, servers[0], servers[1:])
    assert check_complete_graph(network, complete.servers, complete.paths).holds
    assert shareable_links(network, complete.servers) == {link for s in servers for link in network.links_of(s)}
    with pytest.raises(NoCompleteGraph, match="there is no edge-disjoint complete graph among"):
        complete_graph(fabric("torus:8"), 0, [2, 4, 6])
    with pytest.raises(NoCompleteGraph, match="name the other servers"):
        complete_graph(fabric("torus:4x4"), 0)
    with pytest.raises(NoCompleteGraph, match="twice"):
        complete_graph(network, 0, [1, 1])


def test_checks_name_what_is_wrong() -> None:
    network = fabric("bcube:4,1")
    one, other = parallel_paths(network, 0, 5)
    assert check_parallel(network, 0, 5, [one, one], ()).shared_nodes
    assert check_parallel(network, 0, 5, [one, one], range(network.size)).shared_links
    assert not check_parallel(network, 0, 5, [one], ()).holds
    assert check_parallel(network, 0, 5, [one, other[:-1]], ()).broken
    complete = complete_graph(network, 0)
    paths = dict(complete.paths)
    del paths[complete.servers[0], complete.servers[1]]
    assert check_complete_graph(network, complete.servers, paths).broken == ("no path h0 to h1",)
    longer = {**complete.paths, (0, 1): (0, network.servers, 2, network.servers, 1)}
    assert check_complete_graph(network, complete.servers, longer).broken


def test_a_search_that_times_out_says_so() -> None:
    with pytest.raises(NoCompleteGraph, match=r"was found among the paths of at most 4 switch hops .* in 0 s"):
        complete_graph(fabric("mdcube:6,1"), 0, budget=0)


@pytest.mark.parametrize("spec", ["hdcube:4,1", "mdcube:4,1"])
def test_every_pair_of_switches_has_m_parallel_paths(spec: str) -> None:
    network = fabric(spec)
    cube = network.family
    assert isinstance(cube, CubeOfSwitches)
    for pair in itertools.combinations(range(2**cube.m), 2):
        here, there = pair if sum(pair) % 2 else pair[::-1]
        source, destination = cube.server(here, there % cube.n), cube.server(there, here % cube.n)
        paths = parallel_paths(network, source, destination)
        inner = [set(path[1:-1]) - {cube.switch(here), cube.switch(there)} for path in paths]
        assert len(paths) == cube.m
        assert sum(map(len, inner)) == len(set().union(*inner))


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("bcube:3,1", "bcube"),
        ("hdcube:4,1", "dcube"),
        ("mdcube:3,1", "dcube"),
        ("dcell:4,1", "dcell"),
        ("hcn:3,1", "hcn"),
        ("torus:4x4", "general"),
    ],
)
def test_each_family_has_one_construction(spec: str, name: str) -> None:
    network = fabric(spec)
    fitting = [known_one.name for known_one in known().values() if known_one.fits(network.family)]
    assert fitting == ([name] if name != "general" else [])
    assert construction(network).name == name
