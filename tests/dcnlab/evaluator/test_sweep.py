"""Failure sweeps: every figure of a point by brute force, and resuming."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import networkx as nx
import pytest

from dcnlab.evaluator import compare, sweep
from dcnlab.evaluator.graph.failures import draw
from dcnlab.evaluator.reporting import plots
from tests.topos.graphs import graph
from topos.registry import fabric
from topos.spec import SpecError

SPECS = ["hdcube:3,1", "bcube:3,1", "fattree:4"]


def by_hand(point: sweep.Point) -> tuple[float, float, float]:
    """(ABT, share delivered, mean path) with each pair's packet split evenly at every node."""
    network = fabric(point.topology)
    failed = draw(network, point.failures, point.seed)
    whole = nx.Graph(graph(network, failed.links))
    live = [server for server in range(network.servers) if server not in failed.nodes]
    load: dict[tuple[int, int], float] = {}
    lengths = []
    for to in live:
        distance = nx.single_source_shortest_path_length(whole, to)
        mass = dict.fromkeys(live, 1.0)
        for node in sorted(distance, key=lambda v: -distance[v]):
            nearer = [v for v in whole[node] if distance[v] < distance[node]]
            for v in nearer:
                load[node, v] = load.get((node, v), 0) + mass.get(node, 0) / len(nearer)
                mass[v] = mass.get(v, 0) + mass.get(node, 0) / len(nearer)
        lengths += [distance[server] for server in live if server in distance and server != to]
    count = len(lengths)
    return count / max(load.values()), count / len(live) / (len(live) - 1), sum(lengths) / count


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("kind", ["servers", "switches", "links"])
def test_every_figure_of_a_point_by_brute_force(spec: str, kind: str) -> None:
    for share in (0.0, 0.15):
        point = sweep.Point(spec, "ecmp", kind, share, 3, "split")
        row = sweep.measure(point)
        assert (row["abt"], row["delivered"], row["path"]) == pytest.approx(by_hand(point))


def test_a_scheme_other_than_ecmp_is_measured_along_its_paths() -> None:
    row = sweep.measure(sweep.Point("hdcube:3,1", "dcube", "", 0.0, 1))
    shortest = sweep.measure(sweep.Point("hdcube:3,1", "ecmp", "", 0.0, 1, "split"))
    assert row["delivered"] == 1
    assert row["path"] >= shortest["path"]
    assert row["abt"] <= shortest["abt"]


def test_hashed_flows_are_drawn_and_carry_no_more_than_split_ones() -> None:
    hashed = [sweep.measure(sweep.Point("fattree:4", "ecmp", "", 0.0, seed)) for seed in (1, 2)]
    split = sweep.measure(sweep.Point("fattree:4", "ecmp", "", 0.0, 1, "split"))
    assert hashed[0]["abt"] != hashed[1]["abt"]
    assert max(row["abt"] for row in hashed) < split["abt"]
    for row in hashed:
        assert (row["delivered"], row["path"]) == pytest.approx((1, split["path"]))
    drawn = sweep.points(["fattree:4"], ["ecmp"], ["links"], [0.0], [1, 2, 3])
    assert [point.seed for point in drawn] == [1, 2, 3]


def test_more_pairs_than_can_be_drawn_are_refused_with_what_helps() -> None:
    with pytest.raises(SpecError, match="paths are too many to draw: use split"):
        sweep.measure(sweep.Point("fattree:36", "ecmp", "", 0.0, 1))


def test_the_point_without_failures_occurs_once() -> None:
    wanted = sweep.points(SPECS, ["ecmp"], ["servers", "links"], [0.0, 0.1], [1, 2, 3], flows="split")
    assert len(wanted) == len(SPECS) * (1 + 2 * 3)
    assert len({point.key for point in wanted}) == len(wanted)
    mixed = sweep.points(SPECS, ["dcube", "brp", "ecmp"], ["links"], [0.1], [1])
    assert [point.scheme for point in mixed] == ["dcube", "brp", "ecmp"]
    with pytest.raises(SpecError, match="none of dcube fits bcube"):
        sweep.points(["bcube:3,1"], ["dcube"], ["links"], [0.1], [1])
    with pytest.raises(SpecError, match="unknown kind 'cables'"):
        sweep.points(SPECS, ["ecmp"], ["cables"], [0.1], [1])


def test_a_sweep_is_stored_resumed_and_drawn(tmp_path: Path) -> None:
    specs, shares = ["hdcube:3,1", "bcube:3,1"], [0.0, 0.1, 0.2]
    wanted = sweep.points(specs, ["ecmp"], ["servers", "links"], shares, [1, 2], flows="split")
    with ThreadPoolExecutor(1) as executor:
        rows = compare.collect(sweep.measure, wanted, tmp_path, executor=executor)
    seen: list[int] = []
    again = compare.collect(sweep.measure, wanted, tmp_path, progress=lambda done, of, row: seen.append(done))
    assert again == rows
    assert seen == []
    figure = sweep.figure(rows, ["servers", "links"])
    charts = figure.charts
    assert [len(chart.series) for chart in charts] == [2] * 2 * len(sweep.METRICS)
    assert all(series.x == (0.0, 10.0, 20.0) for chart in charts for series in chart.series)
    plots.save(figure, tmp_path / "sweep.png")
    assert (tmp_path / "sweep.png").read_bytes().startswith(b"\x89PNG")
    same = len({row["servers"] for row in rows}) == 1
    assert charts[0].y_label == ("ABT (in link rates)" if same else "ABT per server")
    beside = [{**row, "optimum": 2 * row["abt"], "of_optimum": 0.5} for row in rows]
    labels = [chart.y_label for chart in sweep.figure(beside, ["links"], "server").charts]
    assert [label for label in labels if "ABT" in label] == [
        "ABT per server",
        "optimal ABT per server, at least",
    ]
    whole = sweep.figure(rows, ["servers", "links"], "network").charts[0].series[0]
    shared = sweep.figure(rows, ["servers", "links"], "server").charts[0].series[0]
    assert shared.y == pytest.approx([y / rows[0]["servers"] for y in whole.y])
    priced = sweep.figure(rows, ["servers", "links"], "cost")
    [dollars] = re.findall(r"hdcube:3,1 (\d+(?:,\d{3})*)", priced.caption)
    assert priced.charts[0].series[0].y[0] == pytest.approx(1000 * whole.y[0] / float(dollars.replace(",", "")))
    summary = sweep.summary(rows)
    assert len(summary) == 1 + 2 * (1 + 2 * 2)


def test_a_sweep_uses_the_rates_that_a_file_states(tmp_path: Path) -> None:
    """By hand: of 12 pairs on a chain, three cross the first link, of half the rate, four the second."""
    path = tmp_path / "n.json"
    links = [{"a": "a", "b": "b", "rate": "500Mbit"}, {"a": "b", "b": "c", "rate": "1Gbit"}]
    links += [{"a": "c", "b": "d", "rate": "1Gbit"}]
    path.write_text(json.dumps({"nodes": [{"name": name} for name in "abcd"], "links": links}))
    for scheme in ("ecmp", "shortest"):
        [point] = sweep.points([f"file:{path}"], [scheme], ["links"], [0.0], [1])
        assert sweep.measure(point)["abt"] == pytest.approx(12 * min(0.5 / 3, 1 / 4))
