"""shortest, ecmp, ksp and tz against networkx and their papers' theorems."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from itertools import islice, pairwise

import networkx as nx
import numpy as np
import pytest

from addressing.algorithms.shortest_paths import ShortestPaths
from addressing.header import Forward, Header
from addressing.scheme import path
from addressing.schemes import tz
from addressing.schemes.ecmp import Ecmp
from addressing.schemes.ksp import Ksp
from addressing.schemes.shortest import Shortest
from addressing.schemes.tz import Tz
from addressing.table import compile_table
from dcnlab.evaluator.routing.vector import shortest as vectorised
from tests.addressing.cases import failures
from tests.topos.graphs import built, graph
from topos.fabric import Fabric
from topos.graph import ALL_UP, NONE, LinkState

SPECS = ["bcube:3,1", "fattree:4", "slimfly:3,hosts=1", "jellyfish:5,20,3", "borel:7,2,1,2", "clot:4x4"]


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("share", [0.0, 0.15])
def test_shortest_takes_one_port_on_a_shortest_path(spec: str, share: float) -> None:
    fabric = built(spec)
    down = failures(fabric, 1, share) if share else ALL_UP
    scheme, known = Shortest(fabric, known=down), graph(fabric, down)
    for destination in range(0, fabric.servers, 5):
        distance = nx.single_source_shortest_path_length(known, destination)
        for at in set(range(fabric.size)) - {destination}:
            nearer = [p for p, end in fabric.ports(at, down) if distance[end.node] == distance[at] - 1]
            number = 0
            if not fabric.relaying:
                digits = np.base_repr(destination, len(nearer)) if len(nearer) > 1 else "0"
                number = int(digits.zfill(2)[-2 + distance[at] % 2], 36)
            assert scheme.next_hops(at, Header(destination)) == ((Forward(nearer[number]), 1.0),)
            balanced = Ecmp(fabric, known=down).next_hops(at, Header(destination))
            assert [action for action, _ in balanced] == [Forward(port) for port in nearer]
            assert {weight for _, weight in balanced} == {1 / len(nearer)}


@pytest.mark.parametrize("spec", ["fattree:4", "fattree:6", "fattree:8"])
def test_shortest_spreads_destinations_over_the_ports_of_every_switch_of_a_fat_tree(spec: str) -> None:
    """At each switch two ports that lead up have equally many destinations, or one more; every core leads to as
    many servers."""
    fabric = built(spec)
    scheme = Shortest(fabric)
    for switch in range(fabric.servers, fabric.size):
        scheme.prepare_tables((0, 1))
        used = Counter(scheme.next_hops(switch, Header(server)) for server in range(fabric.servers))
        up = [
            n
            for ((hop, _),), n in used.items()
            if isinstance(hop, Forward) and _upward(fabric, switch, hop.port)
        ]
        assert not up or max(up) - min(up) <= 1
    cores: Counter[int] = Counter()
    for destination in range(fabric.servers // 2, fabric.servers):
        nodes = path(scheme, 0, destination)
        assert nodes is not None
        cores[nodes[3]] += 1
    assert len(cores) == (fabric.port_count(fabric.servers) // 2) ** 2
    assert max(cores.values()) - min(cores.values()) <= 1


@pytest.mark.parametrize(
    "spec", ["fattree:6", "jellyfish:5,20,3", "slimfly:3,hosts=1", "clot:4x4", "torus:3x4"]
)
@pytest.mark.parametrize("share", [0.0, 0.15])
def test_shortest_vectorised_takes_the_ports_of_the_rule(spec: str, share: float) -> None:
    """Of links that are down the tables know some; the nodes know all."""
    fabric = built(spec)
    down = failures(fabric, 1, share) if share else ALL_UP
    known = LinkState(frozenset(sorted(down.down)[::2]))
    scheme, destinations = Shortest(fabric, known=known), np.arange(fabric.servers, dtype=np.int32)
    chosen = vectorised.rule(scheme, down)(destinations)
    for destination, at in itertools.product(destinations.tolist(), range(fabric.size)):
        if at == destination or fabric.is_end_host(at):
            continue
        ((action, _),) = scheme.next_hops(at, Header(destination), down)
        port = action.port if isinstance(action, Forward) else None
        link = int(chosen[destination, at])
        assert port == (None if link == NONE else link - int(fabric.adjacency.start[at]) + 1)


def _upward(fabric: Fabric, switch: int, port: int) -> bool:
    end = fabric.peer(switch, port)
    return end is not None and end.node > switch


def test_full_tables_have_one_entry_per_server() -> None:
    fabric = built("bcube:3,1")
    for node in range(fabric.size):
        assert len(compile_table(Shortest(fabric), node).entries) == fabric.servers


def test_a_failure_that_only_the_node_knows_is_avoided_on_another_shortest_path() -> None:
    fabric = built("fattree:4")
    scheme = Shortest(fabric)
    edge, there = fabric.servers, Header(fabric.servers - 1)
    action, _ = scheme.next_hops(edge, there)[0]
    assert isinstance(action, Forward)
    down = ALL_UP.fail((fabric.link_at(edge, action.port),))
    other, _ = scheme.next_hops(edge, there, down)[0]
    assert isinstance(other, Forward)
    assert other != action


def test_distances_cached_for_either_end_agree() -> None:
    fabric = built("dcell:3,1")
    fresh, prepared = ShortestPaths(fabric, ALL_UP), ShortestPaths(fabric, ALL_UP)
    prepared.prepare(3)
    for node in range(fabric.size):
        assert list(fresh.next_hop_ports(3, node, ALL_UP)) == list(prepared.next_hop_ports(3, node, ALL_UP))
        assert prepared.hops(3, node) == fresh.distances_to(node)[3]


@pytest.mark.parametrize("spec", ["slimfly:3,hosts=1", "bcube:3,1", "jellyfish:5,20,3"])
def test_ksp_finds_the_k_shortest_simple_paths(spec: str) -> None:
    fabric = built(spec)
    scheme, draw = Ksp(fabric, 6), random.Random(3)
    forwarding = nx.Graph(graph(fabric).subgraph(v for v in range(fabric.size) if not fabric.is_end_host(v)))
    for _ in range(15):
        source, vertex = draw.sample(scheme.vertices, 2)
        paths = scheme.paths(source, vertex)
        expected = islice(nx.shortest_simple_paths(forwarding, source, vertex), 6)
        assert [len(p) for p in paths] == [len(nodes) - 1 for nodes in expected]
        assert len(set(paths)) == len(paths)
        for steps in paths:
            nodes = [node for node, _ in steps] + [vertex]
            assert len(set(nodes)) == len(nodes)
            assert [fabric.peer(node, port).node for node, port in steps] == nodes[1:]  # type: ignore[union-attr]


def test_ksp_uses_every_path_with_equal_weight() -> None:
    fabric = built("slimfly:3,hosts=1")
    scheme = Ksp(fabric, 4)
    edge, host = fabric.servers, 17
    next_hops = scheme.next_hops(edge, Header(scheme.label(host), tag=12345 & 0x3F, in_port=1))
    tags = {action.tag for action, _ in next_hops if isinstance(action, Forward)}
    assert len(next_hops) == len(tags) == 4
    assert {weight for _, weight in next_hops} == {0.25}


@pytest.mark.parametrize("spec", ["smallworld:8x8", "jellyfish:7,60,4", "bcube:4,1", "random:60,3"])
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("represented", [False, True])
def test_tz_stretch_is_at_most_three(spec: str, seed: int, represented: bool) -> None:
    fabric = built(spec)
    scheme, known, draw = Tz(fabric, seed, represented=represented), graph(fabric), random.Random(seed)
    for _ in range(250):
        source, destination = draw.sample(range(fabric.servers), 2)
        walked = path(scheme, source, destination)
        assert walked is not None
        ends = scheme.homes[source], scheme.homes[destination]
        between = len([pair for pair in pairwise(walked) if not any(map(fabric.is_end_host, pair))])
        assert between <= 3 * nx.shortest_path_length(known, *map(int, ends))


def test_tz_clusters_and_landmarks_satisfy_the_definition() -> None:
    fabric = built("random:60,3")
    scheme, known = Tz(fabric), graph(fabric)
    distance = dict(nx.all_pairs_shortest_path_length(known))
    radius = {v: min(distance[v][a] for a in scheme.landmarks) for v in range(60)}
    for at in range(60):
        cluster = {v for v in range(60) if v != at and distance[at][v] < radius[v]}
        assert len(cluster) <= 4 * 60**0.5
        entries = compile_table(scheme, at).entries
        full = (1 << scheme.label_bits) - 1
        assert {scheme.find(e.pattern.label) for e in entries if e.pattern.mask == full} == cluster | {at}
        assert len(entries) <= 1 + len(cluster) + len(scheme.landmarks) + fabric.port_count(at)


def test_a_tz_landmark_stores_the_vertices_that_it_represents() -> None:
    fabric = built("random:60,3")
    scheme, usual = Tz(fabric, represented=True), Tz(fabric)
    assert scheme.landmarks == usual.landmarks
    assert scheme.label_bits < usual.label_bits
    full = (1 << scheme.label_bits) - 1
    for at in scheme.landmarks:
        number = scheme.landmarks.index(at)
        exact = {e.pattern.label for e in compile_table(scheme, at).entries if e.pattern.mask == full}
        assert {scheme.find(label) for label in exact} == {v for v in range(60) if scheme.nearest[v] == number}
    for source, vertex in ((s, v) for s in range(0, 60, 7) for v in range(60) if s != v):
        assert path(scheme, source, vertex) == path(usual, source, vertex)


def test_tz_samples_fewer_landmarks_by_root_log() -> None:
    fabric = built("smallworld:16x16,clusters=4x4")
    few, usual = Tz(fabric, sample="root-log"), Tz(fabric)
    assert len(few.landmarks) < len(usual.landmarks)
    sizes = few.cluster_sizes(few.landmarks, np.arange(fabric.size, dtype=np.int32))
    assert sizes.max() <= 4 * (256 * 8) ** 0.5


@pytest.mark.parametrize("spec", ["random:60,3,hosts=0", "bcube:3,2", "fattree:4", "torus:5x6", "torus:9x10"])
@pytest.mark.parametrize("down", [frozenset(), frozenset(range(0, 40, 3))])
def test_tz_chooses_the_same_landmarks_by_compiled_code(
    spec: str, down: frozenset[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Tz(built(spec), known=LinkState(down))
    switches = range(slow.fabric.servers, slow.fabric.size)
    nodes = np.array(slow.vertices if slow.fabric.relaying else switches, dtype=np.int32)
    expected = slow.landmarks, slow.cluster_sizes(slow.landmarks, nodes).tolist()
    monkeypatch.setattr(tz, "_MANY", 0)
    fast = Tz(built(spec), known=LinkState(down))
    assert (fast.landmarks, fast.cluster_sizes(fast.landmarks, nodes).tolist()) == expected
    distance = np.stack([fast.shortest_paths.distances_to(landmark) for landmark in fast.landmarks])
    distance[distance < 0] = fast.fabric.size
    assert fast.nearest.tolist() == distance.argmin(axis=0).tolist()
