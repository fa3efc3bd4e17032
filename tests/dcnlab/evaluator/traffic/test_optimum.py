"""The optimum's interval holds HiGHS' edge LP, meets closed forms, and is certified by other code."""

from __future__ import annotations

import itertools
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from dcnlab.evaluator.graph import failures
from dcnlab.evaluator.optimum.both_ends import cheaper_paths
from dcnlab.evaluator.optimum.exact import exact
from dcnlab.evaluator.optimum.problem import Demands, Network, Problem, all_to_all, fold, network_of, problem_of
from dcnlab.evaluator.optimum.restricted import Limit, read_limit
from dcnlab.evaluator.optimum.solve import Optimum, solve
from dcnlab.traffic.patterns import traffic
from tests.dcnlab.evaluator.traffic.certificate import certify
from topos.fabric import Fabric
from topos.graph import NONE
from topos.registry import fabric
from topos.spec import SpecError

GAP = 0.01


def demands_of(network: Fabric, pattern: str, seed: int = 1, failed: tuple[int, ...] = ()) -> Demands:
    if pattern == "dense":
        amounts = np.random.default_rng(seed).exponential(size=(network.servers, network.servers))
        source, target = np.indices(amounts.shape)
        return Demands.of(network.size, source.ravel(), target.ravel(), amounts.ravel())
    made = traffic(network, pattern, seed, failed)
    return Demands.of(network.size, made.sources, made.destinations, 1.0)


def assert_proved(optimum: Optimum) -> None:
    """Both bounds follow from the flow and the prices, by code that shares nothing with the search."""
    proof = certify(optimum)
    assert proof.imbalance < 1e-9
    assert proof.lower == pytest.approx(optimum.lower, rel=1e-9)
    assert proof.upper == pytest.approx(optimum.upper, rel=1e-9)
    assert optimum.lower <= optimum.upper * (1 + 1e-9)


def assert_optimal(network: Network, demands: Demands) -> None:
    """Each search, and even splits where they suffice, hold the linear program's optimum within the gap."""
    expected = exact(network, demands)
    problem = fold(network, demands)
    for most_pairs in (1_000_000, 0):
        optimum = solve(problem, GAP, most_pairs=most_pairs)
        assert_proved(optimum)
        assert optimum.lower <= expected * (1 + 1e-6)
        assert optimum.upper >= expected * (1 - 1e-6)
        assert optimum.gap <= GAP or most_pairs == 0


@pytest.mark.parametrize(
    "spec",
    [
        "bcube:3,1", "dcell:3,1", "hdcube:3,1", "mdcube:3,1", "hcn:3,1", "ficonn:4,1", "clot:4x2", "torus:4x4",
        "novacube:4x4", "smallworld:4x4,clusters=2x2,hosts=1", "fattree:4", "jellyfish:6,8,4", "xpander:3,4",
        "slimfly:3,hosts=1", "dragonfly:3,1,1", "random:10,3", "hypercube:4", "pancake:3", "butterfly:3",
    ],
)  # fmt: skip
@pytest.mark.parametrize("pattern", ["all-to-all", "permutation", "dense"])
def test_the_interval_holds_the_linear_program_on_every_family(spec: str, pattern: str) -> None:
    network = fabric(spec)
    assert_optimal(network_of(network), demands_of(network, pattern, 7))


@pytest.mark.parametrize("spec", ["bcube:3,1", "jellyfish:6,8,4", "torus:4x4", "fattree:4"])
def test_with_failures_and_unequal_capacities(spec: str) -> None:
    network = fabric(spec)
    failed = failures.draw(network, "links=15%", 3).links
    capacities = 10 ** np.random.default_rng(5).uniform(-1, 1, len(network.link_ends))
    demands = demands_of(network, "permutation", 2)
    problem = problem_of(network, demands, failed, capacities)
    connected = solve(problem, GAP)
    assert_proved(connected)
    if problem.unreachable:
        assert exact(network_of(network, failed, capacities), demands) == pytest.approx(0, abs=1e-9)
    else:
        assert_optimal(network_of(network, failed, capacities), demands)


@st.composite
def networks(draw: st.DrawFn) -> tuple[Network, Demands]:
    """Random connected multigraphs with capacities that differ by direction, and random demands."""
    size = draw(st.integers(2, 8))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    tree = [(v, int(rng.integers(v))) for v in range(1, size)]
    more = [tuple(rng.choice(size, 2, replace=False).tolist()) for _ in range(draw(st.integers(0, 12)))]
    links = np.array(tree + more, dtype=np.int64)
    forward, backward = 10 ** rng.uniform(-1.5, 1.5, (2, len(links)))
    pairs = draw(st.integers(1, 12))
    ends = rng.integers(0, size, (2, pairs))
    return Network.of(size, links, forward, backward), Demands.of(size, *ends, rng.exponential(size=pairs))


@settings(max_examples=40, deadline=None)
@given(networks())
def test_on_random_multigraphs(case: tuple[Network, Demands]) -> None:
    assert_optimal(*case)


@settings(max_examples=40, deadline=None)
@given(networks(), st.integers(1, 9), st.booleans())
def test_searches_from_both_ends_find_the_cheapest_paths(
    case: tuple[Network, Demands], room: int, bounded: bool
) -> None:
    """Prices are networkx's; of a pair without a path below its known price, and with one that is longer than
    its row, none is written."""
    network, demands = case
    prices = np.random.default_rng(3).exponential(size=len(network.head)) + 1e-3
    graph = nx.DiGraph()
    graph.add_weighted_edges_from(zip(network.tail.tolist(), network.head.tolist(), prices, strict=True))
    expected = np.array([
        nx.dijkstra_path_length(graph, a, b)
        for a, b in zip(demands.source.tolist(), demands.target.tolist(), strict=True)
    ])  # fmt: skip
    known = expected.copy() if bounded else np.full(len(demands), np.inf)
    given, rows = known.copy(), np.zeros((len(demands), room), np.int32)
    lengths = np.full(len(demands), NONE, np.int32)
    cheaper_paths(
        network.start, network.head, network.reverse, prices, demands.source, demands.target,
        known, rows, lengths, 1,
    )  # fmt: skip
    for i, length in enumerate(lengths.tolist()):
        arcs = rows[i, : max(length, 0)]
        if length > 0:
            assert known[i] == pytest.approx(expected[i], rel=1e-12)
            assert prices[arcs].sum() == pytest.approx(expected[i], rel=1e-12)
            assert network.head[arcs[0]] == demands.target[i]
            assert network.tail[arcs[-1]] == demands.source[i]
            assert (network.tail[arcs[:-1]] == network.head[arcs[1:]]).all()
        else:
            assert known[i] == given[i]
            assert bounded or NONE - length > room


def in_fractions(optimum: Optimum) -> tuple[Fraction, Fraction]:
    """Both bounds in exact arithmetic, distances by networkx."""
    network, demands = optimum.problem.network, optimum.problem.demands
    capacity = [Fraction(float(c)) for c in network.capacity]
    loads = [
        sum((Fraction(float(x)) for x in column), Fraction()) for column in zip(*optimum.flows(), strict=True)
    ]
    prices = [Fraction(float(p)) for p in optimum.prices]
    graph = nx.DiGraph()
    for tail, head, price in zip(network.tail.tolist(), network.head.tolist(), prices, strict=True):
        graph.add_edge(tail, head, price=price)
    cost = Fraction()
    for source, target, amount in zip(
        demands.source.tolist(), demands.target.tolist(), demands.amount.tolist(), strict=True
    ):
        cost += Fraction(amount) * nx.dijkstra_path_length(graph, source, target, weight="price")
    budget = sum((c * p for c, p in zip(capacity, prices, strict=True)), Fraction())
    carried = min(c / load for c, load in zip(capacity, loads, strict=True) if load)
    return carried, budget / cost


@pytest.mark.parametrize(
    ("spec", "pattern"),
    [("bcube:3,1", "permutation"), ("jellyfish:6,8,4", "permutation"), ("jellyfish:6,12,4", "all-to-all")],
)
def test_the_gap_in_exact_arithmetic(spec: str, pattern: str) -> None:
    network = fabric(spec)
    problem = problem_of(network, demands_of(network, pattern, 4))
    optimum = solve(problem, GAP)
    assert optimum.method == "paths"
    assert problem.mirrored is (pattern == "all-to-all")
    lower, upper = in_fractions(optimum)
    limit = optimum.problem.limit
    assert min(float(lower), limit) == pytest.approx(optimum.lower, rel=1e-12)
    assert min(float(upper), limit) == pytest.approx(optimum.upper, rel=1e-12)
    assert lower <= upper
    assert min(float(upper), limit) / min(float(lower), limit) - 1 <= GAP


@pytest.mark.parametrize(
    ("spec", "rate"),
    [
        ("fattree:4", Fraction(1, 15)),  # a Clos network carries what its hosts send
        (
            "bcube:4,1",
            Fraction(4, 3) / 16,
        ),  # n / (n - 1) (N - 1) over N (N - 1) pairs: BCube paper, section 3.3
        ("bcube:4,2", Fraction(4, 3) / 64),
        ("torus:5", Fraction(1, 3)),  # each direction carries three pairs
        ("torus:8x8", Fraction(1, 64)),  # k / 8 ports' worth per node: 8 / (k N), k = 8
    ],
)
def test_closed_forms_of_all_to_all(spec: str, rate: Fraction) -> None:
    network = fabric(spec)
    optimum = solve(problem_of(network, all_to_all(network)), 1e-6)
    assert optimum.lower == pytest.approx(float(rate), rel=1e-6)
    assert optimum.upper == pytest.approx(float(rate), rel=1e-6)


def test_pairs_in_disconnected_parts_are_counted_and_left_out() -> None:
    links = np.array([[0, 1], [1, 2], [2, 0], [3, 4]])
    demands = Demands.of(5, [0, 0, 3], [1, 3, 4], 1.0)
    problem = fold(Network.of(5, links, np.ones(4), np.ones(4)), demands)
    assert problem.unreachable == 1
    assert problem.limit == 1  # the link 3-4 is all that its pair has
    assert solve(problem).lower == pytest.approx(1)


# --- limited paths --------------------------------------------------------------------


def allowed(graph: nx.DiGraph, limit: Limit, source: int, target: int) -> list[list[int]]:
    """The paths that a pair may use, by networkx."""
    if limit.kind == "k":
        ranked = nx.shortest_simple_paths(graph, source, target)
        return [path for path, _ in zip(ranked, range(limit.number), strict=False)]
    shortest = nx.shortest_path_length(graph, source, target)
    if limit.kind == "slack":
        return list(nx.all_simple_paths(graph, source, target, cutoff=shortest + limit.number))
    return [
        first + second[1:]
        for middle in graph
        for first in nx.all_shortest_paths(graph, source, middle)
        for second in nx.all_shortest_paths(graph, middle, target)
    ]


def path_program(problem: Problem, limit: Limit) -> float:
    """The linear program with a variable for every path."""
    network, demands = problem.network, problem.demands
    ends = list(zip(network.tail.tolist(), network.head.tolist(), strict=True))
    number = {pair: i for i, pair in enumerate(ends)}
    graph = nx.DiGraph(sorted(ends))
    columns, owner = [], []
    for k, (source, target) in enumerate(zip(demands.source.tolist(), demands.target.tolist(), strict=True)):
        for path in allowed(graph, limit, source, target):
            column = np.zeros(len(ends))
            for pair in itertools.pairwise(path):
                column[number[pair]] += 1
            columns.append(column)
            owner.append(k)
    sums = np.zeros((len(demands), len(columns) + 1))
    sums[owner, np.arange(len(columns))] = 1
    sums[:, -1] = -demands.amount
    loads = np.column_stack([*columns, np.zeros(len(ends))])
    solved = linprog(
        [*np.zeros(len(columns)), -1], A_ub=loads, b_ub=network.capacity, A_eq=sums, b_eq=np.zeros(len(demands))
    )
    return min(float(solved.x[-1]), problem.limit)


@pytest.mark.parametrize("text", ["k=1", "k=3", "slack=0", "slack=1", "valiant"])
@pytest.mark.parametrize("spec", ["bcube:3,1", "jellyfish:6,8,4", "dragonfly:3,1,1"])
def test_limited_paths_equal_the_path_program(spec: str, text: str) -> None:
    network, limit = fabric(spec), read_limit(text)
    assert limit is not None
    problem = problem_of(network, demands_of(network, "permutation", 3))
    optimum = solve(problem, GAP, limit=limit)
    expected = path_program(problem, limit)
    assert optimum.gap <= GAP
    assert optimum.lower <= expected * (1 + 1e-6)
    assert optimum.upper >= expected * (1 - 1e-6)


@pytest.mark.parametrize("text", ["k=0", "k", "slack=x", "all"])
def test_an_unknown_limit_is_refused(text: str) -> None:
    with pytest.raises(SpecError, match="paths: cannot read"):
        read_limit(text)


def test_an_interrupt_keeps_the_best() -> None:
    network = fabric("jellyfish:8,16,4")

    def interrupt(lower: float, upper: float) -> None:
        if lower > 0 and upper / lower < 1.5:
            raise KeyboardInterrupt

    optimum = solve(problem_of(network, demands_of(network, "permutation")), 1e-9, progress=interrupt)
    assert optimum.interrupted
    assert_proved(optimum)


def test_an_interrupt_before_the_first_better_flow_keeps_even_splits() -> None:
    network, heard = fabric("dcell:4,1"), []

    def interrupt(lower: float, upper: float) -> None:
        heard.append(lower)
        if len(heard) == 2:
            raise KeyboardInterrupt

    optimum = solve(problem_of(network, demands_of(network, "permutation")), 1e-9, progress=interrupt)
    assert optimum.interrupted
    assert optimum.method == "even splits"
    assert optimum.lower == heard[0] > 0
    assert_proved(optimum)
