"""What seeds draw, and the columns that say it: pandas groups by topology, intervals over each source apart."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from dcnlab.evaluator.averages import combinations
from dcnlab.evaluator.compare import Row, compare, requests
from dcnlab.evaluator.evaluate import evaluate
from dcnlab.evaluator.seeds import Draw, read
from dcnlab.evaluator.sweep import measure, points, summary
from tests.lab.lines import dcnlab
from topos.registry import fabric
from topos.spec import SpecError

SPEC = "jellyfish:6,16,4"


def rows_of(seeds: str, *failures: str) -> list[Row]:
    wanted = requests([SPEC], ["ecmp"], failures, read(seeds), pattern="permutation")
    return compare(wanted, workers=1)


@pytest.fixture(scope="module")
def crossed() -> list[Row]:
    return rows_of("graph=3,traffic=2,failures=4", "links=10%")


def test_each_seed_draws_its_own_part(crossed: list[Row]) -> None:
    assert len(crossed) == 24
    graphs: dict[int, set[float]] = {}
    failed: dict[tuple[int, int], set[str]] = {}
    for row in crossed:
        network = fabric(f"{SPEC},seed={row['graph_seed']}")
        whole = evaluate(network)
        graphs.setdefault(row["graph_seed"], set()).add(whole.mean_distance)
        failed.setdefault((row["graph_seed"], row["failure_seed"]), set()).add(str(row["distance_histogram"]))
    assert all(len(one) == 1 for one in (*graphs.values(), *failed.values()))
    assert len(set(map(str, graphs.values()))) == 3  # other graphs
    assert len(set(map(str, failed.values()))) == 12  # other failures of each


def test_one_seed_is_the_same_seed_for_each(crossed: list[Row]) -> None:
    alone = rows_of("1", "links=10%")[0]
    first = next(r for r in crossed if (r["graph_seed"], r["seed"], r["failure_seed"]) == (1, 1, 1))
    assert {k: v for k, v in alone.items() if k != "key"} == {k: v for k, v in first.items() if k != "key"}


def test_intervals_over_each_source_are_those_of_its_means(crossed: list[Row]) -> None:
    [one] = combinations(crossed)
    average = one.average("throughput.aggregate")
    assert average is not None
    for source, half in average.apart:
        column = {"graph": "graph_seed", "traffic": "seed", "failures": "failure_seed"}[source]
        levels = sorted({row[column] for row in crossed})
        means = [np.mean([r["throughput.aggregate"] for r in crossed if r[column] == at]) for at in levels]
        low, high = stats.t.interval(0.95, len(means) - 1, np.mean(means), stats.sem(means))
        assert half == pytest.approx((high - low) / 2)
    assert [source for source, _ in average.apart] == ["graph", "traffic", "failures"]


def test_a_sweep_has_the_figures_and_intervals_of_compare() -> None:
    draws = read("graph=2,traffic=2,failures=3")
    asked = points([SPEC], ["ecmp"], ["links"], [0.0, 0.1], draws)
    swept = [{**measure(point), "failures": point.failures} for point in asked]
    wanted = requests(
        [SPEC], ["ecmp"], ["", "links=10%"], draws, pattern="all-to-all", flows="hashed", metrics=["throughput"]
    )
    compared = compare(wanted, workers=1)
    assert len(swept) == len(compared) == 2 * 2 * (1 + 3)
    seeds = ("failures", "graph_seed", "seed", "failure_seed")
    abt = {tuple(row[s] for s in seeds): row["abt"] for row in swept}
    assert abt == pytest.approx({tuple(row[s] for s in seeds): row["throughput.abt"] for row in compared})
    lines = summary(swept)[1:]
    for one, line in zip(combinations(compared), lines, strict=True):
        average = one.average("throughput.abt")
        assert average is not None
        assert line[2:4] == (str(len(one.rows)), average.text())


def test_a_topology_is_one_group_however_its_seed_is_given(tmp_path: Path) -> None:
    wanted = requests([SPEC, f"{SPEC},seed=7"], ["ecmp"], seeds=[1, 2])
    rows = compare(wanted, workers=1)
    assert {row["topology"] for row in rows} == {SPEC}
    assert sorted(row["graph_seed"] for row in rows) == [1, 2, 7]
    swept = [measure(point) for point in points([SPEC], ["ecmp"], ["links"], [0.0, 0.1], [1, 2])]
    assert {(row["topology"], row["graph_seed"] == row["seed"]) for row in swept} == {(SPEC, True)}


@pytest.mark.parametrize(
    "words",
    [
        "throughput {} --scheme ecmp --traffic permutation --seed 3 --json",
        "evaluate {} --scheme ecmp --seed 3 --json",
        "deadlock {} --scheme updown --seed 3 --json",
        "cost {} --seed 3 --json",
    ],
)
def test_every_command_has_topology_and_seeds_apart(words: str) -> None:
    report = json.loads(dcnlab(*words.format(SPEC).split()).stdout)
    row = report[0] if isinstance(report, list) else report
    assert (row["topology"], row["graph_seed"], row["seed"]) == (SPEC, 3, 3)
    fixed = json.loads(dcnlab(*words.format("fattree:4").split()).stdout)
    row = fixed[0] if isinstance(fixed, list) else fixed
    assert (row["topology"], row["graph_seed"]) == ("fattree:4", None)


def test_a_csv_has_them_too(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    dcnlab(*f"throughput {SPEC} --scheme ecmp --seed 3 --csv {file}".split())
    [row] = csv.DictReader(file.open())
    assert (row["topology"], row["graph_seed"], row["seed"]) == (SPEC, "3", "3")


def test_numbers_of_seeds_are_read_or_refused() -> None:
    assert read("2") == [Draw(1, 1, 1), Draw(2, 2, 2)]
    assert read("graph=2,failures=2") == [Draw(g, 1, f) for g in (1, 2) for f in (1, 2)]
    for text in ("0", "graph", "graph=0", "graph=2,graph=3", "nodes=2", "-1"):
        with pytest.raises(SpecError, match="seeds"):
            read(text)
