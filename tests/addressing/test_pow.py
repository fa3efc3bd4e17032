"""POW under failures: for all random choices packets between connected servers arrive, and none loops."""

from __future__ import annotations

import itertools

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from addressing.header import Deliver, Forward, Header
from addressing.schemes.pow import Pow
from tests.addressing.cases import bound
from tests.topos.graphs import built, graph
from topos.families.clot import Clot
from topos.graph import LinkState

SPECS = ["clot:4x4", "clot:2x6", "clot:2x4x2", "torus:3x4", "torus:7", "novacube:4x4"]


def scheme_of(spec: str) -> Pow:
    scheme = bound(spec, "pow")
    assert isinstance(scheme, Pow)
    return scheme


def next_hops(scheme: Pow, to: int, down: LinkState) -> nx.DiGraph:
    """For one destination, the graph of all hops that packets can take, from every node."""
    hops = nx.DiGraph()
    header = Header(scheme.label(to))
    for at in range(scheme.fabric.size):
        for action, weight in scheme.next_hops(at, header):
            assert weight > 0
            if isinstance(action, Forward):
                end = scheme.fabric.peer(at, action.port)
                assert end is not None
                assert scheme.fabric.link_at(at, action.port) not in down.down
                hops.add_edge(at, end.node)
            assert not isinstance(action, Deliver) or at == to
    return hops


@pytest.mark.parametrize("spec", SPECS)
def test_packets_arrive_for_all_random_choices(spec: str) -> None:
    """With random links, servers and switches down, the next hops towards a server form an acyclic graph
    in which every connected server has a next hop, so every walk ends at the server."""
    intact = scheme_of(spec)
    fabric = intact.fabric
    links = st.sets(st.integers(0, len(fabric.link_ends) - 1), max_size=len(fabric.link_ends) // 2)
    nodes = st.sets(st.integers(0, fabric.size - 1), max_size=3)
    escapes = 0

    @settings(max_examples=12, deadline=None)
    @given(links, nodes)
    def arrives(cut: set[int], dead: set[int]) -> None:
        nonlocal escapes
        down = LinkState(frozenset(cut).union(*(fabric.links_of(node) for node in dead)))
        scheme = intact.with_failures(down)
        assert isinstance(scheme, Pow)
        left = graph(fabric, down)
        for to in range(0, fabric.servers, 2):
            hops = next_hops(scheme, to, down)
            assert nx.is_directed_acyclic_graph(hops)
            for at in (nx.node_connected_component(left, to) - {to}) & set(range(fabric.servers)):
                assert at in hops
                escapes += not scheme.arrives(at, to)
            reached = [node for node in hops if hops.out_degree(node) == 0]
            assert set(reached) <= {to}

    arrives()
    assert escapes > 0, "no failure needed the escape: draw more failures"


@pytest.mark.parametrize(
    "spec", ["clot:8x8", "clot:4x4x4", "clot:2x6", "clot:5x5", "clot:7x4", "torus:5x4", "novacube:6x6"]
)
def test_probabilities_are_those_of_eq_12(spec: str) -> None:
    """By the formula, from the fabric's links and networkx's distances on the torus."""
    scheme = scheme_of(spec)
    fabric, torus = scheme.fabric, scheme.torus
    grid = nx.grid_graph(torus.sizes[::-1], periodic=True)
    distance = dict(nx.all_pairs_shortest_path_length(grid))
    place = torus.coordinates
    for at, to in itertools.product((0, fabric.servers // 3), range(0, fabric.servers, 3)):
        if at == to:
            continue
        here, there = place(at), place(to)
        nearer: dict[int, int] = {}
        for port, end in fabric.ports(at):
            if fabric.is_server(end.node):
                delta = distance[place(end.node)][there]
            else:
                assert isinstance(torus, Clot)
                others = [m for m in torus.members(end.node) if m != here]
                delta = 1 + min(distance[member][there] for member in others)
            if delta < distance[here][there]:
                nearer[port] = delta
        if 0 in nearer.values():
            nearer = {port: 1 for port, delta in nearer.items() if delta == 0}
        total = sum(delta**-2 for delta in nearer.values())
        expected = {port: delta**-2 / total for port, delta in nearer.items()}
        weighted = scheme.next_hops(at, Header(scheme.label(to)))
        assert {a.port: w for a, w in weighted if isinstance(a, Forward)} == pytest.approx(expected)


@pytest.mark.parametrize("spec", ["torus:4x5", "clot:4x4", "novacube:4x4"])
def test_minimal_adaptive_routing_takes_every_torus_neighbour_that_is_nearer(spec: str) -> None:
    scheme = bound(spec, "min-ad")
    fabric, torus = scheme.fabric, built(f"torus:{spec.partition(':')[2]}")
    length = dict(nx.all_pairs_shortest_path_length(graph(torus)))
    for a, b in itertools.permutations(range(fabric.servers), 2):
        drawn = scheme.next_hops(a, Header(scheme.label(b)))
        ends = {}
        for action, weight in drawn:
            assert isinstance(action, Forward)
            end = fabric.peer(a, action.port)
            assert end is not None
            ends[end.node] = weight
        nearer = {node for node in graph(torus)[a] if length[node][b] == length[a][b] - 1}
        assert ends.keys() == nearer
        assert set(ends.values()) == {1 / len(nearer)}
