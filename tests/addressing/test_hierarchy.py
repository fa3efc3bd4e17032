"""Hierarchical prefixes under failures that split clusters, and why a cluster must agree on the next one."""

from __future__ import annotations

import random

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from addressing import registry as schemes
from addressing.hierarchy import Hierarchy
from addressing.scheme import LabelTooWide, path
from addressing.table import compile_table
from dcnlab.evaluator.graph.pairs import choose
from dcnlab.evaluator.routing.path_lengths import PathLengths, path_lengths
from tests.topos.graphs import built, graph
from topos.fabric import Fabric
from topos.graph import LinkState
from topos.spec import SpecError

WORLDS = [
    "smallworld:6x6,clusters=2x2",
    "smallworld:8x4,clusters=4x2,links=2",
    "smallworld:4x4x3,clusters=2x2x1",
]


def hierarchy(text: str, fabric: Fabric) -> Hierarchy:
    scheme = schemes.bind(text, fabric)
    assert isinstance(scheme, Hierarchy)
    return scheme


def counted(lengths: PathLengths) -> dict[tuple[int, int], float]:
    """The number of pairs by (hops, distance), where it is not zero."""
    return {(int(h), int(d)): float(lengths.joint[h, d]) for h, d in np.argwhere(lengths.joint)}


def cut_apart(scheme: Hierarchy, draw: random.Random) -> set[int]:
    """The links between two halves of a cluster, and some at random; the halves stay connected over
    other clusters."""
    fabric, cluster = scheme.fabric, draw.randrange(len(scheme.places))
    members = [n for n, c in enumerate(scheme.clustering) if c == cluster]
    half = set(draw.sample(members, draw.randrange(1, len(members))))
    ends = fabric.link_ends[:, [0, 2]].tolist()
    down = {i for i, (a, b) in enumerate(ends) if a in members and b in members and (a in half) != (b in half)}
    switch_links = [i for i, (a, b) in enumerate(ends) if min(a, b) >= fabric.servers]
    return down | set(draw.sample(switch_links, draw.randrange(len(switch_links) // 5)))


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    spec=st.sampled_from(WORLDS),
    text=st.sampled_from(["hrsw", "hrsw:budget=0", "hrsw:budget=100", "hrsw-set", "hrsw-set:budget=0"]),
    seed=st.integers(0, 10**6),
)
def test_connected_nodes_are_reached_when_clusters_split(spec: str, text: str, seed: int) -> None:
    draw = random.Random(seed)
    fabric = built(spec)
    whole = hierarchy(text, fabric)
    down = LinkState(frozenset(cut_apart(whole, draw) | cut_apart(whole, draw)))
    scheme = hierarchy(text, fabric).with_failures(down)
    assert isinstance(scheme, Hierarchy)
    pieces = list(nx.connected_components(graph(fabric, down)))
    connected = sum(size * (size - 1) for piece in pieces if (size := sum(n < fabric.servers for n in piece)))
    generic = path_lengths(whole, choose(fabric, "servers", 1), down, generic=True)
    arrays = path_lengths(whole, choose(fabric, "servers", 1), down)
    assert generic.mass == generic.connected == connected
    assert counted(generic) == counted(arrays)
    most = max(len(list(whole.forwarding_classes(node))) for node in range(fabric.servers, fabric.size))
    for node in range(fabric.servers, fabric.size):
        extra = len(compile_table(scheme, node).entries) - most
        assert extra <= scheme.budget or scheme.backup_clusters


def test_backup_paths_add_entries_only_at_their_own_nodes() -> None:
    fabric = built("smallworld:16x16,clusters=4x4")
    whole = hierarchy("hrsw:budget=0", fabric)
    lone = whole.places[5][6]
    inside = [
        i for i in fabric.links_of(lone) if {whole.clustering[n] for n in fabric.link_ends[i, [0, 2]]} == {5}
    ]
    scheme = hierarchy("hrsw:budget=0", fabric).with_failures(LinkState(frozenset(inside)))
    assert isinstance(scheme, Hierarchy)
    assert scheme.split_clusters == scheme.backup_clusters == {5}
    before = {n: len(compile_table(whole, n).entries) for n in range(fabric.servers, fabric.size)}
    grown = {n for n, size in before.items() if len(compile_table(scheme, n).entries) > size}
    assert grown <= {
        n for ports in map(scheme.parts.backup_ports, scheme.parts.parts_of_cluster[5]) for n in ports
    }
    assert 0 < len(grown) < 6
    repair_report = scheme.repair_report()
    assert (
        repair_report["split_clusters"],
        repair_report["on_backup_path"],
        repair_report["extra_entries_max"],
    ) == (1, 1, 1)
    hosts = [int(np.flatnonzero(scheme.homes == node)[0]) for node in (lone, whole.places[5][0])]
    assert path(scheme, *hosts, scheme.known)
    assert path(scheme, *reversed(hosts), scheme.known)


def independent(scheme: Hierarchy, seed: int) -> float:
    """The share of (switch, other cluster) pairs that loop when every switch chooses by itself among the
    neighbouring clusters that are nearer, and goes to its nearest exit into the chosen one."""
    parts, draw = scheme.parts, np.random.default_rng(seed)
    looping = total = 0
    for to in range(len(parts.members)):
        distance = parts.distance((to,))
        step: dict[int, int] = {}
        for own, nodes in enumerate(parts.members):
            if own == to:
                continue
            nearer = sorted(p for p in parts.part_neighbours[own] if distance[p] == distance[own] - 1)
            exits = {p: parts._exits(own, p) for p in nearer}
            for node in nodes:
                port = exits[nearer[draw.integers(len(nearer))]][node]
                step[node] = scheme.fabric.peer(node, port).node
        follow = nx.DiGraph(step.items())
        follow.add_edges_from((node, "in") for node in parts.members[to])
        reached = nx.ancestors(follow, "in")
        looping += sum(node not in reached for node in step)
        total += len(step)
    return looping / total


@pytest.mark.parametrize(("blocks", "least", "most"), [("4x4", 0.01, 0.1), ("8x8", 0.2, 0.6)])
def test_independent_choices_on_ties_loop_and_agreed_ones_do_not(
    blocks: str, least: float, most: float
) -> None:
    scheme = hierarchy("hrsw", built(f"smallworld:32x32,clusters={blocks}"))
    assert least < independent(scheme, 1) < most
    lengths = path_lengths(scheme, choose(scheme.fabric, "servers", 1))
    assert lengths.mass == lengths.pairs


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hrsw:prefix=172.16.0.0/27", "give a prefix of /23 or shorter"),
        ("hrsw:prefix=224.0.0.0/8", "no host can have an address"),
        ("hrsw:prefix=10.0.0.1/8", "host bits set"),
    ],
)
def test_an_unusable_prefix_is_refused_in_one_line(text: str, words: str) -> None:
    with pytest.raises((SpecError, LabelTooWide), match=words) as refused:
        schemes.bind(text, built("smallworld:16x16,clusters=2x2")).check_width()
    assert "\n" not in str(refused.value)


def test_addresses_are_in_the_given_prefix() -> None:
    scheme = schemes.bind("hrsw:prefix=172.16.0.0/12", built("smallworld:8x8,clusters=2x2"))
    scheme.check_width()
    assert {scheme.ipv4(host) >> 20 for host in range(scheme.fabric.servers)} == {172 << 4 | 1}


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("bcube:4,1", "hier"),
        ("jellyfish:8,40,6", "hier:clusters=7"),
        ("fattree:6", "hier"),
        ("torus:6x6", "hier:blocks=2x3"),
        ("borel:11,3,1,2", "hier:clusters=5"),
    ],
)
def test_clusters_of_any_network_are_connected(spec: str, text: str) -> None:
    scheme = hierarchy(text, built(spec))
    assert len(scheme.places) > 1
    whole = nx.Graph(graph(scheme.fabric))
    for cluster in range(len(scheme.places)):
        assert nx.is_connected(whole.subgraph(n for n, c in enumerate(scheme.clustering) if c == cluster))
    lengths = path_lengths(scheme, choose(scheme.fabric, "servers", 1))
    asked = path_lengths(scheme, choose(scheme.fabric, "servers", 1), generic=True)
    assert lengths.mass == lengths.pairs
    assert counted(lengths) == counted(asked)


@pytest.mark.parametrize(
    ("spec", "text"),
    [("torus:6x6", "hier:blocks=4x3"), ("bcube:2,1", "hier:blocks=2"), ("torus:3x3", "hier:clusters=10")],
)
def test_impossible_clusters_are_refused(spec: str, text: str) -> None:
    with pytest.raises(SpecError, match=r"blocks must divide|is not a grid|has 9 nodes"):
        schemes.bind(text, built(spec))


@pytest.mark.parametrize("spec", [*WORLDS, "smallworld:6x6", "torus:4x4", "fattree:4"])
def test_ports_inside_clusters_computed_at_once_are_those_of_single_searches(spec: str) -> None:
    fabric = built(spec)
    whole = hierarchy("hrsw" if spec.startswith("small") else "hier:clusters=3", fabric)
    ends = fabric.link_ends[:, [0, 2]].min(axis=1)
    links = np.flatnonzero(ends >= (0 if fabric.relaying else fabric.servers)).tolist()
    for down in ((), random.Random(1).sample(links, 2), random.Random(2).sample(links, len(links) // 3)):
        slow, prepared = (whole.with_failures(LinkState(frozenset(down))) for _ in range(2))
        assert isinstance(slow, Hierarchy)
        assert isinstance(prepared, Hierarchy)
        prepared.prepare_tables(prepared.vertices)
        assert "every_port_inside" in vars(prepared.parts)
        for at in prepared.vertices:
            assert compile_table(prepared, at, prepared.known) == compile_table(slow, at, slow.known)
            for vertex in prepared.vertices:
                if slow.parts.part[at] == slow.parts.part[vertex]:
                    one = slow.parts.ports_inside(vertex)[at]
                    assert prepared.parts.port_inside(at, vertex) == one


def test_spread_ties_have_no_ports_computed_at_once() -> None:
    fabric = built("fattree:4")
    slow, prepared = (schemes.bind("hier:ties=spread", fabric) for _ in range(2))
    assert isinstance(slow, Hierarchy)
    assert isinstance(prepared, Hierarchy)
    prepared.prepare_tables(prepared.vertices)
    for at in prepared.vertices:
        assert compile_table(prepared, at, prepared.known) == compile_table(slow, at, slow.known)
