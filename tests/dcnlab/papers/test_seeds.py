"""A seed is one network: every command that takes a seed draws the same random topology with it."""

from __future__ import annotations

import pytest

from dcnlab.evaluator.compare import compare, requests
from dcnlab.evaluator.evaluate import evaluate
from dcnlab.evaluator.graph.bisection import bisection
from dcnlab.evaluator.sweep import measure, points
from topos.registry import fabric, is_seeded, with_seed


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("jellyfish:6,16,4", "jellyfish:6,16,4,seed=7"),
        ("random:10,3", "random:10,3,seed=7"),
        ("jellyfish:6,16,4,seed=2", "jellyfish:6,16,4,seed=2"),
        ("bcube:4,1", "bcube:4,1"),
    ],
)
def test_a_seed_draws_what_names_none(text: str, drawn: str) -> None:
    assert with_seed(text, 7) == drawn
    assert is_seeded(text) == (text != drawn)


def test_evaluate_and_compare_use_the_same_graph() -> None:
    text, seeds = "jellyfish:6,16,4", (1, 2)
    rows = compare(requests([text], ["ecmp"], seeds=seeds, metrics=["bisection"]), workers=1)
    assert [(row["topology"], row["seed"]) for row in rows] == [(text, 1), (text, 2)]
    for row, seed in zip(rows, seeds, strict=True):
        expected = bisection(fabric(f"{text},seed={seed}"), seed).cut
        report = evaluate(text, metrics=["bisection"], seed=seed)
        assert report.metrics["bisection"]["found"] == row["bisection.found"] == expected


def test_a_sweep_draws_a_graph_per_seed() -> None:
    intact = [measure(point) for point in points(["jellyfish:6,16,4"], ["ecmp"], ["links"], [0.0], [1, 2, 3])]
    assert [row["topology"] for row in intact] == ["jellyfish:6,16,4"] * 3
    assert len({row["path"] for row in intact}) > 1
    asked = ["bcube:4,1"], ["ecmp"], ["links"], [0.0], [1, 2, 3]
    assert [len(points(*asked, flows=flows)) for flows in ("split", "hashed")] == [1, 3]
