"""Latency compared with a simple simulation with a queue per link, queueing theory, and exact values."""

from __future__ import annotations

import heapq
import json
from collections import Counter, deque
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from addressing.header import Deliver, Forward
from addressing.registry import bind
from addressing.scheme import walk
from dcnlab.evaluator.graph import failures
from dcnlab.evaluator.graph.pairs import choose
from dcnlab.evaluator.routing.path_lengths import path_lengths
from dcnlab.evaluator.routing.sampled_paths import SampledPaths, sample_paths, uniform
from dcnlab.evaluator.traffic.arrivals import Arrivals, Source, arrivals
from dcnlab.evaluator.traffic.capacities import Timing
from dcnlab.evaluator.traffic.credits import escape_routes, queue_with_credits
from dcnlab.evaluator.traffic.latency import (
    BUFFER_FULL,
    NO_ROUTE,
    FlowControl,
    Settings,
    queue,
    simulate,
    summarise,
)
from dcnlab.traffic.patterns import Traffic, traffic
from topos.fabric import Fabric
from topos.graph import NONE
from topos.registry import fabric
from topos.spec import SpecError


def plain(packets: Arrivals, paths: SampledPaths, timing: Timing, settings: Settings) -> list[int]:
    """A queue per link and an event per action; at one time, links first finish sending."""
    sending, between = timing.transmission.tolist(), timing.propagation.tolist()
    sent, come = 0, 1
    ended = [NO_ROUTE] * len(packets)
    queues: dict[int, deque[int]] = {}
    at = [0] * len(packets)
    events = [(int(t), come, p, NONE) for p, t in enumerate(packets.time)]
    heapq.heapify(events)
    while events:
        now, kind, packet, link = heapq.heappop(events)
        if kind == sent:
            assert queues[link].popleft() == packet
            later = now + between[link] + settings.processing
            heapq.heappush(events, (later, come, packet, NONE))
            if queues[link]:
                heapq.heappush(events, (now + sending[link], sent, queues[link][0], link))
            continue
        route = [link for link in paths.links[packet].tolist() if link != NONE]
        if at[packet] == len(route):
            if paths.delivered[packet]:
                ended[packet] = now
            continue
        waiting = queues.setdefault(route[at[packet]], deque())
        if len(waiting) >= settings.buffer:
            ended[packet] = BUFFER_FULL
            continue
        waiting.append(packet)
        if len(waiting) == 1:
            link = route[at[packet]]
            heapq.heappush(events, (now + sending[link], sent, packet, link))
        at[packet] += 1
    return ended


def timing(network: Fabric, transmission: int, propagation: int) -> Timing:
    """All links alike."""
    count = len(network.adjacency.peer)
    return Timing(np.full(count, transmission, np.int64), np.full(count, propagation, np.int64))


@pytest.mark.parametrize(
    ("spec", "name"), [("torus:3x4", "dor"), ("clot:4x4", "pow"), ("bcube:3,1", "brp"), ("fattree:4", "ecmp")]
)
@pytest.mark.parametrize("load", [0.4, 2.5])
@pytest.mark.parametrize("failing", ["", "links=10%"])
def test_every_packet_is_delivered_as_in_a_simple_simulation(
    spec: str, name: str, load: float, failing: str
) -> None:
    network = fabric(spec)
    settings = Settings(buffer=4, until=2_000_000)
    failed = failures.draw(network, failing, 1)
    made = arrivals(
        traffic(network, "all-to-all", 1), settings.transmission_time / load, settings.until, settings.source, 5
    )
    # Round numbers, so that many events have the same time.
    made = replace(made, time=made.time // 3000 * 3000)
    paths = sample_paths(bind(name, network), made.source, made.destination, 5, 128, failed.links)
    alike = timing(network, settings.transmission_time, settings.propagation)
    rng = np.random.default_rng(3)  # links of other rates and lengths
    others = Timing(*(rng.choice([1, 2, 5], len(times)) * times for times in vars(alike).values()))
    for one in (alike, others):
        delivered = queue(made, paths, one, settings)
        assert delivered.tolist() == plain(made, paths, one, settings)
        assert (delivered >= 0).any()
        assert load < 1 or (delivered == BUFFER_FULL).any()


CREDITS = Settings(buffer=3, until=2_000_000, warmup=0, flow_control="credits")


@pytest.mark.parametrize(
    ("spec", "name"), [("torus:3x4", "dor"), ("clot:4x4", "pow"), ("bcube:3,1", "brp"), ("fattree:4", "ecmp")]
)
@pytest.mark.parametrize("failing", ["", "links=10%"])
def test_with_room_for_all_packets_credits_change_nothing(spec: str, name: str, failing: str) -> None:
    scheme = bind(name, fabric(spec))
    failed = failures.draw(scheme.fabric, failing, 1)
    roomy = Settings(buffer=10**6, until=1_000_000, warmup=0)
    plainly = simulate(scheme, 2.5, seed=5, settings=roomy, failed=failed)
    credited = simulate(scheme, 2.5, seed=5, settings=replace(roomy, flow_control="credits"), failed=failed)
    assert credited.times.tolist() == plainly.times.tolist()
    assert (credited.full, credited.no_route) == (0, plainly.no_route)


@pytest.mark.parametrize(
    ("spec", "name"),
    [("torus:8", "dor"), ("clot:4x4", "pow"), ("novacube:4x4", "pow"), ("bcube:3,1", "brp")],
)
def test_with_credits_every_packet_that_enters_is_delivered(spec: str, name: str) -> None:
    """Small buffers and four times the link rate: without the escape channel, rings deadlock."""
    scheme = bind(name, fabric(spec))
    latency = simulate(scheme, 4.0, seed=2, settings=CREDITS)
    assert latency.no_route == 0
    assert latency.full > 0
    assert len(latency.times) + latency.full == latency.sent


def test_without_escape_routes_a_ring_deadlocks() -> None:
    scheme = bind("dor", fabric("torus:8"))
    made = arrivals(traffic(scheme.fabric, "all-to-all"), 3_000.0, CREDITS.until, CREDITS.source, 2)
    paths = sample_paths(scheme, made.source, made.destination, 2, 128)
    routes = escape_routes(scheme.fabric)
    ended = [
        queue_with_credits(made, paths, scheme.fabric, escape, timing(scheme.fabric, 12_000, 5_000), 10_000, 3)
        for escape in (routes, np.full_like(routes, NONE))
    ]
    assert [NO_ROUTE in times for times in ended] == [False, True]


def test_a_packet_waits_for_the_credit_of_the_next_buffer() -> None:
    """By hand: from server 0 over 1 to 2, buffers of one packet; 12 to send, 5 to the other end, 10 there."""
    scheme = bind("dor", fabric("torus:6"))
    network = scheme.fabric
    source, end = np.zeros(3, np.int32), np.full(3, 2, np.int32)
    packets = Arrivals(np.array([0, 5, 12], np.int64), source, end)
    paths = sample_paths(scheme, packets.source, packets.destination, 1, 128)
    nowhere = np.full((network.servers, network.size), NONE, np.int32)
    alike = timing(network, 12, 5)
    roomy, tight = (queue_with_credits(packets, paths, network, nowhere, alike, 10, b) for b in (9, 1))
    assert roomy.tolist() == [54, 66, 78]
    # The source refuses the second.  The first leaves server 1 at 39, and its credit is back at 44.
    assert tight.tolist() == [54, BUFFER_FULL, 44 + 54]


@pytest.mark.parametrize("control", ["none", "credits"])
def test_rates_and_delays_of_links_hold_for_packets(tmp_path: Path, control: FlowControl) -> None:
    """Alone: 12 us for a packet at 1 Gb/s, 5 us of propagation unless a delay is stated, 10 us per node."""
    links = [("a", "b", {"rate": "1Gbit"}), ("b", "c", {"rate": "100Mbit", "delay": "2ms"}),
             ("c", "d", {"rate": "1Gbit"})]  # fmt: skip
    path = tmp_path / "n.json"
    path.write_text(json.dumps({
        "nodes": [{"name": name} for name in "abcd"],
        "links": [{"a": a, "b": b, **stated} for a, b, stated in links],
    }))  # fmt: skip
    network = fabric(f"file:{path}")
    scheme = bind("shortest", network)
    settings = Settings(until=400_000_000, warmup=0, flow_control=control)
    a, d = (np.array([network.index(name)], np.int32) for name in "ad")
    latency = simulate(scheme, 1e-3, Traffic("one", a, d, np.ones(1)), settings=settings)
    assert len(latency.times)
    assert np.allclose(latency.times, (12 + 5 + 10) * 2 + 120 + 2000 + 10)


def md1(load: float) -> float:
    """The mean waiting time of M/D/1 in service times (Pollaczek and Khinchine)."""
    return load / (2 * (1 - load))


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_one_link_with_poisson_arrivals_is_m_d_1(load: float) -> None:
    settings = Settings(buffer=10**6, until=1_500_000_000, source=Source("poisson"))
    latency = simulate(bind("dor", fabric("torus:2")), load, seed=3, settings=settings)
    expected = 12 + 15 + 12 * md1(load)
    assert latency.loss == 0
    assert latency.offered == pytest.approx(load, rel=0.02)
    assert latency.mean == pytest.approx(expected, abs=3 * latency.confidence)
    assert latency.confidence < 0.05 * expected


def test_without_load_latency_is_that_of_the_links() -> None:
    scheme = bind("pow", fabric("clot:4x4"))
    latency = simulate(scheme, 0.002, settings=Settings(until=1_000_000_000))
    hops = path_lengths(scheme, choose(scheme.fabric, "servers", 1)).path_mean
    assert latency.mean == pytest.approx(27 * hops, rel=0.03)
    assert latency.loss == 0
    assert (np.round(latency.times % 27, 6) % 27 == 0).mean() > 0.95


def test_a_full_buffer_keeps_ten_packets_and_drops_the_others() -> None:
    settings = Settings(warmup=0)
    once = Arrivals(*(np.full(25, v, dtype=d) for v, d in ((7, np.int64), (0, np.int32), (1, np.int32))))
    scheme = bind("dor", fabric("torus:2"))
    paths = sample_paths(scheme, once.source, once.destination, 1, 128)
    ended = queue(once, paths, timing(scheme.fabric, 12_000, 5_000), settings)
    assert ended.tolist() == [7 + 12_000 * (i + 1) + 15_000 for i in range(10)] + [BUFFER_FULL] * 15
    latency = summarise(1.0, once, ended, 1, settings)
    assert (latency.full, latency.no_route, latency.loss) == (15, 0, 0.6)
    assert latency.percentile(100) == 135.0


def test_throughput_equals_the_offered_load_until_links_are_full() -> None:
    scheme = bind("dor", fabric("torus:4x4"))
    low, high = simulate(scheme, 0.3, seed=2), simulate(scheme, 4.0, seed=2)
    assert low.throughput == pytest.approx(low.offered, rel=1e-3)
    # 4 links per server and 2 1/15 hops per packet on average: the maximum throughput.
    assert high.loss > 0.3
    assert high.throughput < 4 / (32 / 15)
    assert high.percentile(99) > high.percentile(50) > low.percentile(50)


def test_a_path_longer_than_the_ttl_is_cut() -> None:
    scheme = bind("dor", fabric("torus:12"))
    latency = simulate(scheme, 0.1, settings=Settings(ttl=3, until=60_000_000))
    assert latency.no_route > 0
    assert latency.full == 0
    assert latency.loss == pytest.approx(5 / 11, abs=0.05)


@pytest.mark.parametrize(
    ("spec", "name", "failing"),
    [
        ("clot:4x4", "pow", ""),
        ("fattree:4", "ecmp", "links=5%"),
        ("torus:3x4", "wmgr", "links=10%"),
        ("mdcube:3,1", "dcube", ""),
    ],
)
def test_sampled_paths_are_those_of_the_scheme(spec: str, name: str, failing: str) -> None:
    """Vectorised and generic paths are equal, are walks of the rule, and have frequencies by weight."""
    network = fabric(spec)
    scheme, failed = bind(name, network), failures.draw(network, failing, 2)
    source, to = np.full(3000, 1, dtype=np.int32), np.full(3000, network.servers - 2, dtype=np.int32)
    drawn = sample_paths(scheme, source, to, 4, 128, failed.links)
    asked = sample_paths(scheme, source, to, 4, 128, failed.links, generic=True)
    assert drawn.links.tolist() == asked.links.tolist()
    assert drawn.delivered.tolist() == asked.delivered.tolist()
    told = scheme.with_failures(failed.links)
    first = Counter(drawn.links[:, 0].tolist())
    start = next(hop for hop in walk(told, 1, network.servers - 2, failed.links))
    weights = {
        int(network.adjacency.start[1]) + action.port - 1: weight
        for action, weight in told.act(1, start.header, failed.links)
        if isinstance(action, Forward)
    }
    assert set(first) <= set(weights)
    for link, weight in weights.items():
        assert first[link] / 3000 == pytest.approx(weight, abs=4 * (weight * (1 - weight) / 3000) ** 0.5)
    lengths = {sum(isinstance(h.action, Forward) for h in walk(told, 1, network.servers - 2, failed.links))}
    assert lengths <= set((drawn.links != NONE).sum(axis=1).tolist())
    last = next(reversed(list(walk(told, 1, network.servers - 2, failed.links))))
    assert isinstance(last.action, Deliver) == bool(drawn.delivered[0])


def test_draws_are_uniform_and_independent_of_order() -> None:
    points = np.array([uniform(3, packet, hop) for packet in range(200) for hop in range(20)])
    counts, _ = np.histogram(points, 10, (0, 1))
    assert counts.sum() == 4000
    assert ((counts - 400) ** 2 / 400).sum() < 27.9  # chi-square, 9 degrees of freedom, 0.1 %
    assert uniform(3, 7, 1) != uniform(4, 7, 1)


@pytest.mark.parametrize("how", [Source(), Source(burst=1.0), Source(burst=8.0, on=20_000), Source("poisson")])
def test_sources_offer_the_requested_load(how: Source) -> None:
    network = fabric("torus:4x4")
    made = arrivals(traffic(network, "all-to-all"), 24_000.0, 200_000_000, how, 1)
    assert len(made) * 24_000 / 200_000_000 / 16 == pytest.approx(1, rel=0.05)
    assert (np.diff(made.time) >= 0).all()
    assert made.time.max() < 200_000_000
    assert (made.source != made.destination).all()
    assert set(made.destination[made.source == 3].tolist()) == set(range(16)) - {3}


def test_on_off_traffic_is_burstier_than_poisson() -> None:
    def dispersion(how: Source) -> float:
        made = arrivals(traffic(fabric("torus:2"), "all-to-all"), 24_000.0, 400_000_000, how, 1)
        counts, _ = np.histogram(made.time[made.source == 0], 1000)
        return float(counts.var() / counts.mean())

    assert dispersion(Source()) > 1.5 * dispersion(Source("poisson"))
    assert dispersion(Source("poisson")) == pytest.approx(1, abs=0.2)


def test_invalid_patterns_are_refused() -> None:
    with pytest.raises(SpecError, match="unknown traffic"):
        simulate(bind("dor", fabric("torus:4")), 0.5, "everywhere")
