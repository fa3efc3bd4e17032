"""Flow completion times by max-min shares over time, against closed forms and a simulation in fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from addressing.registry import bind
from dcnlab.evaluator.evaluate import evaluate
from dcnlab.evaluator.traffic.completion import completion_times
from dcnlab.evaluator.traffic.flow_model import read, route
from dcnlab.evaluator.traffic.flows import Flows
from dcnlab.evaluator.traffic.levels import STEPS
from dcnlab.evaluator.traffic.sharing import share_links
from dcnlab.evaluator.traffic.throughput import max_min as rates_of_all
from dcnlab.traffic.completion import ideal, summarise, wire_bits
from dcnlab.traffic.patterns import Traffic
from dcnlab.traffic.workload import Demand, Workload, draw
from topos.registry import fabric
from topos.spec import SpecError

CAPACITY = 8

Flow = tuple[int, int, frozenset[int]]  # begin, bits, links


@st.composite
def some_flows(draw: st.DrawFn) -> list[Flow]:
    one = st.tuples(
        st.integers(0, 6), st.integers(1, 60), st.frozensets(st.integers(0, 4), min_size=1, max_size=3)
    )
    return sorted(draw(st.lists(one, min_size=1, max_size=7)), key=lambda flow: flow[0])


def ends_of(flows: list[Flow], steps: int = STEPS) -> np.ndarray:
    start = np.concatenate([[0], np.cumsum([len(links) for _, _, links in flows])]).astype(np.int64)
    crossed = np.array([link for _, _, links in flows for link in sorted(links)], dtype=np.int32)
    begin, bits = (np.array([flow[i] for flow in flows], dtype=float) for i in (0, 1))
    return share_links(start, crossed, begin, bits, np.full(5, float(CAPACITY)), np.ones(1), 1, steps=steps)


def max_min(flows: dict[int, frozenset[int]]) -> dict[int, Fraction]:
    """From the definition: the link with the least share fixes its flows, then the next."""
    rates: dict[int, Fraction] = {}
    while open_flows := {flow: links for flow, links in flows.items() if flow not in rates}:
        shares = {}
        for link in frozenset().union(*open_flows.values()):
            used = sum((rates[flow] for flow in rates if link in flows[flow]), Fraction(0))
            growing = sum(link in links for links in open_flows.values())
            shares[link] = (CAPACITY - used) / Fraction(growing)
        link = min(shares, key=lambda one: shares[one])
        rates |= {flow: shares[link] for flow, links in open_flows.items() if link in links}
    return rates


def exact(flows: list[Flow]) -> list[Fraction]:
    """The ends of flows, in fractions, from one event to the next."""
    left = {number: Fraction(bits) for number, (_, bits, _) in enumerate(flows)}
    ends: dict[int, Fraction] = {}
    now = Fraction(0)
    while len(ends) < len(flows):
        active = {n: f[2] for n, f in enumerate(flows) if f[0] <= now and n not in ends}
        rates = max_min(active)
        moments = [now + left[n] / rates[n] for n in active] + [Fraction(f[0]) for f in flows if f[0] > now]
        until = min(moments)
        for number in active:
            left[number] -= rates[number] * (until - now)
            if not left[number]:
                ends[number] = until
        now = until
    return [ends[number] for number in range(len(flows))]


@settings(deadline=None, max_examples=75)
@given(some_flows())
def test_shares_over_time_equal_those_in_fractions(flows: list[Flow]) -> None:
    assert ends_of(flows) == pytest.approx([float(end) for end in exact(flows)], rel=1e-9)


@settings(deadline=None, max_examples=50)
@given(some_flows(), st.integers(0, 1))
def test_rates_that_do_not_settle_are_computed_afresh(flows: list[Flow], steps: int) -> None:
    assert ends_of(flows, steps) == pytest.approx(ends_of(flows), rel=1e-9)


@settings(deadline=None, max_examples=50)
@given(some_flows())
def test_no_link_carries_more_than_it_can(flows: list[Flow]) -> None:
    ends = ends_of(flows)
    assert (ends - [begin + bits / CAPACITY for begin, bits, _ in flows] >= -1e-9).all()  # none beats the ideal
    for link in range(5):
        there = [
            (begin, bits, end) for (begin, bits, links), end in zip(flows, ends, strict=True) if link in links
        ]
        if there:  # all bits of a link need their time
            busy = max(end for _, _, end in there) - min(begin for begin, _, _ in there)
            assert sum(bits for _, bits, _ in there) <= CAPACITY * busy + 1e-6


def test_tiny_rests_at_high_rates_end() -> None:
    ends = share_links(
        np.array([0, 1, 2]),
        np.zeros(2, np.int32),
        np.array([1e6, 1e6]),
        np.array([1.0, 3.0]),
        np.array([1e15]),
        np.ones(1),
        1,
    )
    assert ends == pytest.approx([1e6, 1e6])


@pytest.mark.parametrize(("spec", "name"), [("bcube:4,1", "brp"), ("fattree:4", "ecmp"), ("torus:3x3", "wmgr")])
def test_one_flow_alone_takes_the_ideal_time(spec: str, name: str) -> None:
    network = fabric(spec)
    one = Workload(np.array([0.5]), np.array([0], np.int32), np.array([5], np.int32), np.array([1_000_000]))
    scheme = bind(name, network)
    assert completion_times(scheme, one, 1e8).seconds == pytest.approx(ideal(one.size, 1e8))
    seconds = completion_times(scheme, one, 1e8).seconds + 0.001
    [every, *_] = summarise(one.size, seconds, ideal(one.size, 1e8, 0.001))
    assert every.slowdown_median == 1.0
    assert every.fct_mean_ms == pytest.approx(1 + 1000 * float(wire_bits(one.size)[0]) / 1e8, abs=1e-3)


def test_an_incast_takes_as_long_as_its_bytes_need_on_the_receivers_link() -> None:
    network = fabric("fattree:4")
    wanted = draw(network, Demand("incast", "fixed:1M"))
    seconds = completion_times(bind("ecmp", network), wanted, 1e8).seconds
    assert seconds == pytest.approx(np.full(15, 15 * wire_bits(wanted.size)[0] / 1e8))


def test_flows_that_are_not_delivered_fail() -> None:
    wanted = {"traffic": "all-to-all", "sizes": "fixed:100K", "seconds": 0.2, "load": 0.5, "metrics": ["fct"]}
    figures = {
        knows: evaluate("torus:4x4", ["wmgr"], failures="links=4", failure_knowledge=knows, **wanted)
        for knows in ("yes", "no")
    }
    fct = {knows: report.as_dict()["schemes"][0]["fct"] for knows, report in figures.items()}
    assert fct["yes"]["failed"] == 0 < fct["no"]["failed"] < fct["no"]["flows"]
    assert fct["yes"]["flows"] == fct["no"]["flows"]
    assert 1.0 <= fct["yes"]["slowdown_median"] <= fct["yes"]["slowdown_p99"]


def test_evaluation_has_the_size_bins_of_labs() -> None:
    wanted = {"traffic": "permutation", "sizes": "websearch", "load": 0.4, "seconds": 2.0, "metrics": ["fct"]}
    [scheme] = evaluate("fattree:4", ["ecmp"], **wanted).as_dict()["schemes"]
    figures = scheme["fct"]
    network = fabric("fattree:4")
    flows = draw(network, Demand("permutation", "websearch", 0.4, 2.0, 1e9))
    seconds = completion_times(bind("ecmp", network), flows, 1e9).seconds
    same = [vars(one) for one in summarise(flows.size, seconds, ideal(flows.size, 1e9))]
    assert figures["bins"] == same
    assert [one["sizes"] for one in same] == ["all", "<= 10 KB", "<= 100 KB", "<= 1 MB", "<= 10 MB", "> 10 MB"]
    assert figures["fct_median_ms"] == same[0]["fct_median_ms"]
    assert sum(one["flows"] for one in same[1:]) == figures["flows"]


def test_a_higher_load_slows_flows_down() -> None:
    p99 = [
        evaluate("fattree:4", ["ecmp"], metrics=["fct"], traffic="permutation", sizes="websearch", load=load)
        .as_dict()["schemes"][0]["fct"]["slowdown_p99"]
        for load in (0.1, 0.8)
    ]  # fmt: skip
    assert p99[0] < p99[1]
    with pytest.raises(SpecError, match="sizes:"):
        evaluate("fattree:4", ["ecmp"], metrics=["fct"], sizes="nosuch")


def one_event_after_the_other(
    flows: Flows, begin: np.ndarray, bits: np.ndarray, capacities: np.ndarray
) -> np.ndarray:
    """The ends of flows; the rates of all are computed again at every event."""
    ends, left, now = np.full(len(begin), np.nan), bits.copy(), 0.0
    while np.isnan(ends).any():
        on = (begin <= now) & np.isnan(ends)
        later = begin[begin > now].min(initial=np.inf)
        if not on.any():
            now = later
            continue
        rates = rates_of_all(flows.select(on), capacities)
        until = min(now + float((left[on] / rates).min()), later)
        left[on] -= rates * (until - now)
        ends[on & (left <= 1e-9 * bits)] = now = until
    return ends


@pytest.mark.parametrize("model", ["hashed", "split", "subflows=3"])
@pytest.mark.parametrize(
    ("spec", "name"), [("fattree:4", "ecmp"), ("bcube:3,1", "ecmp"), ("torus:4x4", "valiant")]
)
def test_rates_computed_where_they_change_are_those_of_all(spec: str, name: str, model: str) -> None:
    network, rng = fabric(spec), np.random.default_rng(len(spec))
    drawn = rng.integers(0, network.servers, (2, 90)).astype(np.int32)
    drawn = drawn[:, drawn[0] != drawn[1]]
    pairs = Traffic("", drawn[0], drawn[1], np.ones(drawn.shape[1]))
    some = route(bind(name, network), pairs, read(model))
    begin, bits = (
        np.sort(rng.integers(0, 12, len(pairs))).astype(float),
        1e6 * rng.pareto(1.2, len(pairs)) + 1e5,
    )
    size = len(network.adjacency.peer)
    shares = some.shares if len(some.shares) else np.ones(1)
    ends = share_links(some.start, some.links, begin, bits, np.full(size, 1e6), shares, some.subflows)
    assert ends == pytest.approx(one_event_after_the_other(some, begin, bits, np.full(size, 1e6)), rel=1e-7)


@pytest.mark.parametrize(("load", "seconds"), [(0.5, 0.4), (0.9, 0.4), (3.0, 0.1)])
def test_rates_that_change_everywhere_are_those_of_all(load: float, seconds: float) -> None:
    """Flows of many sizes whose links are full: an event changes most rates of a network."""
    network = fabric("fattree:4")
    flows = draw(network, Demand("all-to-all", "websearch", load, seconds, 1e9))
    pairs = Traffic("", flows.source, flows.destination, np.ones(len(flows)))
    some, size = route(bind("ecmp", network), pairs), len(network.adjacency.peer)
    bits = wire_bits(flows.size) / 1000  # the simulation beside has links of 1 Mbit/s
    ends = share_links(some.start, some.links, flows.begin, bits, np.full(size, 1e6), np.ones(1), 1)
    assert ends == pytest.approx(
        one_event_after_the_other(some, flows.begin, bits, np.full(size, 1e6)), rel=1e-7
    )


@st.composite
def rows_on_links(draw: st.DrawFn) -> tuple[int, np.ndarray, list[list[tuple[int, float]]], np.ndarray]:
    """Subflows per flow; begins and bits of flows; links and shares of each row; capacities."""
    subflows, size = draw(st.integers(1, 3)), draw(st.integers(2, 12))
    flows = draw(st.lists(st.tuples(st.integers(0, 20), st.floats(1e4, 1e7)), min_size=1, max_size=40))
    crossing = st.tuples(st.integers(0, size - 1), st.sampled_from([0.25, 1.0]))
    path = st.lists(crossing, min_size=1, max_size=5, unique_by=lambda one: one[0])
    count = subflows * len(flows)
    rows = draw(st.lists(path, min_size=count, max_size=count))
    capacities = draw(st.lists(st.sampled_from([1e5, 3e5, 1e6]), min_size=size, max_size=size))
    return subflows, np.array(sorted(flows)), rows, np.array(capacities)


@settings(deadline=None, max_examples=60)
@given(rows_on_links())
def test_numbers_of_ended_flows_used_again_keep_rates_those_of_all(
    case: tuple[int, np.ndarray, list[list[tuple[int, float]]], np.ndarray],
) -> None:
    """Weighted crossings, several subflows, and links of three rates; every event is computed from none."""
    subflows, flows, rows, capacities = case
    start = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    links = np.array([link for row in rows for link, _ in row], np.int32)
    shares = np.array([share for row in rows for _, share in row])
    begin, bits = flows[:, 0].copy(), flows[:, 1].copy()
    ends = share_links(start, links, begin, bits, capacities, shares, subflows)
    none = np.zeros(len(flows), np.int32)
    some = Flows(none, none, start, links, shares, subflows)
    assert ends == pytest.approx(one_event_after_the_other(some, begin, bits, capacities), rel=1e-7)


def test_a_flow_that_crosses_a_link_twice_uses_it_twice() -> None:
    start, links = np.array([0, 3, 4]), np.array([0, 1, 0, 1], np.int32)
    ends = share_links(start, links, np.zeros(2), np.array([4.0, 6.0]), np.full(2, 8.0), np.ones(1), 1)
    assert ends == pytest.approx([1.0, 1.25])  # 4 b/s on both passes of link 0; then link 1 is free


def test_flows_without_a_link_delay_none() -> None:
    """A subflow that has no path leaves the flow to the others."""
    start, links = np.array([0, 1, 1, 1, 1]), np.zeros(1, np.int32)
    ends = share_links(start, links, np.array([1.0, 2.0]), np.array([4.0, 4.0]), np.full(1, 8.0), np.ones(1), 2)
    assert ends == pytest.approx([2.0, 0.0])
