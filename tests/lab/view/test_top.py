"""``dcnlab top``: readings of a real lab, and its screen in textual's own pilot."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest
from textual.pilot import Pilot
from textual.widgets import DataTable, Static

from dcnlab.lab.client import Lab
from dcnlab.lab.events.journal import Record
from dcnlab.lab.events.kinds import Converged, Event, LearnedFailures, LinkChanged, TablesChanged
from dcnlab.lab.top.convergence import Convergences
from dcnlab.lab.top.reader import Reader
from dcnlab.lab.top.screen import Top
from dcnlab.lab.top.snapshot import bar, loads, rate

TIMEOUT = 60.0
DCNLAB = (sys.executable, "-P", "-m", "dcnlab")


def test_loads_are_rates_between_two_states() -> None:
    before = {"at": 10.0, "down": [], "ends": [("h0", "s0"), ("h1", "s0")], "links": [(0, 0), (0, 0)]}
    now = {**before, "at": 12.0, "down": [0], "links": [(0, 0), (250_000, 1_000_000)]}
    busy, idle = loads(before, now)
    assert (busy.a, busy.b, busy.up, busy.to_b_mbps, busy.to_a_mbps, busy.mbps) == ("h1", "s0", True, 1, 4, 4)
    assert (idle.a, idle.up, idle.mbps) == ("h0", False, 0)
    assert [link.mbps for link in loads(None, now)] == [0, 0]


def test_bars_and_rates() -> None:
    assert [bar(value, 8, 4) for value in (0, 1, 4, 8, 9)] == ["    ", "▌   ", "██  ", "████", "████"]
    assert bar(0, 0, 2) == "  "
    assert [rate(value) for value in (0, 0.012, 3.456, 2500)] == ["0 Mb/s", "12 kb/s", "3.46 Mb/s", "2.5 Gb/s"]


def test_a_change_is_followed_until_the_lab_has_converged() -> None:
    happened: list[tuple[float, Event]] = [
        (1.0, TablesChanged("s9", 5, 0.1)),  # of the launch: no link has changed
        (2.0, LinkChanged(("h0", "s0"), 0, False, "s0:1")),
        (2.001, LinkChanged(("h0", "s1"), 1, False, "s1:1")),
        (2.003, LearnedFailures("the controller", [0, 1])),
        (2.004, TablesChanged("s0", 2, 1.0)),
        (2.005, TablesChanged("s1", 3, 1.0)),
        (2.006, LearnedFailures("all agents", [0, 1])),
        (2.007, Converged([0, 1], 6.5)),
        (3.0, LinkChanged(("h0", "s0"), 0, True, "s0:1")),
    ]
    convergences = Convergences()
    for number, (at, event) in enumerate(happened, 1):
        convergences.add(Record(number, at, at, event))
    first, second = convergences.changes
    assert first.links == ["h0-s0 down", "h0-s1 down"]
    assert (first.controller_ms, first.agents_ms, first.converged_ms) == (3.0, 6.0, 6.5)
    assert (first.switches, first.flow_mods) == (2, 5)
    assert (second.links, second.converged_ms) == (["h0-s0 up"], None)


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("bcube:2,1", scheme="brp") as made:
        yield made


def rows(app: Top, name: str) -> list[str]:
    """The rows of a table of the screen, as text."""
    table = app.query_one(f"#{name}", DataTable)
    return [" ".join(map(str, table.get_row_at(row))) for row in range(table.row_count)]


def head(app: Top) -> str:
    return str(app.query_one("#head", Static).content)


async def until(pilot: Pilot[None], condition: Callable[[], object]) -> None:
    """Wait until the screen shows something."""
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < end, "it did not appear"
        await pilot.pause(0.05)


def shown(
    lab: Lab,
    act: Callable[[Top, Pilot[None]], object],
    interval: float = 0.1,
    size: tuple[int, int] = (140, 45),
) -> None:
    """Run the screen without a terminal, and act as a user once it shows the lab."""

    async def run() -> None:
        app = Top(Reader(lab), interval)
        async with app.run_test(size=size) as pilot:
            await until(pilot, lambda: len(rows(app, "links")) == 8 and len(rows(app, "tables")) == 4)
            await act(app, pilot)  # type: ignore[misc]

    asyncio.run(run())


@pytest.mark.lab
def test_the_screen_follows_the_lab_and_its_keys_change_it(lab: Lab) -> None:
    async def act(app: Top, pilot: Pilot[None]) -> None:
        assert "bcube:2,1 with brp" in head(app)
        assert "0 of 8 links down" in head(app)
        await pilot.press("s")  # by name, so that the first row does not move
        await until(pilot, lambda: rows(app, "links")[0].startswith("h0-s0"))
        await pilot.press("home", "c")
        await until(pilot, lambda: rows(app, "links")[0].startswith("h0-s0 down"))
        assert lab.info()["down"] == [0]
        await until(pilot, lambda: rows(app, "changes") and "..." not in rows(app, "changes")[0])
        assert "h0-s0 down" in rows(app, "changes")[0]
        await until(pilot, lambda: any("h0-s0 went down: seen at" in row for row in rows(app, "events")))
        await until(pilot, lambda: "1 of 8 links down" in head(app))
        await pilot.press("r")
        await until(pilot, lambda: "0 of 8 links down" in head(app))
        assert lab.info()["down"] == []

    shown(lab, act)


@pytest.mark.lab
def test_a_small_terminal_has_all_of_the_links_and_the_keys(lab: Lab) -> None:
    async def act(app: Top, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: len(app.query("FooterKey")) > 0)
        links = app.query_one("#links", DataTable)
        assert links.virtual_size.width <= links.scrollable_content_region.width
        last = app.query("FooterKey").last()
        assert last.region.right <= app.size.width
        events = app.query_one("#events", DataTable)
        assert events.scrollable_content_region.width >= app.size.width - 4
        assert events.scrollable_content_region.height >= 5

    shown(lab, act, size=(80, 24))


@pytest.mark.lab
def test_the_busiest_link_is_first_and_a_pause_keeps_the_screen(lab: Lab) -> None:
    async def act(app: Top, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: app.snapshot is not None and app.snapshot.links[0].mbps > 0)
        first = rows(app, "links")[0]
        assert "█" in first
        assert "b/s" in first
        await pilot.press("p")
        assert "paused" in head(app)
        kept = app.snapshot
        lab.fail("h3", "s1")
        await pilot.pause(0.3)
        assert app.snapshot is kept
        await pilot.press("p")
        await until(pilot, lambda: any("down" in row for row in rows(app, "links")))
        await pilot.press("tab")
        assert app.focused is app.query_one("#tables")
        lab.restore("h3", "s1")

    words = [*DCNLAB, "exec", lab.config.name, "h0", "ping", "-q", "-i0.02", "h2"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as ping:
        try:
            shown(lab, act, interval=0.5)
        finally:
            ping.terminate()


@pytest.mark.lab
def test_what_is_no_terminal_gets_one_reading(lab: Lab) -> None:
    words = (*DCNLAB, "top", lab.config.name, "--interval", "0.1")
    said = subprocess.check_output(words, text=True, timeout=TIMEOUT)
    assert said.startswith(f"{lab.config.name}: bcube:2,1 with brp; 0 of 8 links down\n")
    assert "entries" in said
    reading = json.loads(subprocess.check_output([*words, "--json"], text=True, timeout=TIMEOUT))
    assert [sorted(reading)] == [
        ["at", "changes", "ended", "events", "links", "name", "scheme", "tables", "topology"]
    ]
    assert {one["switch"] for one in reading["tables"]} == {"s0", "s1", "s2", "s3"}
    assert {one["entries"] for one in reading["tables"]} == {len(lab.flows("s0")["flows"])}
    assert reading["events"][-1]["kind"] == "lab"


@pytest.mark.lab
def test_without_textual_one_line_says_what_to_install(lab: Lab) -> None:
    """On a terminal; without textual, it can still print one reading."""
    program = (
        "import sys; sys.modules['textual'] = sys.modules['textual.app'] = None\n"
        f"sys.argv = ['dcnlab', 'top', {lab.config.name!r}]\n"
        "from dcnlab.cli import main; main()"
    )
    ours, theirs = pty.openpty()
    try:
        ended = subprocess.run(
            [sys.executable, "-P", "-c", program], stdin=theirs, stdout=theirs, stderr=subprocess.PIPE,
            text=True, timeout=TIMEOUT, check=False,
        )  # fmt: skip
    finally:
        os.close(ours)
        os.close(theirs)
    assert ended.returncode == 2
    assert ended.stderr == "dcnlab: top needs textual: pip install 'dcnlab[top]', or use --json\n"


@pytest.mark.lab
def test_the_screen_says_that_the_lab_has_ended() -> None:
    async def act(app: Top, pilot: Pilot[None]) -> None:
        await asyncio.to_thread(ending.stop)
        await until(pilot, lambda: "the lab has ended" in head(app))
        assert len(rows(app, "links")) == 8
        await pilot.press("q")

    with Lab("bcube:2,1", scheme="brp") as ending:
        shown(ending, act)
