"""The pages that `run --report` and `compare --report` write, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dcnlab.evaluator.averages import Average
from dcnlab.evaluator.reporting.report import Section, page
from tests.lab.browser import open_browser, open_page, until
from tests.lab.lines import dcnlab

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("view-browser")]

SCENARIO = """
title: a cut
topology: bcube:2,1
scheme: brp
traffic:
  - stream: h0 -> h3
    for: 2s
events:
  - at: 500ms
    fail: link h0 s2
  - at: 1500ms
    restore: link h0 s2
expect:
  - stream.received > 0
  - stream.outage_ms < {most}
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as running:
        yield running


@pytest.mark.parametrize(("most", "code"), [(100_000, 0), (-1, 1)])
def test_a_run_is_seen_at_a_glance(browser: Any, tmp_path: Path, most: int, code: int) -> None:
    file, report = tmp_path / "cut.yaml", tmp_path / "cut.html"
    file.write_text(SCENARIO.format(most=most))
    done = dcnlab("run", file, "--report", report)
    assert done.returncode == code, done.stderr
    with open_page(browser, 1200, 1000) as shown:
        shown.goto(f"file://{report}")
        banner = shown.text_content(".banner")
        if code:
            assert banner.startswith("1 of 2 expectations does not hold: stream.outage_ms < -1 (found ")
        else:
            assert banner == "All 2 expectations hold."
        assert (
            shown.evaluate("document.querySelector('.banner').className")
            == f"banner {'fails' if code else 'holds'}"
        )
        headings = shown.evaluate("[...document.querySelectorAll('h2')].map((one) => one.textContent)")
        assert headings[:4] == ["Network", "Time line", "Expectations", "Figures"]
        until(shown, "[...document.images].every((one) => one.complete && one.naturalWidth > 300)")
        pictures = shown.evaluate(
            "[...document.images].map((one) => new TextDecoder().decode(Uint8Array.from("
            "atob(one.src.split(',')[1]), (letter) => letter.charCodeAt(0))))"
        )
        assert pictures[0].count('class="cut"') == 1
        assert "Cut in this run: h0-s2." in pictures[0]
        for text in ("stream h0-h3", "fail h0-s2", "restore h0-s2", "gap"):
            assert text in pictures[1]


@pytest.mark.parametrize("width", [1100, 1280, 1400])
@pytest.mark.parametrize("half", [0.0, 123.4])
def test_no_column_of_a_wide_table_is_cut(browser: Any, tmp_path: Path, width: int, half: float) -> None:
    header = ("topology", "scheme", "failures", *(f"a long figure {number}" for number in range(23)))
    values = [Average(1234.5 + number, half) for number in range(23)]
    rows = (("bcube:8,2", "wmgr", "links=5%", *values),) * 3
    file = tmp_path / "wide.html"
    file.write_text(page("wide", [Section("Results", header=header, rows=rows)]))
    with open_page(browser, width, 900) as shown:
        shown.goto(f"file://{file}")
        beyond = "[...document.querySelectorAll('.table')].map((one) => one.scrollWidth - one.clientWidth)"
        assert set(shown.evaluate(beyond)) == {0}
        heads = shown.evaluate("[...document.querySelectorAll('th')].map((one) => one.textContent)")
        assert set(heads) == set(header)
        assert heads.count("scheme") > 1  # each part says what its rows are of
        cells = shown.evaluate("[...document.querySelectorAll('tbody td')].map((one) => one.textContent)")
        assert {value.text("±") for value in values} <= set(cells)
