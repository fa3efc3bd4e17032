"""WMGR's tables and readings: sources, growth, orders of letters, charts beside the published values."""

from __future__ import annotations

import pytest

from addressing.registry import bind
from addressing.table import compile_table
from dcnlab.evaluator.reporting.charts import Chart, Series
from dcnlab.evaluator.reporting.plots import draw
from dcnlab.papers import record
from dcnlab.papers.claim import Claim, Row
from dcnlab.papers.measure import growth_exponent, lines
from dcnlab.papers.registry import html, run
from dcnlab.papers.wmgr.complexity import FAMILIES, label, letters, memory, time
from dcnlab.papers.wmgr.figures import relettered, stretch
from topos.registry import fabric

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
    """hypercube:4: words of at most 4 letters of 2 bits."""
    free = "WMGR, free group"
    assert label("hypercube:4", free) == 8
    tables = [compile_table(bind("wmgr", fabric("hypercube:4")), at).bits(4) for at in range(16)]
    assert memory("hypercube:4", free) == max(tables)
    # The node of depth 3 has neighbours of depths 2, 2, 2 and 4, and v has depth 4 (or a node of depth 4).
    assert letters("hypercube:4", free) == max(sum((2, 2, 2, 4)), sum((3, 3, 3, 3))) + 4 * 4


def test_time_counts_the_lines_that_a_decision_executes() -> None:
    def rule() -> None:
        for _ in range(10):
            pass

    assert lines(rule) == 21  # the loop's head once more than its body
    assert time("hypercube:6", "WMGR, free group") > time("hypercube:4", "WMGR, free group") > 10


@pytest.mark.parametrize("power", [-0.5, 0.0, 0.25])
def test_an_exponent_is_found_and_its_interval_contains_it(power: float) -> None:
    sizes = [10, 30, 90, 270, 810]
    exponent, low, high = growth_exponent(sizes, [3 * n**power for n in sizes])
    assert low <= exponent <= high
    assert (exponent, low, high) == pytest.approx((power,) * 3, abs=1e-5)


def test_lower_order_terms_do_not_refute_a_bound_and_a_larger_power_does() -> None:
    """Fat trees have n = r^2 (r + 5) / 4 nodes of degree r: r / n^(1/3) grows, towards 4^(1/3)."""
    sizes = [r * r * (r + 5) // 4 for r in (4, 6, 8, 12, 16)]
    claim = Claim("x", "paper", "growth", 0, "fit", "<=", asymptotic=True, source="x")
    for bound, verdict in ((1 / 3, "not refuted"), (1 / 4, "does not hold")):
        ratios = [r / n**bound for r, n in zip((4, 6, 8, 12, 16), sizes, strict=True)]
        exponent, low, high = growth_exponent(sizes, ratios)
        assert exponent > 0
        assert Row(claim, exponent, (low, high)).verdict == verdict


def test_every_growth_row_has_four_sizes_or_more_and_an_interval() -> None:
    rows = [row for name, rows in RECORDED.items() for row in rows if row.claim.asymptotic]
    assert rows
    assert all(row.seen is not None and row.seen[0] <= row.seen[1] for row in rows if row.measured is not None)
    assert all(len(family.sizes) >= 4 for family in FAMILIES.values())


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
