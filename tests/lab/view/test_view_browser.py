"""The live picture in a real browser, on a real lab."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dcnlab.lab.client import Lab
from tests import screenshots
from tests.lab.browser import PATIENCE, open_browser, open_page, place, until
from tests.lab.lines import dcnlab

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("view-browser")]

ROOT = Path(__file__).parents[3]
READY = "window.dcnlab?.model.states.length >= 2"
DOWN = "dcnlab.model.events.findLast((event) => event.kind === 'link' && !event.up)"
STATUS = "document.querySelector('#details [role=status]').textContent"
CAPTIONS = "[...document.querySelectorAll('#details figcaption')].map((one) => one.textContent)"
HEADING = "document.querySelector('#details h2')?.textContent"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("bcube:2,1", "brp") as running:
        yield running


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("view") / "lab.rec"


@contextlib.contextmanager
def serve(*words: str) -> Iterator[str]:
    """The address that a command prints; the command ends at Ctrl-C, quietly."""
    command = [sys.executable, "-m", "dcnlab.cli", *words]
    serving = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert serving.stdout is not None
        yield serving.stdout.readline().strip()
    finally:
        serving.send_signal(signal.SIGINT)
        _, said = serving.communicate(timeout=120)
    assert (serving.returncode, said) == (130, "")


@pytest.fixture(scope="module")
def url(lab: Lab, recording: Path) -> Iterator[str]:
    with serve("view", lab.config.name, "--record", str(recording)) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as running:
        yield running


@pytest.fixture
def page(browser: Any, url: str) -> Iterator[Any]:
    with open_page(browser) as opened:
        opened.goto(url)
        until(opened, READY)
        yield opened


def fail_and_restore(page: Any, lab: Lab) -> None:
    """A link goes down and up again, and the page knows all of it."""
    failed = lab.fail("h0", "s0")["links"][0]
    until(page, "(link) => dcnlab.model.down.has(link)", failed)
    lab.restore("h0", "s0")
    until(page, "dcnlab.model.down.size === 0")
    until(page, "dcnlab.model.events.at(-1).kind === 'command-ended'")


def test_a_node_a_pair_and_escape(page: Any) -> None:
    page.mouse.click(*place(page, "h0"))
    assert until(page, HEADING) == "h0"
    assert page.evaluate("getComputedStyle(dcnlab.picture.canvas).outlineStyle") == "none"
    page.mouse.click(*place(page, "h3"))
    until(page, f"{HEADING} === 'h0 → h3'")
    assert until(page, "dcnlab.picture.marks.path.length") == 4
    page.keyboard.press("Escape")
    until(page, f"!({HEADING})")
    assert page.evaluate("dcnlab.picture.marks.path.length") == 0


def test_the_drawing_cannot_get_lost(page: Any) -> None:
    fitted = page.evaluate("dcnlab.picture.camera.scale")
    page.mouse.move(500, 300)
    for _ in range(5):
        page.mouse.wheel(0, 2000)
    page.mouse.down()
    page.mouse.move(5, 5, steps=3)
    page.mouse.up()
    for _ in range(30):
        page.mouse.wheel(0, -2000)
    camera = page.evaluate("({...dcnlab.picture.camera})")
    assert camera["bounds"]["left"] <= camera["x"] <= camera["bounds"]["right"]
    assert camera["bounds"]["top"] <= camera["y"] <= camera["bounds"]["bottom"]
    page.click("#fit")
    assert page.evaluate("dcnlab.picture.camera.scale") == fitted


def test_all_by_keyboard(page: Any, lab: Lab) -> None:
    page.focus("#picture")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("dcnlab.picture.marks.focus.node") == 0
    page.keyboard.press("l")
    link = page.evaluate("dcnlab.picture.marks.focus.link")
    assert "h0" in page.evaluate("document.getElementById('said').textContent")
    page.keyboard.press("Enter")
    until(page, f"{HEADING}?.includes(' – ')")
    page.keyboard.press("c")
    until(page, "(link) => dcnlab.model.down.has(link)", link)
    assert lab.info()["down"] == [link]
    until(page, "document.querySelector('#details button.restore:enabled')")
    assert page.text_content("#down") == f"1 of {page.evaluate('dcnlab.model.links.length')}"
    page.focus("#picture")
    page.keyboard.press("c")
    until(page, "dcnlab.model.down.size === 0")
    page.keyboard.press("/")
    page.keyboard.type("h1 h2")
    page.keyboard.press("Enter")
    until(page, f"{HEADING} === 'h1 → h2'")


def test_time_goes_back_and_shows_a_convergence(page: Any, lab: Lab) -> None:
    fail_and_restore(page, lab)
    page.evaluate(f"dcnlab.timeline.choose({DOWN})")
    until(page, "document.querySelector('.convergence')")
    assert page.evaluate("dcnlab.model.down.size") == 1
    rows = page.evaluate("[...document.querySelectorAll('.convergence .who')].map((row) => row.textContent)")
    assert rows[0].endswith(" down")
    assert rows[-1] == "converged"
    page.focus("#timeline")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("dcnlab.timeline.chosen.kind") != "link"
    page.click("#live")
    assert page.evaluate("dcnlab.model.at === null && dcnlab.model.down.size === 0")


def test_next_hops_and_colours(page: Any, lab: Lab) -> None:
    page.fill("#search", "h3")
    page.press("#search", "Enter")
    page.click("#next-hops")
    until(page, "dcnlab.picture.marks.arrows.length")
    leaving = """(node) => dcnlab.picture.marks.arrows.filter((arrow) => dcnlab.model.name(arrow.from) === node)
        .map(({ link }) => dcnlab.model.linkName(link))"""
    for at, after in itertools.pairwise(lab.route("h0", "h3")):
        assert any({at, after} == set(link.split(" – ")) for link in page.evaluate(leaving, at))
    assert page.evaluate(leaving, "h3") == []
    with page.expect_download() as download:
        page.click("#svg")
    arrows = page.evaluate("dcnlab.picture.marks.arrows.length")
    assert Path(download.value.path()).read_text().count('Z" fill=') == arrows
    page.select_option("#colour", "distance")
    assert page.evaluate("new Set(dcnlab.picture.marks.colours.values()).size") == 5
    legend = "document.getElementById('legend').textContent"
    assert page.evaluate(legend) == "links from h304"
    page.select_option("#colour", "label")
    until(page, f"{legend} === 'label prefix00011011'")
    assert page.evaluate("dcnlab.picture.marks.colours.size") == 4  # servers: switches have no labels
    page.select_option("#colour", "entries")
    until(page, f"{legend}.startsWith('entries in the table')")
    assert page.evaluate("new Set(dcnlab.picture.marks.colours.values()).size") == 2
    page.select_option("#colour", "part")


def test_a_real_packet_and_parallel_paths(page: Any, lab: Lab) -> None:
    page.fill("#search", "h0 h3")
    page.press("#search", "Enter")
    page.click("#trace")
    until(page, "document.querySelector('#details [role=status]')?.textContent.startsWith('answered after')")
    shown = page.evaluate("[...document.querySelectorAll('#steps strong')].map((one) => one.textContent)")
    assert [line.split()[0] for line in shown] == lab.route("h0", "h3")
    assert len(page.query_selector_all("#steps code")) == 5
    assert page.evaluate("dcnlab.picture.marks.path.length") == 4
    page.click("#parallel")
    until(page, "dcnlab.picture.marks.paths.length === 2")
    assert page.evaluate("new Set(dcnlab.picture.marks.paths.flat()).size") == 8
    page.check("#watch")
    until(page, "document.querySelector('#details .chart figcaption')?.textContent.startsWith('RTT')")
    page.uncheck("#watch")


def test_links_that_change_leave_what_was_asked(page: Any, lab: Lab) -> None:
    page.fill("#search", "h0 h3")
    page.press("#search", "Enter")
    page.check("#watch")
    first, second = lab.route("h0", "h3")[:2]

    def fail_first(route: Any) -> None:
        lab.fail(first, second)
        route.continue_()

    page.route("**/measurements/trace", fail_first)
    page.click("#trace")
    until(page, "dcnlab.model.down.size === 1")
    until(page, f"{STATUS}.startsWith('answered after')")
    assert "by a real packet" in page.evaluate("document.querySelector('#details p').textContent")
    shown = page.evaluate("[...document.querySelectorAll('#steps strong')].map((one) => one.textContent)")
    assert [line.split()[0] for line in shown] == lab.route("h0", "h3")
    lab.restore(first, second)
    until(page, f"{STATUS} === 'Links have changed since the packet was traced.'")
    assert "by the tables" in page.evaluate("document.querySelector('#details p').textContent")
    assert page.is_checked("#watch")
    page.fill("#search", "h3")
    page.press("#search", "Enter")
    page.click("#next-hops")
    until(page, "dcnlab.picture.marks.arrows.length")
    before = page.evaluate("dcnlab.picture.marks.arrows.map(({ link }) => link)")
    lab.fail(first, second)
    until(
        page,
        "(before) => { const { arrows } = dcnlab.picture.marks;"
        " return arrows.length && arrows.some(({ link }) => !before.includes(link)); }",
        before,
    )
    lab.restore(first, second)
    until(page, "dcnlab.model.down.size === 0")


def test_rates_are_rounded_before_their_unit(page: Any) -> None:
    """A rate just below 1 Mb/s was `1.00e+3 kb/s`."""
    rates = [0, 999, 999.9, 12_345, 999_400, 999_600, 1e9, 2e13]
    shown = page.evaluate(
        "async (rates) => rates.map((await import(new URL('dom.js', document.baseURI))).bits)", rates
    )
    assert shown == [
        "0", "999 b/s", "1.00 kb/s", "12.3 kb/s", "999 kb/s", "1.00 Mb/s", "1.00 Gb/s", "20.0 Tb/s",
    ]  # fmt: skip


def test_credits_and_buffers_fill(browser: Any) -> None:
    options = {"flow_control": "credits", "buffers": 4, "rate": "1Mbit"}
    with (
        Lab("clot:2x2", "pow", **options) as lab,
        screenshots.served(lab) as url,
        open_page(browser) as page,
        screenshots.flowing() as flow,
    ):
        page.goto(url)
        until(page, "[...document.getElementById('colour').options].some((one) => one.value === 'buffers')")
        page.select_option("#colour", "buffers")
        flow(lab, "h0", "h3")
        busiest = until(
            page,
            """[...dcnlab.picture.marks.links].filter(([, share]) => share >= 0.5)
                .map(([link]) => dcnlab.model.linkName(link).replace(" – ", "-"))[0]""",
        )
        page.fill("#search", busiest)
        page.press("#search", "Enter")
        until(page, "document.querySelectorAll('#details .channels .meter').length >= 2")
        until(page, f"{CAPTIONS}.some((text) => /^credits used: at most [1-9]/.test(text))")
        one = next(one for one in lab.buffers().channels if one.limit)
        assert (one.limit, one.channel) in ((4, "adaptive"), (4, "escape"), (1, "adaptive"), (1, "escape"))
        assert one.neighbour != one.server


def test_a_notebook_shows_the_lab(lab: Lab) -> None:
    down = lab.fail("h0", "s0")["links"]
    shown = lab._repr_html_()
    lab.restore("h0", "s0")
    assert shown is not None
    assert f"{len(down)} of 8 links down" in shown
    assert shown.count('class="cut"') == len(down)
    assert Lab("bcube:2,1", name="no-such-lab")._repr_html_() is None


def test_measurements_start_from_the_picture(page: Any) -> None:
    page.fill("#search", "h0 h3")
    page.press("#search", "Enter")
    until(page, f"{HEADING} === 'h0 → h3'")
    page.click("#details button:has-text('ping')")
    until(page, "/rtt|sent|lost/.test(document.querySelector('#details [role=status]').textContent)")
    until(page, "dcnlab.model.events.some((e) => e.kind === 'measurement-ended' && e.name === 'ping')")


@pytest.mark.parametrize(("kind", "start"), [("svg", b"<svg"), ("png", b"\x89PNG")])
def test_the_picture_can_be_kept(page: Any, kind: str, start: bytes) -> None:
    with page.expect_download() as download:
        page.click(f"#{kind}")
    assert download.value.suggested_filename.endswith(f".{kind}")
    assert Path(download.value.path()).read_bytes().startswith(start)


@pytest.mark.parametrize("size", [(390, 844), (1400, 900), (2560, 1440)])
def test_the_page_fits_its_window(page: Any, size: tuple[int, int]) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    until(page, "(width) => innerWidth === width", size[0])
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    until(page, "dcnlab.picture.camera.width === dcnlab.picture.canvas.getBoundingClientRect().width")
    wanted = "(() => { const one = document.getElementById('colour').cloneNode(true);"
    wanted += (
        " one.style.cssText = 'width: auto; position: fixed; font-size: .8rem'; document.body.append(one);"
    )
    wanted += " const { width } = one.getBoundingClientRect(); one.remove(); return width; })()"
    assert page.evaluate(f"document.getElementById('colour').getBoundingClientRect().width + 1 >= {wanted}")
    for node in ("h0", "h3", "s3"):
        x, y = place(page, node)
        assert page.evaluate("([x, y]) => document.elementFromPoint(x, y).id", [x, y]) == "picture"
    page.set_viewport_size({"width": 1400, "height": 900})


def test_a_recording_shows_the_same_without_the_lab(
    page: Any, browser: Any, lab: Lab, recording: Path, tmp_path: Path
) -> None:
    fail_and_restore(page, lab)
    numbers = "dcnlab.model.events.map((event) => event.number)"
    last = page.evaluate(f"{numbers}.at(-1)")
    while f'"number":{last},' not in recording.read_text():
        time.sleep(0.02)
    alone = tmp_path / "alone.html"
    written = json.loads(dcnlab("replay", recording, "--html", alone, "--json").stdout)
    assert written["messages"] > last
    with serve("replay", str(recording)) as served:
        for address in (f"file://{alone}", served):
            with open_page(browser) as replayed:
                replayed.goto(address)
                until(replayed, READY)
                assert last in replayed.evaluate(numbers)
                replayed.evaluate(f"dcnlab.timeline.choose({DOWN})")
                until(replayed, "document.querySelector('.convergence')")
                assert replayed.evaluate("dcnlab.model.down.size") == 1
                assert not replayed.query_selector("#details button.cut")


@pytest.fixture(scope="module")
def failure(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The page of a recording in which the first link of a stream's path is cut."""
    folder = tmp_path_factory.mktemp("failure")
    with Lab("bcube:2,1", "brp") as lab:
        screenshots.record(lab, folder / "lab.rec")
    dcnlab("replay", folder / "lab.rec", "--html", folder / "lab.html").check_returncode()
    with open_page(browser) as opened:
        opened.goto(f"file://{folder / 'lab.html'}")
        until(opened, READY)
        yield opened


FIRST = "dcnlab.model.events.find((event) => event.kind === 'link' && !event.up)"
SAID = "document.getElementById('happening').textContent"


def test_play_begins_a_second_before_the_failure(failure: Any) -> None:
    failure.click("#play")
    until(failure, "dcnlab.playback.playing && dcnlab.model.at !== null")
    begin = failure.evaluate("dcnlab.model.episodes()[0].begin")
    assert begin - 1 <= failure.evaluate("dcnlab.model.at") < failure.evaluate(f"{FIRST}.clock")
    failure.click("#play")
    assert not failure.evaluate("dcnlab.playback.playing")
    speeds = "[...document.querySelectorAll('#speed option')].map((one) => one.value)"
    assert {"0.01", "0.1", "1", "10"} <= set(failure.evaluate(speeds))


@pytest.mark.parametrize("speed", [0.01, 0.1, 2, 10])
def test_play_is_as_fast_as_chosen(failure: Any, speed: float) -> None:
    failure.select_option("#speed", str(speed))
    failure.evaluate("dcnlab.playback.rewind()")
    before = failure.evaluate("dcnlab.model.at")
    failure.evaluate("dcnlab.playback.advance(0.05)")
    assert failure.evaluate("dcnlab.model.at") - before == pytest.approx(0.05 * speed)


def test_failures_are_slow_and_stepped_through(failure: Any) -> None:
    failure.select_option("#speed", "failures")
    failure.evaluate("dcnlab.playback.rewind()")
    steps = failure.evaluate("dcnlab.model.episodes()[0].parts.length")
    said = []
    for _ in range(steps + 1):
        failure.click("#step-on")
        said.append(failure.evaluate(SAID))
    assert said[0].startswith("Cut h0–s")
    assert any("notices" in text for text in said)
    assert "converged, 1 link down" in said[-1]
    seconds = (
        "(() => { let n = 0; dcnlab.playback.rewind(); while (dcnlab.model.at < dcnlab.model.episodes()[0].end)"
    )
    assert failure.evaluate(f"{seconds} {{ dcnlab.playback.advance(0.05); n += 0.05; }} return n; }})()") > 3


def test_packets_die_in_a_cut_link_and_nodes_light_up(failure: Any) -> None:
    """What moves, at three times: all from the states and events of the recording."""
    marked = """(where) => {
        const { model, playback } = dcnlab, { begin, end, parts } = model.episodes()[0];
        const at = { before: begin - 0.5, during: (begin + parts[0].clock) / 2, after: end + 0.01 }[where];
        playback.seek(at);
        const painted = [], picture = dcnlab.picture, { dot } = playback.motion;
        const ring = picture.ring;
        playback.motion.dot = (path, link, t, size) => painted.push(link);
        const rings = [];
        picture.ring = (context, node, colour) => rings.push([model.name(node), colour]);
        picture.marks.motion = null;
        playback.motion.paint(picture.context, picture);
        picture.ring = ring;
        delete playback.motion.dot;
        return { links: [...new Set(painted)], rings, cut: parts[0].link_number };
    }"""
    before, during, after = (failure.evaluate(marked, when) for when in ("before", "during", "after"))
    assert before["cut"] in before["links"]
    assert not before["rings"]
    assert during["cut"] in during["links"]
    assert after["links"]
    assert after["cut"] not in after["links"]
    lit = dict(after["rings"])
    assert {f"h{index}" for index in range(4)} <= lit.keys()
    assert any(name.startswith("s") for name in lit)


def test_question_mark_shows_the_keys(failure: Any) -> None:
    shown = "document.querySelector('footer details').open"
    failure.keyboard.press("?")
    assert failure.evaluate(shown)
    failure.keyboard.press("?")
    assert not failure.evaluate(shown)


def test_targets_on_a_phone_have_44_pixels(failure: Any) -> None:
    failure.set_viewport_size({"width": 390, "height": 844})
    small = """[...document.querySelectorAll('button, select, #search')].filter((one) => one.offsetParent)
        .map((one) => one.getBoundingClientRect())
        .filter(({ width, height }) => width < 44 || height < 44).length"""
    until(failure, "innerWidth === 390")
    assert failure.evaluate(small) == 0
    failure.set_viewport_size({"width": 1400, "height": 900})


def test_a_row_of_a_node_has_both_directions(failure: Any) -> None:
    screenshots.choose(failure, "h0")
    rows = "[...document.querySelectorAll('#details td[data-link]')].map((cell) => cell.textContent)"
    assert all(text == "cut" or ("out" in text and "in" in text) for text in failure.evaluate(rows))
    failure.keyboard.press("Escape")


def test_a_running_lab_plays_its_last_failure(page: Any, lab: Lab) -> None:
    fail_and_restore(page, lab)
    until(page, "dcnlab.model.at === null && dcnlab.model.states.length > 2")
    page.click("#play")
    until(page, "dcnlab.playback.playing && dcnlab.model.at !== null")
    page.keyboard.press("p")
    assert not page.evaluate("dcnlab.playback.playing")
    page.click("#live")
    assert page.evaluate("dcnlab.model.at === null && dcnlab.picture.marks.motion === null")


def test_a_drawn_page_shows_next_hops_without_a_lab(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "drawn.html"
    words = ["draw", "dcell:3,1", "--scheme", "dfr", "--source", "h0", "--destination", "h5", "-o", str(path)]
    dcnlab(*words).check_returncode()
    with open_page(browser) as drawn:
        drawn.goto(f"file://{path}")
        until(drawn, "window.dcnlab?.picture.marks.arrows.length")
        assert drawn.evaluate("dcnlab.picture.marks.path.length") > 0
        assert "4 cells" in drawn.text_content("#caption")
        assert not drawn.is_visible("#timeline")
        assert drawn.evaluate("document.getElementById('colour').value") == "part"
        assert drawn.evaluate("new Set(dcnlab.picture.marks.colours.values()).size") == 4
        drawn.mouse.click(*place(drawn, "h4"))
        until(drawn, f"{HEADING} === 'h4'")
        drawn.keyboard.press("Escape")
        until(drawn, f"!({HEADING})")
        assert drawn.evaluate("dcnlab.picture.marks.arrows.length") > 0


def test_a_link_is_impaired_from_the_picture(page: Any, lab: Lab) -> None:
    page.fill("#search", "h1-s0")
    page.press("#search", "Enter")
    page.fill(".impair input[name=rate]", "fast")
    page.click(".impair button[type=submit]")
    until(page, "document.querySelector('#details .problem')?.textContent.includes('rate')")
    page.fill(".impair input[name=rate]", "50Mbit")
    page.click(".impair button[type=submit]")
    until(page, "document.querySelector('#details [role=status]').textContent.includes('rate 50Mbit')")
    assert [(one.link, dict(one.impairments)) for one in lab.impairments()] == [
        (("h1", "s0"), {"rate": "50Mbit"})
    ]
    page.click(".impair button:has-text('Clear')")
    until(page, "document.querySelector('#details [role=status]').textContent === 'not impaired'")
    assert lab.impairments() == []


def test_packets_of_a_node_are_kept(page: Any, lab: Lab) -> None:
    page.fill("#search", "h0")
    page.press("#search", "Enter")
    with page.expect_download() as download:
        page.click("#capture")
        lab.ping("h0", "h1")
    assert download.value.suggested_filename == "h0.pcapng"
    assert Path(download.value.path()).read_bytes().startswith(b"\x0a\x0d\x0d\x0a")


SCENARIO = """
title: one ping
topology: bcube:2,1
scheme: brp
traffic:
  - ping: h0 -> h3
expect:
  - ping.lost == 0
"""


def test_a_scenario_runs_from_the_picture(page: Any, tmp_path: Path) -> None:
    page.keyboard.press("Escape")
    page.click(".scenario summary")
    file = tmp_path / "one.yaml"
    for text, said in ((SCENARIO, "All expectations hold."), ("title: [", "scenario.yaml")):
        file.write_text(text)
        page.set_input_files(".scenario input[type=file]", str(file))
        until(
            page, "(said) => document.querySelector('.scenario [role=status]').textContent.includes(said)", said
        )


def test_a_proof_starts_from_the_picture_and_shows_violations(page: Any, lab: Lab) -> None:
    page.keyboard.press("Escape")
    status = "(said) => document.querySelector('.verify [role=status]').textContent.includes(said)"
    page.click("text=Verify tables")
    until(page, status, "Holds for all packets of 12 pairs.")
    control = ["ovs-ofctl", "-O", "OpenFlow13"]
    planted = "priority=60000,udp,nw_dst=10.0.0.1"
    assert lab.run("s0", [*control, "add-flow", "s0", f"{planted},actions=drop"]).returncode == 0
    try:
        page.click("text=Verify tables")
        until(page, status, "1 violation:")
        shown = page.text_content(".verify ul")
        assert "lost: its entry drops it" in shown
        assert f"{planted} actions=drop" in shown
        page.click(".verify li button")
        until(page, "dcnlab.picture.marks.paths[0].length > 0")
        if folder := os.environ.get("DCNLAB_PICTURES"):
            page.screenshot(path=f"{folder}/verify.png")
    finally:
        lab.run("s0", [*control, "--strict", "del-flows", "s0", planted])
    page.click("text=Verify tables")
    until(page, status, "Holds")


def screen(page: Any) -> str:
    """What the terminal shows."""
    return str(
        page.evaluate(
            """() => {
                const buffer = dcnlab.terminal.screen?.buffer.active;
                return buffer ? [...Array(buffer.length).keys()]
                    .map((row) => buffer.getLine(row).translateToString(true)).join("\\n") : "";
            }"""
        )
    )


def shows(page: Any, text: str) -> None:
    end = time.monotonic() + PATIENCE
    while text not in (shown := screen(page)):
        assert time.monotonic() < end, shown
        time.sleep(0.05)


@pytest.fixture
def assets() -> None:
    """xterm.js, which needs npm and its registry once."""
    made = subprocess.run([sys.executable, str(ROOT / "assets" / "build.py")], capture_output=True, text=True)
    if made.returncode:
        pytest.skip(made.stderr.strip())


def test_a_terminal_in_a_node(page: Any, lab: Lab, assets: None) -> None:
    page.fill("#search", "h2")
    page.press("#search", "Enter")
    page.click("#open-terminal")
    until(page, "dcnlab.terminal.screen")
    page.click("#terminal .screen")
    page.keyboard.type("echo sum=$((20 + 22)); tty; stty size; ip -o link | wc -l\n")
    shows(page, "sum=42")
    shows(page, "/dev/pts/")
    rows = page.evaluate("`${dcnlab.terminal.screen.rows} ${dcnlab.terminal.screen.cols}`")
    shows(page, rows)
    page.keyboard.type("exec -a shown-in-test sleep 1000\n")
    end = time.monotonic() + PATIENCE
    while not (running := lab.run("h2", ["pgrep", "-f", "shown-in-tes[t]"]).stdout.split()):
        assert time.monotonic() < end
    page.click("#close-terminal")
    while lab.run("h2", ["kill", "-0", running[0]]).returncode == 0:
        assert time.monotonic() < end
    assert page.evaluate("document.getElementById('terminal').hidden")


def test_without_xterm_a_line_says_what_is_missing(page: Any) -> None:
    page.route("**/vendor/**", lambda route: route.fulfill(status=404))
    page.fill("#search", "h2")
    page.press("#search", "Enter")
    page.click("#open-terminal")
    until(page, "document.querySelector('#terminal .command code')?.textContent.endsWith(' h2 bash')")
