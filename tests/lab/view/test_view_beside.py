"""Two labs side by side, in a real browser: one time, the same cut, the differences."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dcnlab.cli.side_by_side import figures
from dcnlab.evaluator.evaluate import evaluate
from dcnlab.lab.client import Lab
from tests import screenshots
from tests.lab.browser import open_browser, open_page, until
from tests.lab.lines import dcnlab

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("view-browser")]

SCHEMES = ("brp", "wmgr")
READY = "window.beside"
ROWS = """Object.fromEntries([...document.querySelectorAll('#differences tbody tr')]
    .map((row) => [...row.children].map((cell) => cell.textContent)).map(([name, ...rest]) => [name, rest]))"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as running:
        yield running


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The same network with two schemes; the first link of the path of a stream is cut."""
    folder = tmp_path_factory.mktemp("beside")
    paths = [folder / f"{scheme}.rec" for scheme in SCHEMES]
    for scheme, path in zip(SCHEMES, paths, strict=True):
        with Lab("bcube:2,1", scheme) as lab:
            screenshots.record(lab, path, 1.5)
    return paths


def ended(path: Path) -> dict[str, Any]:
    """What the command that cut a link has said in a recording."""
    messages = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    events = [message for kind, message in messages if kind == "event"]
    result: dict[str, Any] = next(one["result"] for one in events if one["kind"] == "command-ended")
    return result


def test_two_recordings_have_one_time_and_their_differences(
    browser: Any, recordings: list[Path], tmp_path: Path
) -> None:
    file = tmp_path / "both.html"
    done = dcnlab("replay", *map(str, recordings), "--html", str(file), "--json")
    assert done.returncode == 0, done.stderr
    with open_page(browser, 1600, 950) as page:
        page.goto(f"file://{file}")
        until(page, READY)
        assert not page.is_visible("#cut")
        page.evaluate("beside.seek(0.5)")
        shown = page.evaluate("beside.sides.map(({ model }) => model.at - model.episodes()[0].begin)")
        assert shown == pytest.approx([0.5, 0.5])  # both half a second after their failure
        rows = until(page, f"{ROWS}['mean stretch'] && {ROWS}")
        for side, path in enumerate(recordings):
            result = ended(path)
            assert float(rows["converged after"][side].split()[0]) == pytest.approx(
                result["converged_ms"], rel=0.01
            )
            assert rows["flow mods"][side] == f"{result['flow_mods']:,}"
            assert "outage of the stream" in rows
        page.evaluate("beside.seek(-1)")
        before = until(page, f"!{ROWS}['converged after'] && {ROWS}")
        for side, scheme in enumerate(SCHEMES):
            report = evaluate("bcube:2,1", [scheme]).schemes[0]
            assert float(before["mean stretch"][side]) == pytest.approx(
                report.path_lengths.stretch_mean, rel=1e-3
            )
            assert float(before["entries of a table, mean"][side]) == pytest.approx(
                report.table.entries_mean, rel=1e-3
            )
        page.click("#play")
        until(page, "beside.at > -1 && document.getElementById('play').textContent === 'Pause'")
        page.click("#play")
        page.evaluate("beside.seek(-0.001)")
        page.click("#step-on")
        assert 0 <= page.evaluate("beside.at") < 0.1
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_two_labs_have_the_same_cut(browser: Any) -> None:
    with Lab("bcube:2,1", "brp") as one, Lab("bcube:2,1", "wmgr") as other:
        words = [sys.executable, "-m", "dcnlab.cli", "view", one.config.name, other.config.name]
        serving = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert serving.stdout is not None
        url = serving.stdout.readline().strip()
        try:
            with open_page(browser, 1600, 950) as page:
                page.goto(url)
                until(page, READY)
                page.fill("#link", "h0-s9")
                page.uncheck("#stream")
                page.click("#cut-both")
                until(page, "document.getElementById('said').textContent.includes('has no link h0-s9')")
                page.fill("#link", "h0-s0")
                page.check("#stream")
                page.click("#cut-both")
                until(page, "beside.sides.every(({ model }) => model.down.size === 1)")
                assert one.info()["down"] == other.info()["down"] == [0]
                rows = until(page, f"{ROWS}['outage of the stream'] && {ROWS}['mean path, links'] && {ROWS}")
                assert rows["failure noticed after"][0].endswith(" ms")
                page.click("#restore-both")
                until(page, "beside.sides.every(({ model }) => model.down.size === 0)")
                assert one.info()["down"] == other.info()["down"] == []
        finally:
            serving.send_signal(signal.SIGINT)
            _, said = serving.communicate(timeout=120)
        assert (serving.returncode, said) == (130, "")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_figures_are_the_evaluators(scheme: str) -> None:
    beside = figures("bcube:2,1", scheme, frozenset({0}))
    assert beside["delivered"] == 100
    whole, hurt = figures("bcube:2,1", scheme, frozenset())["path_mean"], beside["path_mean"]
    assert whole is not None
    assert hurt is not None
    assert hurt >= whole


def test_two_recordings_need_files_that_are_recordings(tmp_path: Path, recordings: list[Path]) -> None:
    wrong = tmp_path / "x.rec"
    wrong.write_text("no")
    done = dcnlab("replay", str(recordings[0]), str(wrong), "--html", str(tmp_path / "x.html"))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "is not a recording" in done.stderr
