"""Fat tree, Slim Fly and Dragonfly: counts, diameters, definitions; finite fields for Slim Fly."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import networkx as nx
import numpy as np
import pytest

from tests.topos.graphs import adjacency, built, distances, graph, links
from topos.constructions.galois import field, prime_power
from topos.families.dragonfly import Dragonfly
from topos.families.fattree import FatTree
from topos.families.slimfly import SlimFly
from topos.registry import parse
from topos.spec import SpecError


def routers(spec: str) -> nx.Graph:
    network = built(spec)
    pairs = [(a - network.servers, b - network.servers) for a, b in links(network) if a >= network.servers]
    return nx.Graph(pairs)


@pytest.mark.parametrize(
    ("stated", "same"),
    [
        ("leafspine:4,2,oversubscription=3", "leafspine:4,2,6"),
        ("leafspine:3,4,oversubscription=1.5", "leafspine:3,4,6"),
        ("clos:4,1x2,oversubscription=4", "clos:8x4,1x2"),
        ("clos:2x4,1x2x2,oversubscription=2", "clos:4x2x4,1x2x2"),
    ],
)
def test_oversubscription_is_hosts_by_links_up_of_each_leaf(stated: str, same: str) -> None:
    assert parse(stated) == parse(same)
    assert parse(stated).spec == same
    network, ratio = built(stated), float(stated.rpartition("=")[2])
    leaves = {b for a, b in links(network) if a < network.servers}
    for leaf in leaves:
        ends = [({a, b} - {leaf}).pop() for a, b in links(network) if leaf in (a, b)]
        hosts = sum(end < network.servers for end in ends)
        assert hosts == ratio * (len(ends) - hosts)


@pytest.mark.parametrize(
    "stated",
    [
        "leafspine:4,2,6,oversubscription=3", "leafspine:4,2", "leafspine:4,2,oversubscription=1.25",
        "leafspine:4,2,oversubscription=inf", "clos:4,1,oversubscription=2",
        "clos:8x4,1x2,oversubscription=2", "clos:4,1x2,oversubscription=nan",
    ],
)  # fmt: skip
def test_hosts_of_leaves_are_stated_once_and_whole(stated: str) -> None:
    with pytest.raises(SpecError):
        parse(stated)


# --- fat tree -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("r", [2, 4, 6, 8, 16])
def test_fat_tree_counts(r: int) -> None:
    """r^3/4 hosts, 5 r^2/4 switches of r ports; hosts of different pods are 6 links apart."""
    network = built(f"fattree:{r}")
    assert (network.servers, network.switches) == (r**3 // 4, 5 * r**2 // 4)
    assert all(network.port_count(s) == r for s in range(network.servers, network.size))
    assert distances(network, [0])[0, : network.servers].max() == 6


@pytest.mark.parametrize("r", [2, 4, 6])
def test_fat_tree_wiring(r: int) -> None:
    """Al-Fares: every edge switch with every aggregation switch of its pod; core switch (row, column) with
    the row-th aggregation switch of every pod."""
    network = built(f"fattree:{r}")
    tree = network.family
    assert isinstance(tree, FatTree)
    half = r // 2
    by_level = {
        level: [s for s in range(network.servers, network.size) if tree.level(s) == level]
        for level in ("edge", "aggregation", "core")
    }
    expected = set()
    for edge, aggregation in itertools.product(by_level["edge"], by_level["aggregation"]):
        if tree.pod(edge) == tree.pod(aggregation):
            expected.add((edge, aggregation))
    for aggregation, core in itertools.product(by_level["aggregation"], by_level["core"]):
        if tree.core_position(core)[0] == tree.place(aggregation):
            expected.add((aggregation, core))
    for host in range(network.servers):
        pod, edge, place = tree.position(host)
        assert tree.host(pod, edge, place) == host
        assert tree.pod(host) == pod
        switch = network.peer(host, 1)
        assert (tree.pod(switch.node), tree.place(switch.node), switch.number) == (pod, edge, place + 1)
        expected.add((host, switch.node))
    assert links(network) == expected
    for core in by_level["core"]:
        assert [tree.pod(end.node) for _, end in network.ports(core)] == list(range(r))
    for switch in by_level["edge"] + by_level["aggregation"]:
        ups = [end.node for port, end in network.ports(switch) if port > half]
        assert ups == sorted(ups)
        assert min(ups) > switch


# --- finite fields ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("q", [2, 3, 4, 5, 7, 8, 9, 16, 25, 27])
def test_field_axioms(q: int) -> None:
    gf = field(q)
    elements = np.arange(q)
    a, b, c = np.meshgrid(elements, elements, elements, indexing="ij")
    assert (gf.add == gf.add.T).all()
    assert (gf.multiply == gf.multiply.T).all()
    assert (gf.add[0] == elements).all()
    assert (gf.multiply[1] == elements).all()
    assert (gf.multiply[0] == 0).all()
    assert (gf.add[gf.add[a, b], c] == gf.add[a, gf.add[b, c]]).all()
    assert (gf.multiply[gf.multiply[a, b], c] == gf.multiply[a, gf.multiply[b, c]]).all()
    assert (gf.multiply[a, gf.add[b, c]] == gf.add[gf.multiply[a, b], gf.multiply[a, c]]).all()
    for element in range(1, q):
        assert sorted(gf.multiply[element]) == list(range(q))
        assert sorted(gf.add[element]) == list(range(q))
    assert sorted(gf.powers) == list(range(1, q))
    assert all(
        gf.multiply[gf.powers[i], gf.powers[1 % (q - 1)]] == gf.powers[(i + 1) % (q - 1)] for i in range(q - 1)
    )


def test_prime_powers() -> None:
    powers = [n for n in range(1, 65) if prime_power(n)]
    expected = sorted(p**e for p in range(2, 65) for e in range(1, 7) if p**e < 65 and is_prime(p))
    assert powers == expected


def is_prime(n: int) -> bool:
    return n > 1 and all(n % d for d in range(2, n))


# --- Slim Fly -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("f", [3, 4, 5, 7, 8, 9, 11, 13, 16, 17])
def test_slim_fly_has_diameter_2(f: int) -> None:
    """2 f^2 routers of degree (3 f - delta) / 2, f = 4 w + delta."""
    router_graph = routers(f"slimfly:{f}")
    delta = {1: 1, 3: -1, 0: 0}[f % 4]
    assert len(router_graph) == 2 * f * f
    assert set(dict(router_graph.degree()).values()) == {(3 * f - delta) // 2}
    rows = distances(built(f"slimfly:{f},hosts=1"), range(2 * f * f))[:, : 2 * f * f]
    assert rows.max() == 4, "two more than between routers: a host at each end"


def test_slim_fly_of_5_is_the_hoffman_singleton_graph() -> None:
    assert nx.is_isomorphic(routers("slimfly:5"), nx.hoffman_singleton_graph())


@pytest.mark.parametrize("f", [4, 5, 7])
def test_slim_fly_lines(f: int) -> None:
    """(0, x, y) and (1, m, c) are joined exactly if y = m x + c; differences are symmetric sets."""
    family = parse(f"slimfly:{f}")
    assert isinstance(family, SlimFly)
    gf, router_graph = field(f), routers(f"slimfly:{f}")
    sets = [set(s.tolist()) for s in family.difference_sets]
    for u, v in itertools.combinations(range(2 * f * f), 2):
        (side, x, y), (other, m, c) = family.element(u), family.element(v)
        if side != other:
            joined = y == gf.add[gf.multiply[m, x], c]
        else:
            minus_c = int(np.flatnonzero(gf.add[c] == 0)[0])
            joined = x == m and int(gf.add[y, minus_c]) in sets[side]
        assert router_graph.has_edge(u, v) == joined


def test_slim_fly_hosts() -> None:
    assert parse("slimfly:5").counts() == (50 * 4, 50)
    assert parse("slimfly:5,hosts=2").counts() == (100, 50)
    with pytest.raises(SpecError, match="slimfly: f must be a prime power, not 6"):
        parse("slimfly:6")


# --- Dragonfly ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("a", "p", "h"), [(1, 1, 1), (2, 1, 1), (4, 2, 2), (3, 1, 2), (8, 4, 4)])
def test_dragonfly(a: int, p: int, h: int) -> None:
    """a h + 1 complete groups, exactly one link between any two, routers of a - 1 + h + p ports."""
    spec = f"dragonfly:{a},{p},{h}"
    network = built(spec)
    family = network.family
    assert isinstance(family, Dragonfly)
    groups = a * h + 1
    assert (network.servers, network.switches) == (p * a * groups, a * groups)
    assert all(network.port_count(s) == a - 1 + h + p for s in range(network.servers, network.size))
    router_graph = routers(spec)
    between = Counter(tuple(sorted((family.group(u), family.group(v)))) for u, v in router_graph.edges())
    assert between == {
        (i, j): 1 if i < j else math.comb(a, 2)
        for i, j in itertools.combinations_with_replacement(range(groups), 2)
        if i < j or a > 1
    }
    assert nx.diameter(router_graph) <= 3


@pytest.mark.parametrize("spec", ["dragonfly:2,1,1", "dragonfly:4,2,2"])
def test_dragonfly_ports(spec: str) -> None:
    network = built(spec)
    family = network.family
    assert isinstance(family, Dragonfly)
    for vertex in range(family.vertices):
        for place in range(family.a):
            if place != family.place(vertex):
                end = network.peer(family.node_of(vertex), family.port_of(family.local_port(vertex, place)))
                assert family.vertex(end.node) == family.group(vertex) * family.a + place
    for here, there in itertools.permutations(range(family.groups), 2):
        router, port = family.gateway(here, there)
        assert family.group(router) == here
        end = network.peer(family.node_of(router), family.port_of(port))
        assert family.gateway(there, here) == (family.vertex(end.node), end.number - family.concentration)


def test_scipy_and_networkx_get_the_same_graph() -> None:
    """The scipy matrix of the distances and the networkx graph have the same edges."""
    network = built("dragonfly:4,2,2")
    matrix = adjacency(links(network), network.size).toarray()
    assert (matrix == nx.to_numpy_array(graph(network), nodelist=range(network.size))).all()
