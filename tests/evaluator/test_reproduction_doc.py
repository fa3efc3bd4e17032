"""docs/reproduction.md is what ``dcnlab reproduce all`` writes today."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from evaluator.reproduce.registry import experiments, markdown, run

DOCUMENT = Path(__file__).parents[2] / "docs" / "reproduction.md"
#: Each takes longer than all the others together.
SLOW = {"borel-table4", "hrsw-fig3", "hrsw-fig4"}


def sections(text: str) -> dict[str, str]:
    """The text under each experiment's heading, by the experiment's name."""
    _, *parts = text.split("\n## ")
    return {part.partition(":")[0]: part.strip() for part in parts}


def verdicts(text: str) -> list[str]:
    """The last cell of every row of measurements."""
    rows = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| claim ")]
    return [row.removesuffix(" |").rpartition(" | ")[2] for row in rows]


@pytest.fixture(scope="module")
def committed() -> str:
    return DOCUMENT.read_text()


def test_every_experiment_is_there_once_and_no_other(committed: str) -> None:
    assert list(sections(committed)) == list(experiments())
    assert committed.count("\n## ") == len(experiments())


@pytest.mark.parametrize("name", sorted(set(experiments()) - SLOW))
def test_measured_again_it_says_the_same(name: str, committed: str) -> None:
    fresh = markdown({name: run(name, figures=False)})
    assert sections(fresh)[name] == sections(committed)[name]


@pytest.mark.parametrize("name", sorted(SLOW))
def test_what_is_slow_was_measured(name: str, committed: str) -> None:
    found = verdicts(sections(committed)[name])
    assert found
    assert "not measured" not in found


def test_the_totals_are_those_of_the_rows(committed: str) -> None:
    for verdict, count in Counter(verdicts(committed)).items():
        assert f"{count} {verdict}" in committed
