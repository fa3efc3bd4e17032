"""Independent values: each comes from one function of dcnlab.papers.oracles, and from nothing else."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import wraps
from itertools import islice
from pathlib import Path

import pytest

from dcnlab import papers
from dcnlab.papers import oracles, record
from dcnlab.papers.claim import Claim, Independent, Row
from dcnlab.papers.dcube.theorems import between_servers
from dcnlab.papers.hrsw.statements import cubes
from dcnlab.papers.registry import cells, experiments

RECORDED = record.load(record.RECORD)
ROWS = [row for rows in RECORDED.values() for row in rows if row.independent is not None]
FOLDER = Path(papers.__file__).parent
PRINTED = 3


def test_a_value_by_other_code_than_the_oracles_is_refused() -> None:
    with pytest.raises(ValueError, match="not in dcnlab"):
        Independent.by(math.sqrt, 4)
    with pytest.raises(ValueError, match="not in dcnlab"):
        Independent.by(lambda: between_servers("hdcube", 2).diameter)


@pytest.mark.parametrize(
    "path", sorted(FOLDER.glob("*/*.py")), ids=lambda path: f"{path.parent.stem}-{path.stem}"
)
def test_no_independent_value_is_written_or_shares_the_expression_of_the_published_one(path: Path) -> None:
    """Papers make them by calls of Independent.by with a function and parameters, never from a formula."""
    tree = ast.parse(path.read_text())
    published = {
        ast.dump(call.args[PRINTED])
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        and getattr(call.func, "id", "") == "Claim"
        and len(call.args) > PRINTED
        and not isinstance(call.args[PRINTED], ast.Constant)
    }
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        if getattr(call.func, "id", "") == "Independent":
            pytest.fail(f"{path.name}:{call.lineno}: an independent value without a call")
        if isinstance(call.func, ast.Attribute) and ast.unparse(call.func) == "Independent.by":
            allowed = (ast.Name, ast.Constant, ast.Attribute, ast.Starred, ast.IfExp, ast.Call)
            for one in call.args[1:]:
                assert isinstance(one, allowed), f"{path.name}:{call.lineno}: a formula as argument"
                assert ast.dump(one) not in published, (
                    f"{path.name}:{call.lineno}: the published value as argument"
                )


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.claim.id}")
def test_the_recorded_call_gives_the_recorded_value_and_the_measured_one(row: Row) -> None:
    assert row.independent is not None
    function = getattr(oracles, row.independent.function)
    assert function(*row.independent.arguments) == row.independent.value
    assert row.agrees


def test_a_published_value_that_is_wrong_is_not_copied() -> None:
    """Where the paper is wrong and an oracle knows the value, the two differ."""
    differing = {
        row.claim.id
        for row in ROWS
        if row.independent is not None
        and row.claim.printed is not None
        and row.verdict == "does not hold"
        and abs(row.independent.value - row.claim.printed) > row.claim.tolerance
    }
    assert {"h-4", "m-2", "bcube:6,2-D", "bisection-4-2"} & differing


#: The rows of slow experiments that are measured here.
FEW: dict[str, Callable[[], Iterator[Row]]] = {
    "borel-labels": lambda: islice(experiments()["borel-labels"].measure(), 4),
    "borel-table4": lambda: islice(experiments()["borel-table4"].measure(), 4),
    "clot-statements": lambda: islice(experiments()["clot-statements"].measure(), 14),
    "dcube-structure": lambda: islice(experiments()["dcube-structure"].measure(), 28),
    "hrsw-statements": cubes,
}


def with_wrong_oracles(
    recorded: Iterable[Row], measure: Callable[[], Iterator[Row]], patch: pytest.MonkeyPatch
) -> list[Row]:
    """A new measurement where each oracle of the recorded rows gives one more than it should."""
    for known in {row.independent.function for row in recorded if row.independent is not None}:
        patch.setattr(oracles, known, off_by_one(getattr(oracles, known)))
    return list(measure())


def sharing(recorded: Iterable[Row], fresh: Iterable[Row]) -> tuple[list[str], int]:
    """The claims whose published or measured value is not the recorded one, and the number of independent
    values that are one more than those."""
    before = {row.claim.id: row for row in recorded}
    shared, changed = [], 0
    for row in fresh:
        was = before[row.claim.id]
        if cells(replace(row, independent=None)) != cells(replace(was, independent=None)):
            shared.append(row.claim.id)
        if row.independent is not None and was.independent is not None:
            changed += row.independent.value == was.independent.value + 1
    return shared, changed


WITH_INDEPENDENT = sorted(name for name, rows in RECORDED.items() if any(row.independent for row in rows))


@pytest.mark.parametrize("name", WITH_INDEPENDENT)
def test_published_and_measured_values_do_not_come_from_an_oracle(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all others, where :mod:`tests.dcnlab.papers.test_reproduction_doc` does not measure them again."""
    measure = FEW.get(name, experiments()[name].measure)
    fresh = with_wrong_oracles(RECORDED[name], measure, monkeypatch)
    if name not in FEW:
        assert [row.claim.id for row in fresh] == [row.claim.id for row in RECORDED[name]]
    shared, changed = sharing(RECORDED[name], fresh)
    assert shared == []
    assert changed


@pytest.mark.parametrize("part", ["published", "measured"])
def test_a_value_by_the_expression_of_the_independent_one_is_found(
    part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def planted() -> Iterator[Row]:
        value = oracles.cube_diameter("hdcube", 3)
        printed, measured = (value, 3) if part == "published" else (3, value)
        claim = Claim("planted", "paper", "diameter", printed, "by hand", source="x")
        yield Row(claim, measured, independent=Independent.by(oracles.cube_diameter, "hdcube", 3))

    before = [*planted()]
    assert sharing(before, with_wrong_oracles(before, planted, monkeypatch)) == (["planted"], 1)


def off_by_one(function: Callable[..., float]) -> Callable[..., float]:
    """The function with a wrong value; its name and module stay."""

    @wraps(function)
    def wrong(*arguments: int | str) -> float:
        return function(*arguments) + 1

    return wrong
