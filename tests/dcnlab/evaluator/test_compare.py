"""Grids of evaluations: requests, resuming, output formats, figures and pages."""

from __future__ import annotations

import csv
import html
import json
import multiprocessing
import re
import sys
import time
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcnlab.cli.commands.compare import _draw, _show_rows
from dcnlab.cli.program import main
from dcnlab.evaluator.averages import combinations
from dcnlab.evaluator.compare import (
    RESULTS,
    Request,
    Row,
    collect,
    compare,
    load,
    requests,
)
from dcnlab.evaluator.comparisons import Comparison
from dcnlab.evaluator.cost import bill, design, read_prices
from dcnlab.evaluator.evaluate import evaluate
from dcnlab.evaluator.reporting.charts import Chart, Panels, Series
from dcnlab.evaluator.reporting.comparison import charts, comparison, figures
from dcnlab.evaluator.reporting.plots import alt_text, save, svg
from dcnlab.evaluator.reporting.tables import write_csv, write_parquet
from dcnlab.evaluator.statistics import interval, is_share
from tests.dcnlab.evaluator.dawdling import dawdle
from tests.ovs import poll
from topos.registry import parse
from topos.spec import SpecError

WANTED = requests(["bcube:3,1", "torus:3x4"], ["wmgr", "brp"], ["", "links=10%"], [1, 2], pattern="permutation")


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    with ThreadPoolExecutor(1) as executor:
        return compare(WANTED, executor=executor)


@pytest.fixture(scope="module")
def page(rows: list[Row]) -> str:
    return comparison(rows)


def test_the_grid_has_each_fitting_combination_once() -> None:
    assert len(WANTED) == (2 + 1) * 2 * 2
    assert len({request.key for request in WANTED}) == len(WANTED)
    seeded = requests(["random:10,3", "random:10,3,seed=9"], ["wmgr"], seeds=[1, 2])
    assert [(r.topology, r.graph_seed) for r in seeded] == [("random:10,3", seed) for seed in (1, 2, 9)]
    # Without failures and samples no seed changes anything: one evaluation is enough.
    once = requests(["bcube:3,1"], ["brp"], ["", "links=10%"], [1, 2, 3])
    assert [(r.failures, r.seed) for r in once] == [("", 1)] + [("links=10%", seed) for seed in (1, 2, 3)]
    assert len(requests(["bcube:3,1"], ["brp"], seeds=[1, 2], pairs="sample:5")) == 2
    with pytest.raises(SpecError, match="none of these"):
        requests(["torus:3x4"], ["brp"])


def test_rows_hold_the_figures_of_evaluate(rows: list[Row]) -> None:
    for request, row in zip(WANTED, rows, strict=True):
        report = evaluate(request.topology, [request.scheme], failures=request.failures, seed=request.seed)
        scheme = report.as_dict()["schemes"][0]
        assert row["path.mean"] == scheme["path"]["mean"]
        assert row["stretch.cdf.2"] == scheme["stretch"]["cdf"]["2"]
        assert row["pairs"] == "servers"
        assert row["throughput.aggregate"] > 0


def test_each_load_is_a_row_if_latency_is_requested() -> None:
    asked = {"metrics": ["latency", "bisection"], "loads": (0.2, 1.0)}
    wanted = requests(["torus:3x4"], ["dor", "wmgr"], **asked)  # type: ignore[arg-type]
    assert [(r.scheme, r.load) for r in wanted] == [("dor", 0.2), ("dor", 1.0), ("wmgr", 0.2), ("wmgr", 1.0)]
    with ThreadPoolExecutor(1) as executor:
        compared = compare(wanted, executor=executor)
    assert [row["latency.load"] for row in compared] == [0.2, 1.0, 0.2, 1.0]
    assert compared[1]["latency.mean_us"] > compared[0]["latency.mean_us"] > 27
    assert {row["bisection.found"] for row in compared} == {6}
    assert [r.load for r in requests(["torus:3x4"], ["dor"], metrics=["loads"], loads=(0.2, 1.0))] == [0.0]
    shown = [chart for chart in charts(compared) if isinstance(chart, Chart)]
    assert any(chart.x_label.startswith("offered load") for chart in shown)


def test_processes_give_the_same_rows_and_a_second_run_reads_them(tmp_path: Path, rows: list[Row]) -> None:
    seen: list[int] = []
    wanted, expected = WANTED[:3], json.loads(json.dumps(rows[:3]))
    assert json.loads(json.dumps(compare(wanted, tmp_path, workers=2))) == expected
    cut = (tmp_path / RESULTS).read_text()
    (tmp_path / RESULTS).write_text(cut + '{"key": "half a li')
    assert compare(wanted, tmp_path, progress=lambda done, of, row: seen.append(done)) == expected
    assert seen == []
    assert set(load(tmp_path)) == {request.key for request in wanted}


def test_a_failed_evaluation_is_a_row_with_an_error(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as executor:
        [row] = compare([Request("bcube:3,1", "wmgr", pairs="from:h99")], tmp_path, executor=executor)
    assert "no node 'h99'" in row["error"]
    assert load(tmp_path) == {}
    assert "no node" in comparison([row])


def test_rows_are_written_as_csv(tmp_path: Path, rows: list[Row]) -> None:
    write_csv(rows, tmp_path / "r.csv")
    with (tmp_path / "r.csv").open() as file:
        read = list(csv.DictReader(file))
    assert [float(line["path.mean"]) for line in read] == [row["path.mean"] for row in rows]


def test_parquet_has_the_figures(tmp_path: Path, rows: list[Row]) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    write_parquet(rows, tmp_path / "r.parquet")
    read = parquet.read_table(tmp_path / "r.parquet")
    assert [row["path.mean"] for row in read.to_pylist()] == [row["path.mean"] for row in rows]
    kinds = {name: str(read.schema.field(name).type) for name in ("topology", "seed", "path.max", "path.mean")}
    assert kinds == {"topology": "string", "seed": "int64", "path.max": "int64", "path.mean": "double"}


def test_parquet_without_pyarrow_is_refused_before_the_evaluations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    words = ["compare", "--topologies", "bcube:2,1", "--schemes", "brp", "--results", str(tmp_path / "r")]
    monkeypatch.setattr(sys, "argv", ["dcnlab", *words, "--parquet", str(tmp_path / "r.parquet")])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "pip install pyarrow" in capsys.readouterr().err
    assert not (tmp_path / "r").exists()


def test_the_page_is_complete_and_self_contained(rows: list[Row], page: str) -> None:
    assert page.count("<svg") == len(charts(rows)) >= 3
    for outside in ("<script", "<link", "<img", "src=", "@import"):
        assert outside not in page
    assert "bcube:3,1" in page


def test_every_figure_has_a_text_alternative_and_unique_identifiers(rows: list[Row], page: str) -> None:
    identifiers = re.findall(r' id="([^"]+)"', page)
    assert len(identifiers) == len(set(identifiers))
    referred = set(re.findall(r'(?:url\(#|href="#)([^")]+)', page))
    assert referred
    assert referred <= set(identifiers)
    assert page.count('<figure role="img" aria-label="Stretch') >= 1
    for chart in charts(rows):
        assert html.escape(alt_text(chart)) in page


def test_table_sizes_are_drawn_per_family_without_failures(rows: list[Row]) -> None:
    small = {**rows[0], "topology": "torus:4x4", "scheme": "dor", "failures": "", "table.entries_max": 5}
    large = {**small, "topology": "torus:8x8", "servers": 64, "table.entries_max": 9}
    cut = {**small, "failures": "links=5%", "table.entries_max": 50}
    alone = {**small, "topology": "clot:2x2", "servers": 4}
    small["servers"] = cut["servers"] = 16
    drawn = charts([small, large, cut, alone])
    [chart] = [c for c in drawn if c.title == "Largest table" and isinstance(c, Chart)]
    assert [(s.label, s.x, s.y) for s in chart.series] == [("torus, dor", (16.0, 64.0), (5.0, 9.0))]


def made(rows: list[Row], topology: str, scheme: str, failures: str, seed: int, **figures: object) -> Row:
    """A row of a comparison with figures of its own."""
    return {**rows[0], "topology": topology, "scheme": scheme, "failures": failures, "seed": seed, **figures}


def test_the_table_has_means_with_intervals_over_the_seeds(
    rows: list[Row], capsys: pytest.CaptureFixture[str]
) -> None:
    some = [made(rows, "bcube:3,1", "brp", "links=5%", seed, **{"path.mean": 3.0 + seed}) for seed in (1, 2, 3)]
    intact = made(rows, "bcube:3,1", "brp", "", 1, **{"path.mean": 3.0})
    _show_rows([intact, *some], ["path.mean"])
    header, *lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert header == ["topology", "scheme", "failures", "seeds", "path.mean"]
    # Student's t for 2 degrees of freedom: 4.303 / sqrt(3) = 2.48.
    assert lines == [
        ["bcube:3,1", "brp", "none", "1", "3"], ["bcube:3,1", "brp", "links=5%", "3", "5", "+-", "2.5"],
    ]  # fmt: skip
    assert "<td>5 ± 2.5</td>" in comparison([intact, *some])


def test_lines_that_differ_in_traffic_or_load_say_so(
    rows: list[Row], capsys: pytest.CaptureFixture[str]
) -> None:
    some = [
        made(rows, "bcube:3,1", "brp", "", 1, traffic=pattern, load=load, **{"path.mean": 3.0})
        for pattern in ("permutation", "stride")
        for load in (0.2, 0.8)
    ]
    _show_rows(some, ["path.mean"])
    header, *lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert header == ["topology", "scheme", "traffic", "load", "failures", "seeds", "path.mean"]
    assert [line[2:4] for line in lines] == [
        [pattern, load] for pattern in ("permutation", "stride") for load in ("0.2", "0.8")
    ]
    _show_rows(some[:1], ["path.mean"])
    assert capsys.readouterr().out.split()[:3] == ["topology", "scheme", "failures"]


def test_seeds_of_a_random_topology_are_one_combination(rows: list[Row]) -> None:
    drawn = [made(rows, "random:10,3", "wmgr", "", seed) for seed in (1, 2)]
    assert [(one.topology, len(one.rows)) for one in combinations(drawn)] == [("random:10,3", 2)]


def test_totals_are_drawn_per_server_where_sizes_differ(rows: list[Row]) -> None:
    """And figures in which nothing differs are named instead of drawn."""
    some = [
        made(rows, topology, scheme, failures, 1, servers=servers, delivered=1.0,
             **{"failed_share": len(failures) / 90, "throughput.abt": abt * (2 - bool(failures)),
                "path.mean": 3.0})
        for topology, servers, abt in (("bcube:3,1", 9, 9.0), ("bcube:4,1", 16, 32.0))
        for scheme in ("brp", "wmgr")
        for failures in ("", "links=10%")
    ]  # fmt: skip
    drawn_figures = figures(some)
    abt, dollars = (one for one in drawn_figures.drawn if one.title.startswith("ABT"))
    assert isinstance(abt, Panels)
    assert isinstance(dollars, Panels)
    assert dollars.title == "ABT per 1000 dollars under failures"
    price = bill(design(parse("bcube:4,1")), read_prices()).price / 1000
    assert [chart.series[0].y for chart in dollars.charts][1] == pytest.approx((64 / price, 32 / price))
    assert abt.title == "ABT per server under failures"
    assert [[series.y for series in chart.series] for chart in abt.charts] == [
        [(2.0, 1.0)] * 2,
        [(4.0, 2.0)] * 2,
    ]
    assert "servers: bcube:3,1 9, bcube:4,1 16" in abt.caption
    assert "share of pairs delivered under failures (1 everywhere)" in drawn_figures.equal
    assert "mean path under failures (3 everywhere)" in drawn_figures.equal
    same = [row for row in some if row["topology"] == "bcube:3,1"]
    assert [one.title for one in figures(same).drawn if one.title.startswith("ABT")] == [
        "ABT under failures: bcube:3,1"
    ]


def test_a_stretch_of_1_everywhere_needs_no_curve(rows: list[Row]) -> None:
    flat = {"stretch.steps": [[1.0, 1.0]]}
    bent = {"stretch.steps": [[1.0, 0.5], [2.5, 1.0]]}
    some = [
        made(rows, topology, scheme, "", 1, **(flat if scheme == "brp" or topology == "clot:2x2" else bent))
        for topology in ("bcube:3,1", "clot:2x2")
        for scheme in ("brp", "wmgr")
    ]
    [stretch] = [one for one in figures(some).drawn if one.title.startswith("Stretch")]
    assert isinstance(stretch, Chart)
    assert stretch.title == "Stretch: bcube:3,1"
    assert [series.label for series in stretch.series] == ["wmgr"]
    assert "stretch 1 for every pair: brp, wmgr on clot:2x2" in stretch.caption


def test_distributions_of_stretch_have_every_value_that_occurs(rows: list[Row]) -> None:
    seeds = [[[1.0, 0.5], [2.5, 1.0]], [[1.25, 0.25], [3.0, 1.0]]]
    some = [made(rows, "clot:2x2", "wmgr", "", k, **{"stretch.steps": steps}) for k, steps in enumerate(seeds)]
    [stretch] = [one for one in figures(some).drawn if one.title.startswith("Stretch")]
    assert isinstance(stretch, Chart)
    [curve] = stretch.series
    assert (curve.x, curve.y) == ((1.0, 1.25, 2.5, 3.0), (0.25, 0.375, 0.625, 1.0))
    twice = [made(rows, "clot:2x2", "wmgr", "", 1, **{"stretch.steps": [[2.0, 1.0]]})]
    assert not any("stretch 1 for every pair" in one.caption for one in figures(twice).drawn)


def test_invalid_failures_are_refused_before_the_evaluations() -> None:
    with pytest.raises(SpecError, match="'few' is neither"):
        requests(["bcube:3,1"], ["wmgr"], ["", "few"])


def test_no_failures_by_name_are_evaluated_once() -> None:
    assert len(requests(["bcube:3,1"], ["wmgr"], ["", "none"])) == 1


def test_charts_are_reproducible(tmp_path: Path) -> None:
    curve = Series("wmgr < brp", (1.0, 2.0, 4.0), (0.5, 0.75, 1.0), (0.1, 0.1, 0.0))
    chart = Chart("Stretch & more", "stretch", "share", (curve,), "bcube:3,1; seed 1")
    assert svg(chart) == svg(chart)
    text = "".join(ET.fromstring(svg(chart)).itertext())
    assert "bcube:3,1; seed 1" in text
    assert "wmgr < brp" in text
    save(chart, tmp_path / "c.png")
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")


def test_an_interrupt_does_not_wait_for_running_evaluations(tmp_path: Path) -> None:
    def interrupt(done: int, total: int, row: Row) -> None:
        raise KeyboardInterrupt

    wanted = requests(["random:10,3"], ["wmgr"], seeds=range(1, 5))
    others = set(multiprocessing.active_children())
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        collect(dawdle, wanted, tmp_path, workers=2, progress=interrupt)
    assert time.monotonic() - begun < 300
    assert list(load(tmp_path)) == [wanted[0].key]
    # Not joined: the pool's own thread joins them, and of two threads that do, one gets no result at first.
    poll(lambda: not set(multiprocessing.active_children()) - others, 60)


def test_the_reports_figures_are_written_one_by_one(
    tmp_path: Path, rows: list[Row], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "new" / "figures"
    _draw([*rows, {**WANTED[0].__dict__, "key": "x", "error": "no"}], folder, {}, 0.0, 9.0)
    written = sorted(folder.iterdir())
    assert len(written) == len(charts(rows)) > 1
    assert all(path.read_bytes().startswith(b"%PDF") and path.suffix == ".pdf" for path in written)
    assert written[0].name == "01-stretch.pdf"
    assert capsys.readouterr().err == f"{len(written)} figures in {folder}\n"


def test_a_notebook_shows_a_comparison_and_an_evaluation(rows: list[Row]) -> None:
    shown = Comparison(rows)._repr_html_()
    assert shown.count('src="data:image/svg+xml;base64,') == len(charts(rows)) > 1
    assert 'alt="Stretch' in shown
    assert "<table>" in shown
    assert len(Comparison(rows).figures()) == len(charts(rows))
    assert "<td>1</td>" in evaluate("bcube:2,1", ["brp"])._repr_html_()


@given(st.floats(0, 1), st.floats(1e-3, 5))
def test_the_interval_of_a_share_stays_within_0_and_1(mean: float, half: float) -> None:
    shown = interval(mean, half, share=True)
    numbers = [float(word) for word in re.findall(r"[\d.]+(?:e-?\d+)?", shown)]
    low, high = numbers[1:] if "to" in shown else (numbers[0] - numbers[1], numbers[0] + numbers[1])
    assert -0.06 * half <= low <= high <= 1 + 0.05 * half
    assert abs(low - max(0, mean - half)) <= 0.05 * max(half, mean)
    assert abs(high - min(1, mean + half)) <= 0.05 * max(half, 1)


def test_means_of_other_figures_have_intervals_on_both_sides() -> None:
    assert interval(3, 4, share=False) == "3 +- 4"
    assert interval(0.98, 0.05, share=is_share("flows.delivered")) == "0.98 (0.93 to 1)"
    assert not is_share("path.mean")
