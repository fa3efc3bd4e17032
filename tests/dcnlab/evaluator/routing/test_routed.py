"""Routed path lengths: vectorised forms equal the rule, expectations equal means over walks."""

from __future__ import annotations

import functools
import itertools
import random
from collections import Counter
from fractions import Fraction
from typing import cast

import networkx as nx
import numba
import numpy as np
import pytest

from addressing.header import Deliver, Forward
from addressing.registry import bind, compatible_schemes
from addressing.scheme import Scheme, walk
from dcnlab.evaluator.graph import failures
from dcnlab.evaluator.graph import pairs as chosen_pairs
from dcnlab.evaluator.graph.hop_graph import Hops, hop_graph
from dcnlab.evaluator.graph.pairs import choose
from dcnlab.evaluator.routing.blocks import single_distances
from dcnlab.evaluator.routing.chains.exploring import explore
from dcnlab.evaluator.routing.path_lengths import (
    FailureKnowledge,
    PathLengths,
    path_lengths,
    with_failure_knowledge,
)
from dcnlab.evaluator.routing.torus_distances import single_shifted_distances
from dcnlab.evaluator.routing.vectorized import (
    always_shortest,
    lengths_of,
    rule_of,
    searches_of,
    shares_of,
    source_routes_of,
    spread_of,
    symmetric,
)
from tests.addressing.cases import covering
from tests.topos.graphs import built
from topos.fabric import Fabric
from topos.graph import ALL_UP, NONE
from topos.registry import known


@functools.cache
def vectorised() -> list[tuple[str, str]]:
    """Every (small topology, scheme) pair whose scheme has a vectorised form.  Schemes that search each pair
    for itself take seconds for each: some are among SHAPES."""
    networks = [built(family.example) for family in known().values()]
    return [
        (network.spec, name)
        for network in networks
        for name in compatible_schemes(network.family)
        if not searches_of(bind(name, network)) and has_form(bind(name, network))
    ]


def has_form(scheme: Scheme) -> bool:
    forms = (rule_of(scheme, ALL_UP), source_routes_of(scheme, ALL_UP), shares_of(scheme, ALL_UP))
    return any((*forms, lengths_of(scheme), spread_of(scheme), always_shortest(scheme), symmetric(scheme)))


def same(a: PathLengths, b: PathLengths) -> bool:
    shape = np.maximum(a.joint.shape, b.joint.shape)
    padded = [np.pad(s.joint, [(0, w - h) for w, h in zip(shape, s.joint.shape, strict=True)]) for s in (a, b)]
    return np.allclose(*padded) and (a.pairs, a.connected) == (b.pairs, b.connected)


def asked_once(scheme: Scheme) -> Scheme:
    """A scheme that is asked once for what a node does in a state, however many evaluations by the rule,
    in whichever unit and over whichever pairs, come to it."""
    vars(scheme).update(act=functools.cache(scheme.act), headers=functools.cache(scheme.headers))
    return scheme


#: Failures with their failure knowledge, and the units of path length.
ASKED: dict[str, tuple[tuple[FailureKnowledge, ...], tuple[Hops, ...]]] = {
    "": (("yes",), ("links", "servers")),
    "links=8%": (("yes", "no"), ("links",)),
    "nodes=8%": (("local",), ("links",)),
}


@pytest.mark.parametrize(("spec", "name"), covering(vectorised()))
def test_the_vectorised_form_equals_the_rule(spec: str, name: str) -> None:
    network = built(spec)
    scheme, rule = bind(name, network), asked_once(bind(name, network))
    for failing, (modes, units) in ASKED.items():
        failed = failures.draw(network, failing, seed=3)
        pairs = choose(network, "servers", 1, failed.nodes)
        for mode, hops in itertools.product(modes, units):
            lengths = path_lengths(scheme, pairs, failed.links, failure_knowledge=mode, hops=hops)
            assert same(
                lengths,
                path_lengths(rule, pairs, failed.links, failure_knowledge=mode, hops=hops, generic=True),
            ), (failing, mode, hops)


#: Beside the examples of all families: other shapes, plain hosts at the vertices, parameters of schemes.
SHAPES = (
    ("bcube:3,2", "brp"), ("bcube:4,1,parts=3", "brp"), ("bcube:3,2", "wmgr-cayley"),
    ("torus:2x3", "wmgr-cayley"), ("star:4,hosts=2", "wmgr-cayley"),
    ("hypercube:4,hosts=2", "permsort"), ("transposition:4,hosts=1", "permsort"), ("butterfly:4", "permsort"),
    ("hdcube:8,4", "dcube-shortest"), ("borel:11,3,1,2", "cr:d=4"), ("borel:7,2,0,1", "cr-bfs:d=3"),
    ("borel:7,2,1,2,hosts=2", "cr"), ("torus:2x4x3", "min-ad"), ("clot:4x6", "min-ad"),
    ("dragonfly:4,2,2", "dor"), ("dragonfly:3,1,2", "dor"),
    ("torus:2x4x3", "valiant"), ("torus:2x2", "valiant"), ("torus:2", "valiant"), ("torus:3", "valiant"),
    ("novacube:4x6", "valiant"), ("clot:6x6", "greedy"), ("novacube:4x6", "greedy"),
    ("smallworld:4x6,clusters=2x2,hosts=2", "greedy"), ("bcube:3,2", "ecmp"), ("fattree:6", "twolevel"),
    ("clot:4x6", "pow"), ("clot:2x6", "pow"), ("clot:5x4", "pow"), ("clot:3x5", "greedy"),
    ("clot:5x3", "valiant"), ("clot:3x5", "ecmp"), ("clot:5x4", "min-ad"),
    ("novacube:4x6", "pow"), ("torus:2x5", "pow"),
    ("torus:4x2x5", "tz"), ("hypercube:5", "tz"), ("torus:5x5", "tz:represented=yes"), ("clot:4x4", "tz"),
    ("random:30,3", "updown"), ("fattree:4", "updown"),
    ("bcube:3,2", "updown"), ("random:40,3,hosts=0", "tz"), ("fattree:4", "tz"), ("random:20,4,hosts=2", "tz"),
    ("smallworld:4x8,clusters=2x4,hosts=2", "hrsw"), ("smallworld:8x4,clusters=4x2,hosts=2", "hrsw-set"),
    ("random:60,4", "hier:clusters=5"), ("fattree:6", "hier"),
    ("random:12,3,hosts=2", "ksp:k=3"), ("fattree:4", "ksp:k=2"), ("bcube:3,1", "ksp:k=4"),
    ("dcell:3,1", "ksp"), ("random:30,3", "updown:ties=spread"), ("fattree:4", "updown:ties=spread"),
    ("random:20,4,hosts=2", "tz:ties=spread"), ("random:60,4", "hier:clusters=5,ties=spread"),
    ("random:20,4,servers=3x4+17x1", "updown"), ("jellyfish:6,8,servers=2x3+4x2+2x0", "hier"),
)  # fmt: skip


@pytest.mark.parametrize(("spec", "name"), SHAPES)
def test_other_shapes_equal_the_rule_as_well(spec: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In networks that count as large too: there pairs of one source are followed one by one."""
    network = built(spec)
    scheme, rule = bind(name, network), asked_once(bind(name, network))
    units: tuple[Hops, ...] = ("links", "servers")
    for chosen, hops in itertools.product(("servers", "sample:30", "from:h1"), units):
        pairs = choose(network, chosen, 1)
        expected = path_lengths(rule, pairs, hops=hops, generic=True)
        assert same(path_lengths(scheme, pairs, hops=hops), expected), (chosen, hops)
        if chosen.startswith("from:"):
            with monkeypatch.context() as patch:
                patch.setattr(chosen_pairs, "FEW_NODES", 0)
                assert pairs.few(network.size)
                assert same(path_lengths(scheme, pairs, hops=hops), expected), ("one by one", hops)


@pytest.mark.parametrize(
    "spec", ["clot:4x6", "clot:2x6", "clot:6x6x4", "novacube:4x6", "novacube:4x4x4", "torus:5x4"]
)
def test_shifted_distances_are_those_of_searches(spec: str) -> None:
    network, units = built(spec), ("links", "servers")
    pairs = choose(network, "sample:60", 1)
    for hops in cast(tuple[Hops, ...], units):
        graph = hop_graph(network, ALL_UP, hops)
        shifted, searched = single_shifted_distances(network, graph, pairs), single_distances(graph, pairs)
        assert shifted is not None
        assert np.array_equal(shifted, searched)


@pytest.mark.parametrize("spec", ["smallworld:6x6,clusters=2x2", "bcube:4,1", "jellyfish:5,20,3"])
@pytest.mark.parametrize("failing", ["", "links=15%", "switches=10%"])
def test_thorup_zwick_with_full_landmarks_vectorised_equals_the_rule(spec: str, failing: str) -> None:
    network = built(spec)
    scheme, failed = (
        bind("tz:represented=yes,sample=root-log", network),
        failures.draw(network, failing, seed=1),
    )
    pairs = choose(network, "servers", 1, failed.nodes)
    asked = path_lengths(scheme, pairs, failed.links, generic=True)
    assert same(path_lengths(scheme, pairs, failed.links), asked)


@functools.cache
def twofold() -> list[tuple[str, str]]:
    """Those that have next hops of all nodes as well as source routes."""
    both = [(spec, name, bind(name, built(spec))) for spec, name in vectorised()]
    return [(spec, name) for spec, name, it in both if rule_of(it, ALL_UP) and source_routes_of(it, ALL_UP)]


@pytest.mark.parametrize(("spec", "name"), twofold())
@pytest.mark.parametrize("failing", ["", "links=8%", "links=30%"])
def test_routes_of_single_pairs_equal_the_next_hops_of_all_nodes(spec: str, name: str, failing: str) -> None:
    network = built(spec)
    down = failures.draw(network, failing, seed=3).links
    scheme = bind(name, network).with_failures(down) if down else bind(name, network)
    rule, routes = rule_of(scheme, down), source_routes_of(scheme, down)
    assert rule is not None
    assert routes is not None
    servers, peer = np.arange(network.servers, dtype=np.int32), network.adjacency.peer
    for to, links in zip(servers.tolist(), rule(servers), strict=True):
        for source, route in zip(servers.tolist(), routes(servers, np.full_like(servers, to)), strict=True):
            at, expected = source, []
            while at != to and links[at] != NONE:
                expected.append(int(links[at]))
                at = int(peer[links[at]])
            assert at != to or route[route != NONE].tolist() == expected


@pytest.mark.parametrize("spec", ["dcell:2,2", "dcell:3,2,parts=4", "ficonn:4,2", "hcn:2,4", "hcn:4,2,parts=3"])
@pytest.mark.parametrize("failing", ["", "links=20%", "servers=15%", "switches=15%"])
def test_dcell_routing_vectorised_equals_the_rule(spec: str, failing: str) -> None:
    network = built(spec)
    scheme, failed = bind("dfr", network), failures.draw(network, failing, seed=1)
    pairs = choose(network, "servers", 1, failed.nodes)
    assert rule_of(scheme.with_failures(failed.links), failed.links) is not None
    assert same(
        path_lengths(scheme, pairs, failed.links), path_lengths(scheme, pairs, failed.links, generic=True)
    )


def spread_by_hand(network: Fabric, down: frozenset[int]) -> Counter[tuple[int, int]]:
    """Exact delivered shares by hops and distance over the links that are up: all nodes split evenly over the
    next hops of the intact graph, and packets sent over a link that is down are lost."""
    cables = [(int(a), int(b)) for a, b in network.link_ends[:, [0, 2]]]
    intact, left = nx.Graph(cables), nx.Graph(c for i, c in enumerate(cables) if i not in down)
    left.add_nodes_from(intact)
    shares: Counter[tuple[int, int]] = Counter()
    for to in range(network.servers):
        level = nx.single_source_shortest_path_length(intact, to)
        real = nx.single_source_shortest_path_length(left, to)
        arriving = {to: {0: Fraction(1)}}
        for node in sorted(level, key=lambda v: level[v])[1:]:
            nearer = [v for v in intact[node] if level[v] == level[node] - 1]
            arriving[node] = Counter()
            for v in nearer:
                for hops, share in arriving[v].items():
                    arriving[node][hops + 1] += share / len(nearer) * left.has_edge(node, v)
            if node < network.servers:
                for hops, share in arriving[node].items():
                    if share:
                        shares[hops, real[node]] += share
    return shares


@pytest.mark.parametrize("spec", ["torus:3x4x5", "bcube:3,2", "fattree:4", "jellyfish:14,5,2", "hypercube:5"])
@pytest.mark.parametrize("failing", ["", "links=10%"])
@pytest.mark.parametrize("threads", [1, 2])
def test_multipath_equals_exact_fractions(spec: str, failing: str, threads: int) -> None:
    network = built(spec)
    failed = failures.draw(network, failing, seed=2)
    before = numba.get_num_threads()
    numba.set_num_threads(min(threads, before))
    try:
        lengths = path_lengths(
            bind("ecmp", network), choose(network, "servers", 1), failed.links, failure_knowledge="no"
        )
    finally:
        numba.set_num_threads(before)
    by_hand = spread_by_hand(network, failed.links.down)
    seen = {(h, d): lengths.joint[h, d] for h, d in np.argwhere(lengths.joint > 0).tolist()}
    assert seen.keys() == by_hand.keys()
    assert seen == pytest.approx({key: float(share) for key, share in by_hand.items()}, rel=1e-12)


def walked(scheme: Scheme, source: int, to: int, seed: int) -> int | None:
    hops = list(walk(scheme, source, to, scheme.known, random.Random(seed)))
    delivered = isinstance(hops[-1].action, Deliver) and hops[-1].node == to
    return sum(isinstance(hop.action, Forward) for hop in hops) if delivered else None


@pytest.mark.parametrize(("spec", "name"), [("clot:6x6", "pow"), ("bcube:3,2", "brp:multipath=yes")])
def test_expectations_equal_many_seeded_walks(spec: str, name: str) -> None:
    network = built(spec)
    failed = failures.draw(network, "links=6%", seed=5)
    scheme, seen = with_failure_knowledge(bind(name, network), failed.links, "yes")
    cost = np.ones(network.size, dtype=np.int32)
    for source, to in ((0, network.servers - 1), (5, 16), (7, 21)):
        outcome = explore(scheme, to, [source], cost, failed.links, seen).outcome(source)
        runs = [walked(scheme, source, to, seed) for seed in range(2000)]
        for hops in range(len(outcome)):
            share = runs.count(hops) / len(runs)
            assert share == pytest.approx(outcome[hops], abs=4 * (0.25 / len(runs)) ** 0.5)
        assert runs.count(None) / len(runs) == pytest.approx(1 - outcome.sum(), abs=0.05)


@pytest.mark.parametrize(("spec", "name"), [("clot:4x4", "pow"), ("torus:3x4", "wmgr"), ("bcube:2,2", "brp")])
def test_sampled_and_single_source_pairs_are_parts_of_all_pairs(spec: str, name: str) -> None:
    network = built(spec)
    scheme = bind(name, network)
    whole = path_lengths(scheme, choose(network, "servers", 1))
    single = [path_lengths(scheme, choose(network, f"from:h{s}", 1)) for s in range(network.servers)]
    joined = single[0]
    for part in single[1:]:
        joined = joined.plus(part)
    assert same(joined, whole)
    some = path_lengths(scheme, choose(network, "sample:40", 2))
    assert some.pairs == 40
    assert same(some, path_lengths(scheme, choose(network, "sample:40", 2), generic=True))
