"""paths, complete, throughput, sweep and cost from the command line: JSON, and one line for bad input."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dcnlab.cli import loading
from dcnlab.cli.app import app
from dcnlab.lab.errors import LabError, UsageError
from tests.lab.terminal import DCNLAB, Terminal

RUNNER = CliRunner()
loading.load_all()


def dcnlab(*words: str) -> Any:
    done = RUNNER.invoke(app, [*words, "--json"], catch_exceptions=False)
    assert done.exit_code == 0
    return json.loads(done.stdout)


def test_paths_are_certified() -> None:
    answer = dcnlab("paths", "mdcube:3,1", "h0", "<111,1>")
    assert len(answer["paths"]) == answer["max_paths"] == 3
    assert answer["certified"]
    assert all(path[0] == "h0" for path in answer["paths"])


def test_a_complete_graph_has_a_path_for_every_two() -> None:
    answer = dcnlab("complete-graph", "hdcube:4,1", "h0")
    assert (len(answer["servers"]), len(answer["paths"])) == (5, 10)
    assert answer["method"] == "construction"
    assert answer["certified"]


def test_rates_of_any_traffic() -> None:
    answer = dcnlab("throughput", "bcube:3,1", "--scheme", "brp", "--capacity", "10")
    assert answer["flows"] == answer["delivered"] == 72
    assert answer["abt"] == pytest.approx(10 * 3 / 2 * 8)
    paused = dcnlab("throughput", "bcube:3,1", "--scheme", "brp", "--on-off", "on=1,off=1,samples=20")
    assert 0 < paused["on_mean"] < 72
    assert 0 < paused["aggregate"] <= answer["aggregate"]


def test_a_sweep_writes_its_points_and_its_figure(tmp_path: Path) -> None:
    words = ("sweep", "bcube:3,1", "--failures", "links", "--steps", "1", "--seeds", "1", "--workers", "1")
    figure, csv = tmp_path / "figures" / "f.svg", tmp_path / "new" / "csv" / "f.csv"  # whose folders are made
    rows = dcnlab(*words, "--results", str(tmp_path), "--figure", str(figure), "--csv", str(csv))
    assert [row["share"] for row in rows] == [0.0, 0.2]
    assert rows[1]["abt"] < rows[0]["abt"]
    assert "<svg" in figure.read_text()
    assert len(csv.read_text().splitlines()) == 3


@pytest.mark.parametrize(
    ("metric", "drawn"),
    [
        ("fct", "median completion time (ms)"),
        ("latency", "mean latency (µs)"),
        ("share", "theta"),
        ("connectivity", "connectivity.edge_connectivity"),
    ],
)
def test_a_figure_of_a_metric_with_several_columns_draws_the_first(
    metric: str, drawn: str, tmp_path: Path
) -> None:
    words = ("compare", "--topologies", "bcube:2,1", "--schemes", "ecmp", "--traffic", "permutation")
    options = ("--metrics", metric, "--loads", "0.2", "--workers", "1", "--figure", str(tmp_path / "f.svg"))
    done = RUNNER.invoke(app, [*words, *options], catch_exceptions=False)
    assert done.exit_code == 0
    assert f"f.svg: {drawn};" in done.stderr


def test_costs_are_those_of_the_given_sizes_or_topologies() -> None:
    assert {one["switches"] for one in dcnlab("cost", "--servers", "2048")} == {252, 256, 1280, 2304}
    [one] = dcnlab("cost", "bcube:4,1")
    assert one["price"] == 8 * 40 + 16 * 10


@pytest.mark.parametrize(
    ("words", "says", "error"),
    [
        (("paths", "bcube:4,1", "h0", "s1"), "s1 is a switch", UsageError),
        (("paths", "bcube:4,1", "h0", "h1", "--weak"), "only DCube has weak parallel paths", UsageError),
        (("complete-graph", "torus:4x4", "h0"), "name the other servers", LabError),
        (
            ("throughput", "bcube:4,1", "--scheme", "brp", "--traffic", "all"),
            "unknown traffic 'all'",
            UsageError,
        ),
        (("throughput", "bcube:4,1", "--scheme", "brp", "--on-off", "on=-1"), "write on=1.0", UsageError),
        (("throughput", "bcube:16,3", "--scheme", "brp"), "too many: `dcnlab sweep --flows split`", UsageError),
        (("sweep", "bcube:4,1", "--scheme", "dcube"), "none of dcube fits bcube:4,1", UsageError),
        (("sweep", "bcube:4,1", "--to", "all"), "write a percentage", UsageError),
        (("cost", "--servers", "many"), "write numbers", UsageError),
        (("cost", "--servers", "1000"), "multiple of 2048", UsageError),
        (("cost", "bcube:1153,0"), "no switch with 1153 ports", UsageError),
    ],
)
def test_bad_input_is_said_in_one_line(
    words: tuple[str, ...], says: str, error: type[LabError], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = RUNNER.invoke(app, [*words])
    assert isinstance(done.exception, error)
    assert done.exception.exit_code == error.exit_code
    assert says in str(done.exception)
    assert len(str(done.exception).splitlines()) == 1


def test_a_long_evaluation_says_on_a_terminal_what_is_computed_and_how_much_is_done() -> None:
    terminal = Terminal("env", "TERM=xterm", *DCNLAB, "evaluate", "random:40,4", "--scheme", "ksp")
    terminal.wait_for(r"evaluating: ksp: (paths|tables) \d+%")
    assert terminal.code() == 0
    assert re.search(r"ksp +1 ", terminal.shown)
    terminal.close()
    words = (*DCNLAB, "evaluate", "random:10,4", "--scheme", "ksp", "--json")  # none is too short for a bar
    piped = subprocess.run(words, capture_output=True, text=True, check=True)
    assert piped.stderr == ""
    assert json.loads(piped.stdout)["schemes"][0]["delivered"] == 1
