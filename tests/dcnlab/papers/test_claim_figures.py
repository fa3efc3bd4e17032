"""Figures of claims: curves over the parameter that varies, or rows with names."""

from __future__ import annotations

import math

import pytest

from dcnlab.evaluator.reporting.compared import Compared, Curves, Dots, words
from dcnlab.evaluator.reporting.plots import draw
from dcnlab.papers import record
from dcnlab.papers.claim import Claim, Row
from dcnlab.papers.figures import figures


def row(statement: str, published: float, measured: float, relation: str = "=") -> Row:
    claim = Claim(statement, "paper", statement, published, "by hand", relation, source="Table 1, row 2")  # type: ignore[arg-type]
    return Row(claim, measured)


def test_statements_that_differ_in_a_parameter_are_curves_over_it() -> None:
    rows = [row(f"diameter, k = {k}, n = {n}", n * k, n * k - 1) for n in (2, 3) for k in (4, 6, 8)]
    (figure,) = figures(rows)
    assert isinstance(figure, Curves)
    assert (figure.x_label, figure.y_label) == ("k", "diameter")
    assert [(name, [one.at for one in values]) for name, values in figure.curves] == [
        ("n = 2", [4, 6, 8]),
        ("n = 3", [4, 6, 8]),
    ]
    assert [one.published for one in figure.curves[0][1]] == [8, 12, 16]
    assert [one.measured for one in figure.curves[0][1]] == [7, 11, 15]


def test_the_numbers_of_servers_of_dcubes_figures_are_on_their_axes() -> None:
    rows = record.load(record.RECORD)["dcube-fig6"]
    over = [one for one in figures(rows) if isinstance(one, Curves)]
    assert over
    for figure in over:
        assert figure.x_label == "servers"
        assert {value.at for value in figure.values} <= {2048, 4096, 8192, 12288}


def test_statements_without_a_parameter_are_rows_with_names() -> None:
    rows = [row(f"{name}: largest stretch", 2, 2) for name in ("bcube:4,1", "dcell:4,1")]
    (figure,) = figures(rows)
    assert isinstance(figure, Dots)
    assert figure.x_label == "largest stretch"
    assert [one.name for one in figure.values] == ["bcube:4,1", "dcell:4,1"]


def test_every_claim_is_in_one_figure_unless_its_value_is_alone() -> None:
    for name, rows in record.load(record.RECORD).items():
        shown = [one for one in rows if one.claim.printed is not None and one.measured is not None]
        drawn = figures(rows)
        count = sum(len(figure.values) for figure in drawn)
        assert count in (len(shown), len(shown) - 1), name
        for figure in drawn:
            names = [figure.x_label, figure.title]
            assert all(names), figure
            if isinstance(figure, Curves):
                assert all(math.isfinite(one.at) for one in figure.values)
                assert len({label for label, _ in figure.curves}) == len(figure.curves)


@pytest.mark.parametrize("kind", ["curves", "dots"])
def test_the_drawing_has_the_published_and_the_measured_values(kind: str) -> None:
    values = (
        Compared("a", 4, 5, 1, verdict="does not hold"),
        Compared("b", 10, 12, 2, upper=14, others=(9,)),
        Compared("c", 3, 2, 3, relation="<", extent=(1, 3), tolerance=0.6),
    )
    figure = (
        Curves("Table 1", "k", "hops", (("", values),)) if kind == "curves" else Dots("Table 1", "hops", values)
    )
    (axes,) = draw(figure).axes
    along = 1 if kind == "curves" else 0
    points = {float(xy[along]) for line in axes.lines for xy in line.get_xydata()}  # type: ignore[union-attr]
    assert {4, 5, 10, 12, 14, 9, 3, 2, 1, 3.6} <= points
    labels = {text.get_text() for text in axes.figure.legends[0].get_texts()}
    assert {"published", "published range", "published limit: below", "tolerance", "other readings"} <= labels
    assert "Does not hold: a: 5, published 4." in words(figure)
