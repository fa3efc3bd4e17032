"""Patterns from files, distributions of flow sizes, and the workloads that are drawn from both."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dcnlab.traffic import completion, sizes, workload
from dcnlab.traffic.patterns import traffic
from dcnlab.traffic.workload import Demand
from topos.registry import fabric
from topos.spec import SpecError

BCUBE = fabric("bcube:4,1")


@pytest.mark.parametrize(
    ("name", "mean", "shares"),
    [
        # The means are those of the simulations that use the same points: 1,138 and 5,117 packets.
        ("websearch", 1138 * 1460, {53 * 1460: 0.53, 1333 * 1460: 0.8, 20_000 * 1460: 1.0}),
        ("datamining", 5117 * 1460, {1460: 0.5, 7 * 1460: 0.8, 2107 * 1460: 0.95}),
    ],
)
def test_published_distributions_have_their_mean_and_quantiles(
    name: str, mean: float, shares: dict[int, float]
) -> None:
    distribution = sizes.read(name)
    assert distribution.mean() == pytest.approx(mean, rel=0.01)
    drawn = distribution.quantile(np.random.default_rng(1).random(400_000))
    for size, share in shares.items():
        assert (drawn <= size).mean() == pytest.approx(share, abs=0.005)
    assert sizes.read(f"{name}:scale=0.1").mean() == pytest.approx(distribution.mean() / 10)


def test_a_drawn_distribution_has_the_mean_that_it_states(tmp_path: Path) -> None:
    file = tmp_path / "own.cdf"
    file.write_text("# bytes share\n100 0\n1000 0.5\n\n2000, 1\n")
    distribution = sizes.read(str(file))
    assert distribution.mean() == 0.5 * 550 + 0.5 * 1500
    drawn = distribution.quantile(np.random.default_rng(2).random(200_000))
    assert drawn.mean() == pytest.approx(distribution.mean(), rel=0.01)
    file.write_text("100 0\n1000 50\n2000 100\n")
    assert sizes.read(str(file)).mean() == distribution.mean()


@pytest.mark.parametrize(
    ("text", "size"), [("1500", 1500), ("20K", 20_000), ("1.5M", 1_500_000), ("1G", 10**9)]
)
def test_fixed_sizes(text: str, size: int) -> None:
    distribution = sizes.read(f"fixed:{text}")
    assert distribution.mean() == size
    assert distribution.quantile(np.array([0.0, 0.3, 1.0])).tolist() == [size] * 3


@pytest.mark.parametrize(
    "text",
    ["fixed", "fixed:", "fixed:0", "fixed:many", "websearch:0.1", "websearch:scale=0", "nosuch", "datamining:"],
)
def test_wrong_sizes_are_one_line(text: str) -> None:
    with pytest.raises(SpecError, match=r"^sizes: [^\n]*write"):
        sizes.read(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "must have the share 1"),
        ("10 0.5", "must have the share 1"),
        ("10 x", "1: must be a size"),
        ("10 0.5\n5 1", "must ascend"),
        ("10 nan", "1: must be a size"),
        ("0 0.5\n0 1", "at least 1 byte"),
    ],
)
def test_wrong_files_of_sizes_are_one_line(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "own.cdf"
    file.write_text(text)
    with pytest.raises(SpecError, match=says):
        sizes.read(str(file))


def test_a_pattern_may_be_a_file(tmp_path: Path) -> None:
    file = tmp_path / "pairs"
    file.write_text("h0 h5\nh3,h1  # twice as much\nh3 h1\n")
    demand = traffic(BCUBE, str(file))
    assert list(zip(demand.sources.tolist(), demand.destinations.tolist(), strict=True)) == [
        (0, 5),
        (3, 1),
        (3, 1),
    ]
    assert len(traffic(BCUBE, str(file), failed={5})) == 2
    for wrong, says in (
        ("h0", "two different"),
        ("h0 h0", "two different"),
        ("h0 s0", "two"),
        ("h0 h99", "h99"),
    ):
        file.write_text(wrong)
        with pytest.raises(SpecError, match=says):
            traffic(BCUBE, str(file))


def test_incast_and_hotspot() -> None:
    demand = traffic(BCUBE, "incast:to=3")
    assert set(demand.destinations.tolist()) == {3}
    assert sorted(demand.sources.tolist()) == [server for server in range(16) if server != 3]
    with pytest.raises(SpecError, match="no such server"):
        traffic(BCUBE, "incast", failed={0})
    large = fabric("bcube:8,2")
    demand = traffic(large, "hotspot:share=0.5,count=2", seed=4)
    counts = np.sort(np.bincount(demand.destinations, minlength=512))
    assert counts[-2:].sum() == pytest.approx(256, abs=50)
    assert counts[-3] < 10


def test_poisson_arrivals_offer_the_load_to_the_busiest_server() -> None:
    for pattern in ("permutation", "incast", "all-to-all", "hotspot"):
        demand = Demand(pattern, "fixed:10K", 0.5, seconds=20, rate=1e8, seed=3)
        made = workload.draw(BCUBE, demand)
        bits = [8 * np.bincount(ends, made.size).max() for ends in (made.source, made.destination)]
        assert max(bits) / demand.seconds == pytest.approx(0.5 * demand.rate, rel=0.1)
        assert (np.diff(made.begin) >= 0).all()
        assert 0 <= made.begin[0] < made.begin[-1] < demand.seconds
    gaps = np.diff(made.begin)
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.05)  # exponential


def test_without_a_load_each_pair_sends_a_number_of_flows_at_once() -> None:
    made = workload.draw(BCUBE, Demand("incast", "websearch", count=3))
    assert len(made) == 45
    assert not made.begin.any()
    again = workload.draw(BCUBE, Demand("incast", "websearch", count=3))
    assert np.array_equal(made.size, again.size)
    other = workload.draw(BCUBE, Demand("incast", "websearch", count=3, seed=2))
    assert not np.array_equal(made.size, other.size)


def test_too_many_flows_are_refused() -> None:
    with pytest.raises(SpecError, match="too many"):
        workload.draw(BCUBE, Demand("all-to-all", "fixed:1", 1.0))
    with pytest.raises(SpecError, match="too many"):
        workload.draw(BCUBE, Demand("all-to-all", count=10_000))


def test_the_summary_counts_failures_and_bins_sizes() -> None:
    size = np.array([10_000, 10_001, 2_000_000, 50_000_000, 50])
    seconds = np.array([0.002, 0.004, 1.0, np.nan, np.nan])
    everything, *bins = completion.summarise(size, seconds, np.array([0.001, 0.001, 0.5, 1.0, 1.0]))
    assert (everything.flows, everything.failed) == (5, 2)
    assert (everything.fct_median_ms, everything.fct_p99_ms, everything.slowdown_p99) == (4.0, 1000.0, 4.0)
    assert [(one.sizes, one.flows, one.failed) for one in bins] == [
        ("<= 10 KB", 2, 1), ("<= 100 KB", 1, 0), ("<= 10 MB", 1, 0), ("> 10 MB", 1, 1),
    ]  # fmt: skip
    assert bins[-1].fct_median_ms is None
    assert completion.wire_bits(np.array([1448, 1449])).tolist() == [8 * 1514, 8 * (1449 + 132)]
