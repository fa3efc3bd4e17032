"""Queues against closed forms: processor sharing by flows, M/D/1 by packets, and loads on the wire."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from addressing.registry import bind
from dcnlab.evaluator.evaluate import evaluate
from dcnlab.evaluator.traffic.arrivals import Source
from dcnlab.evaluator.traffic.latency import Settings, simulate
from dcnlab.traffic import sizes
from dcnlab.traffic.completion import mean_wire_bits, wire_bits
from dcnlab.traffic.workload import Demand, draw
from topos.registry import fabric


@pytest.fixture
def one_link(tmp_path: Path) -> str:
    """Two servers and the link between them."""
    path = tmp_path / "one.json"
    path.write_text('{"nodes": [{"id": "a"}, {"id": "b"}], "links": [{"source": "a", "target": "b"}]}')
    return f"file:{path}"


def exponential(folder: Path) -> str:
    """A file of exponential sizes with a mean of 200 KB."""
    share = np.linspace(0, 0.999999, 20000)
    rows = [f"{-2e5 * np.log1p(-p):.3f} {p:.9f}" for p in share]
    path = folder / "exponential.txt"
    path.write_text("\n".join([*rows, f"{-2e5 * np.log(1e-6) + 1:.3f} 1\n"]))
    return str(path)


def slowdown(topology: str, text: str, load: float, seconds: float) -> float:
    wanted = {"traffic": "one-to-one", "sizes": text, "load": load, "seconds": seconds}
    report = evaluate(topology, ["shortest"], metrics=["fct"], **wanted).as_dict()
    completion = report["schemes"][0]["fct"]
    assert completion["busiest_link"] == pytest.approx(load, rel=0.05)
    return float(completion["slowdown_mean"])


@pytest.mark.parametrize(
    ("text", "load", "seconds"),
    [("fixed:1M", 0.8, 400), ("fixed:1500", 0.9, 1.5), ("fixed:100", 0.6, 0.1), ("websearch", 0.5, 1000)],
)
def test_processor_sharing_slows_flows_by_the_idle_share(
    one_link: str, text: str, load: float, seconds: float
) -> None:
    """M/G/1-PS: the mean slowdown is 1 / (1 - load), whatever the sizes are (Kleinrock, 1967)."""
    assert slowdown(one_link, text, load, seconds) == pytest.approx(1 / (1 - load), rel=0.12)


def test_exponential_flows_have_the_times_of_m_m_1(one_link: str, tmp_path: Path) -> None:
    """M/M/1: the mean time in the system is the mean service time over the idle share."""
    text, load = exponential(tmp_path), 0.7
    wanted = {"traffic": "one-to-one", "sizes": text, "load": load, "seconds": 60.0}
    report = evaluate(one_link, ["shortest"], metrics=["fct"], **wanted).as_dict()
    service_ms = mean_wire_bits(sizes.read(text)) / 1e9 * 1000
    assert report["schemes"][0]["fct"]["fct_mean_ms"] == pytest.approx(service_ms / (1 - load), rel=0.12)


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_packets_wait_as_in_m_d_1(one_link: str, load: float) -> None:
    """M/D/1: the mean wait is load / (2 (1 - load)) service times (Pollaczek and Khinchine)."""
    fixed = {"buffer": 10**6, "processing": 0, "propagation": 0}
    settings = Settings(source=Source("poisson"), warmup=50_000_000, until=3_000_000_000, **fixed)
    latency = simulate(bind("shortest", fabric(one_link)), load, "one-to-one", 1, settings)
    service = settings.transmission_time / 1000
    assert latency.mean == pytest.approx(service * (1 + load / (2 * (1 - load))), rel=0.03)


@pytest.mark.parametrize(
    "text", ["fixed:100", "fixed:1448", "fixed:1449", "fixed:1M", "websearch", "datamining"]
)
def test_the_mean_on_the_wire_is_that_of_a_sample(text: str) -> None:
    drawn = sizes.read(text).quantile((np.arange(400_000) + 0.5) / 400_000)
    assert mean_wire_bits(sizes.read(text)) == pytest.approx(wire_bits(drawn).mean(), rel=2e-3)


@given(st.integers(1, 10**7))
def test_fixed_sizes_have_their_own_bits_on_the_wire(size: int) -> None:
    assert mean_wire_bits(sizes.read(f"fixed:{size}")) == float(wire_bits(np.array([size]))[0])


@pytest.mark.parametrize("text", ["fixed:100", "fixed:1M", "websearch:scale=0.01"])
def test_the_busiest_server_sends_the_load_on_the_wire(text: str) -> None:
    network = fabric("fattree:4")
    flows = draw(network, Demand("permutation", text, 0.6, 1.0, 1e8, seed=2))
    sent = np.bincount(flows.source, wire_bits(flows.size), network.servers)
    assert sent.mean() == pytest.approx(0.6e8, rel=0.15)


def test_more_than_a_link_carries_is_said(one_link: str) -> None:
    from dcnlab.evaluator.metrics import warning

    wanted = {"traffic": "one-to-one", "sizes": "fixed:1M", "seconds": 5.0}
    for load, said in ((0.5, False), (1.5, True)):
        report = evaluate(one_link, ["shortest"], metrics=["fct", "latency"], load=load, **wanted).as_dict()
        [figures] = report["schemes"]
        assert all(("saturated" in warning(name, figures[name])) == said for name in ("fct", "latency"))
