"""WMGR's tables and readings: sources, growth, orders of letters, charts beside the published values."""

from __future__ import annotations

from dcnlab.evaluator.reporting.charts import Chart, Series
from dcnlab.evaluator.reporting.plots import draw
from dcnlab.papers import record
from dcnlab.papers.registry import html, run
from dcnlab.papers.wmgr.complexity import label, memory, time
from dcnlab.papers.wmgr.figures import relettered, stretch

RECORDED = record.load(record.RECORD)


def test_figure_7_claims_no_number_of_states_as_published() -> None:
    rows = {row.claim.id: row for row in RECORDED["wmgr-fig7"]}
    assert rows["hypercube:10-states"].claim.printed is None
    assert rows["bubblesort:7-states"].claim.printed is None
    assert "rules only, letters 2.4.3.1" in rows["butterfly:7-share"].holding
    assert rows["butterfly:5-share"].holding == ("rules only, letters 2.4.3.1",)


def test_letters_in_port_order_change_nothing() -> None:
    assert (relettered("bubblesort:5", (1, 2, 3, 4)).joint == stretch("bubblesort:5").joint).all()
    assert relettered("bubblesort:5", (2, 3, 4, 1)).cdf(1.99) > 0.85 > stretch("bubblesort:5").cdf(1.99)


def test_quantities_of_a_hypercube() -> None:
    """hypercube:4: words of at most 4 letters of 2 bits, 4 neighbours."""
    free = "WMGR, free group"
    assert label("hypercube:4", free) == 8
    assert memory("hypercube:4", free) == 4 * (8 + 2)
    # The node of depth 3 has neighbours of depths 2, 2, 2 and 4, and v has depth 4 (or a node of depth 4).
    assert time("hypercube:4", free) == max(sum((2, 2, 2, 4)), sum((3, 3, 3, 3))) + 4 * 4


def test_published_curves_stand_beside_ours_on_the_same_axes() -> None:
    chart = Chart(
        "diameter", "size", "links", (Series("measured", (1, 2), (4, 6)),),
        published=(Series("Table I", (1, 2), (7, 9)),),
    )  # fmt: skip
    left, right = draw(chart).axes
    assert left.get_title().endswith("published")
    assert right.get_title().endswith("measured")
    assert left.get_xlim() == right.get_xlim()
    assert left.get_ylim() == right.get_ylim()
    assert left.get_ylim()[1] >= 9


def test_the_report_shows_published_values_of_an_experiment_without_figures() -> None:
    text = html({"wmgr-table1-growth": run("wmgr-table1-growth")})
    assert ">published limit: below<" in text
    assert ">measured, not refuted<" in text
    assert "BCube: Delta grows within" in text
