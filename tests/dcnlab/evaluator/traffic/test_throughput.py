"""Flows cross the links of their paths; rates are max-min fair by definition and by linear programs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from addressing.registry import bind
from addressing.scheme import path
from dcnlab.evaluator.graph import failures
from dcnlab.evaluator.graph.pairs import choose
from dcnlab.evaluator.optimum.exact import exact_abt
from dcnlab.evaluator.traffic.flows import Flows, flows
from dcnlab.evaluator.traffic.loads import link_loads
from dcnlab.evaluator.traffic.throughput import bottleneck, max_min, throughput
from dcnlab.traffic.patterns import DEFAULTS, traffic
from topos.registry import fabric
from topos.spec import SpecError


@st.composite
def random_flows(draw: st.DrawFn) -> tuple[Flows, np.ndarray]:
    count = draw(st.integers(1, 8))
    one = st.lists(st.integers(0, count - 1), min_size=1, unique=True)
    routes = draw(st.lists(one, min_size=1, max_size=10))
    start = np.cumsum([0, *map(len, routes)])
    links = np.concatenate(routes).astype(np.int32)
    whole = draw(st.booleans())
    shares = (
        np.zeros(0)
        if whole
        else np.array(draw(st.lists(st.floats(0.1, 1), min_size=len(links), max_size=len(links))))
    )
    capacities = np.array(draw(st.lists(st.floats(0.5, 4), min_size=count, max_size=count)))
    ends = np.zeros(len(routes), dtype=np.int32)
    return Flows(ends, ends, start, links, shares), capacities


def matrix(some: Flows, links: int) -> np.ndarray:
    dense = np.zeros((links, len(some)))
    shares = some.shares if len(some.shares) else np.ones(len(some.links))
    np.add.at(dense, (some.links, np.repeat(np.arange(len(some)), np.diff(some.start))), shares)
    return dense


def water_filling(use: np.ndarray, capacities: np.ndarray) -> np.ndarray:
    """By linear programs: maximise the smallest rate, fix the flows that cannot grow further, repeat."""
    count = use.shape[1]
    fixed = np.full(count, np.nan)
    while np.isnan(fixed).any():
        free = np.isnan(fixed)
        left = capacities - use @ np.nan_to_num(fixed)
        solved = linprog([-1], A_ub=use[:, free].sum(axis=1, keepdims=True), b_ub=left, bounds=[(0, None)])
        level = solved.x[0]
        full = use @ np.where(free, level, fixed) >= capacities - 1e-7
        fixed[free & (use[full] > 0).any(axis=0)] = level
    return fixed


@settings(max_examples=40, deadline=None)
@given(random_flows())
def test_rates_equal_water_filling_by_linear_programs(case: tuple[Flows, np.ndarray]) -> None:
    some, capacities = case
    expected = water_filling(matrix(some, len(capacities)), capacities)
    assert max_min(some, capacities) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("spec", "name"), [("bcube:4,2", "wmgr"), ("clot:4x4", "pow"), ("torus:5x6", "wmgr")])
@pytest.mark.parametrize("pattern", ["all-to-all", "permutation", "several-to-one:count=5"])
def test_every_flow_has_a_full_link_where_its_rate_is_the_largest(spec: str, name: str, pattern: str) -> None:
    network = fabric(spec)
    some = flows(bind(name, network), traffic(network, pattern, seed=3))
    result = throughput(network, some, capacity=2.0)
    use = matrix(some, len(network.adjacency.peer))
    load = use @ result.rates
    assert (load <= 2.0 + 1e-9).all()
    largest = np.where(use > 0, result.rates, 0).max(axis=1)
    full = load >= 2.0 - 1e-9
    for flow in range(len(some)):
        mine = full & (use[:, flow] > 0) & (result.rates[flow] >= largest - 1e-9)
        assert mine.any()
    assert result.abt <= len(some) * result.least + 1e-9 or name == "pow"


@pytest.mark.parametrize(("spec", "name"), [("bcube:4,1", "wmgr"), ("mdcube:4,2", "dcube")])
def test_flows_follow_the_walks_of_the_rule_under_failures(spec: str, name: str) -> None:
    network = fabric(spec)
    scheme = bind(name, network)
    failed = failures.draw(network, "links=15%", 2)
    some = flows(scheme, traffic(network, "all-to-all"), failed.links)
    asked = flows(scheme, traffic(network, "all-to-all"), failed.links, generic=True)
    told = scheme.with_failures(failed.links)
    for i in range(0, len(some), 7):
        route = path(told, int(some.sources[i]), int(some.destinations[i]), failed.links)
        mine = some.links[some.start[i] : some.start[i + 1]]
        assert network.adjacency.peer[mine].tolist() == list(route[1:] if route else ())
        assert sorted(mine) == sorted(asked.links[asked.start[i] : asked.start[i + 1]])
    lost = flows(scheme, traffic(network, "all-to-all"), failed.links, failure_knowledge="no")
    assert 0 < lost.delivered.sum() < len(lost)
    rates = throughput(network, lost).rates
    assert ((rates > 0) == lost.delivered).all()


def test_all_to_all_on_a_ring_by_hand() -> None:
    network = fabric("torus:5")
    some = flows(bind("dor", network), traffic(network, "all-to-all"))
    # Each direction of each link carries the 1-hop flow and two of the 2-hop flows.
    assert set(some.loads(len(network.adjacency.peer)).tolist()) == {3.0}
    assert bottleneck(network, some) == pytest.approx(20 / 3)
    assert throughput(network, some).fairness == pytest.approx(1)


@pytest.mark.parametrize("name", DEFAULTS)
def test_traffic_is_between_different_live_servers_and_follows_the_seed(name: str) -> None:
    network = fabric("bcube:4,1")
    made = traffic(network, name, seed=5, failed={2, 17})
    assert len(made) > 0
    assert (made.sources != made.destinations).all()
    ends = set(made.sources.tolist()) | set(made.destinations.tolist())
    assert ends <= set(range(16)) - {2}
    again = traffic(network, name, seed=5, failed={2, 17})
    assert np.array_equal(made.sources, again.sources)
    assert np.array_equal(made.destinations, again.destinations)


def test_invalid_traffic_is_refused() -> None:
    with pytest.raises(SpecError, match="unknown traffic"):
        traffic(fabric("bcube:4,1"), "everywhere")
    with pytest.raises(SpecError, match="write stride:by=1"):
        traffic(fabric("bcube:4,1"), "stride:step=2")


@pytest.mark.parametrize(("n", "k"), [(4, 1), (4, 2), (8, 2)])
def test_all_to_all_throughput_of_bcube_equals_its_closed_form(n: int, k: int) -> None:
    """n / (n - 1) (N - 1): BCube paper, section 3.3."""
    network = fabric(f"bcube:{n},{k}")
    some = flows(bind("brp", network), traffic(network, "all-to-all"))
    assert bottleneck(network, some) == pytest.approx(n / (n - 1) * (network.servers - 1))


@pytest.mark.parametrize("spec", ["torus:3", "hdcube:2,1", "mdcube:3,1", "bcube:2,1"])
def test_no_routing_exceeds_the_optimal_throughput(spec: str) -> None:
    network = fabric(spec)
    pairs = choose(network, "servers", 1)
    shared = len(pairs) / link_loads(bind("ecmp", network), pairs).max()
    assert exact_abt(network) >= shared - 1e-6


def test_optimal_throughput_by_hand() -> None:
    assert exact_abt(fabric("torus:3")) == pytest.approx(6)  # six flows, each on its own directed link
    # Four links cross the middle of both cubes, and 12 x 12 flows in each direction.
    cubes = [exact_abt(fabric(f"{name}:3,1")) for name in ("hdcube", "mdcube")]
    assert cubes[0] == pytest.approx(cubes[1])
    assert cubes[0] <= 24 * 23 * 4 / 144
