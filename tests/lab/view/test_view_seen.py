"""What a reader sees of the live picture, in a real browser: names, scales, episodes, search, undo, a phone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.instruments.counting.history import SPAN, Readings
from dcnlab.lab.operations.history import History
from tests import screenshots
from tests.lab.browser import open_browser, open_page, place, until
from tests.lab.lines import dcnlab
from tests.ovs import poll

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("view-browser")]

READY = "window.dcnlab?.model.states.length >= 3"
OFFERED = "document.querySelector('#undo:not([hidden])')?.textContent"
STAGE = "document.getElementById('stage').getBoundingClientRect()"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("bcube:2,1", "brp", rate="100Mbit") as running:
        yield running


@pytest.fixture(scope="module")
def url(lab: Lab) -> Iterator[str]:
    with screenshots.served(lab) as address:
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


@pytest.fixture(scope="module")
def drawn(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Pages of networks that do not run, by their specification and the size of the window."""
    folder: Path = tmp_path_factory.mktemp("drawn")

    def shown(page: Any, spec: str) -> None:
        file = folder / f"{spec.replace(':', '-')}.html"
        dcnlab("draw", spec, "-o", file).check_returncode()
        page.goto(f"file://{file}")
        until(page, "window.dcnlab?.picture.copied")

    return shown


# --- what has happened ------------------------------------------------------------------


def test_the_last_minutes_are_kept_within_their_bounds() -> None:
    kept = Readings()
    for second in range(2000):
        kept.add(float(second), (second % 3,), [(second, 2 * second)])
    samples = kept.read(most=5000)
    assert [one.at for one in samples] == [float(second) for second in range(1999 - int(SPAN), 2000)]
    assert samples[-1] == {"at": 1999.0, "down": [1], "links": [[1999, 3998]]}
    assert len(kept.read()) <= 300
    assert kept.read()[-1] == samples[-1]
    many = Readings()
    for second in range(10):
        many.add(float(second), (), [(0, 0)] * 300_000)
    assert [one.at for one in many.read()] == [7.0, 8.0, 9.0]


def test_a_page_opened_later_shows_what_was_before(browser: Any, lab: Lab, url: str) -> None:
    lab.ping("h0", "h3")
    poll(lambda: len(lab.perform(History()).readings) >= 4, 30)
    opened = time.monotonic()
    with open_page(browser) as later:
        later.goto(url)
        until(later, "window.dcnlab?.model.states.length >= 4")
        times = later.evaluate("dcnlab.model.states.map(({ at }) => at)")
        assert times == sorted(times)
        assert len([at for at in times if at < opened]) >= 4


def test_an_episode_is_a_sentence_that_expands_to_its_events(page: Any, lab: Lab) -> None:
    lab.fail("h1", "s0")
    sentence = "document.querySelector('.latest > li .plain').textContent"
    until(page, f"{sentence}.startsWith('Cut h1-s0: noticed after')")
    page.click(".latest > li:first-child .more")
    rows = "[...document.querySelectorAll('.latest > li:first-child ol .plain')].map((one) => one.textContent)"
    shown = page.evaluate(rows)
    assert shown[0] == "fail link h1 s0"
    assert any(text.startswith("h1-s0 went down") for text in shown)
    assert any(text.startswith("Converged after") for text in shown)
    assert shown[-1] == page.evaluate(sentence)
    assert not [text for text in shown if "null" in text or "{" in text or "=" in text]
    lab.restore("h1", "s0")
    until(page, f"{sentence}.startsWith('Restored h1-s0')")
    opened = "[...document.querySelectorAll('.latest .more')].map((one) => one.ariaExpanded)"
    assert page.evaluate(opened)[:2] == ["false", "true"]  # what is expanded stays so


def test_links_that_fail_without_a_command_are_an_episode(page: Any, lab: Lab, tmp_path: Path) -> None:
    go = tmp_path / "go"  # the command that starts the program has ended before the link fails
    later = f"(until [ -e {go} ]; do sleep 0.02; done; ip link set h2-eth1 down) >/dev/null 2>&1 &"
    lab.run("h2", ["sh", "-c", later])
    go.touch()
    sentences = "[...document.querySelectorAll('.latest > li > .plain')].map((one) => one.textContent)"
    try:
        said = until(page, f"{sentences}.find((text) => /went down.*Converged/.test(text))")
        assert said.startswith("h2-")
    finally:
        lab.run("h2", ["ip", "link", "set", "h2-eth1", "up"])
        until(page, "dcnlab.model.down.size === 0")


def test_failed_flows_are_red(page: Any) -> None:
    red = """async () => (await import(new URL('journal.js', document.baseURI))).hasFailed"""
    failed = f"""async () => {{ const failed = await ({red})();
        const ended = [{{ figures: {{ failed: 1 }} }}, {{ figures: {{ failed: 0 }} }}, {{ error: "no" }}];
        return ended.map(failed); }}"""
    assert page.evaluate(failed) == [True, False, True]
    style = "getComputedStyle(document.querySelector('.problem') ?? document.body.appendChild(Object.assign("
    style += "document.createElement('p'), { className: 'problem' }))).color"
    cut = "(() => { const one = document.createElement('i'); one.style.color = 'var(--cut)';"
    cut += (
        " document.body.append(one); const { color } = getComputedStyle(one); one.remove(); return color; })()"
    )
    assert page.evaluate(style) == page.evaluate(cut)


# --- scales -----------------------------------------------------------------------------------


def test_charts_have_one_time_axis_a_maximum_and_least_scales(page: Any, lab: Lab) -> None:
    lab.ping("h0", "h3")
    screenshots.choose(page, "h0")
    charts = (
        "[...document.querySelectorAll('#details .chart svg')].map((one) => [...one.querySelectorAll('text')]"
    )
    charts += ".map((text) => text.textContent))"
    until(page, f"{charts}.length >= 2")
    shown = page.evaluate(charts)
    assert len({(begin, end) for _, begin, end in shown}) == 1
    assert shown[0][0].endswith("b/s")  # what the top of the chart is
    page.keyboard.press("Escape")
    idle = page.evaluate(
        """async () => {
            const { loadChart } = await import(new URL('charts.js', document.baseURI));
            const axis = { from: 0, until: 10, at: null, wall: (at) => at };
            const box = document.createElement('div');
            loadChart(box, [{ at: 1, value: 300 }, { at: 2, value: 900 }], 'idle', axis);
            return [box.querySelector('.most').textContent, box.querySelector('figcaption').textContent];
        }"""
    )
    assert idle == ["100 kb/s", "idle: at most 900 b/s"]
    before = page.evaluate(f"{charts}[0]")
    page.hover("#timeline")
    page.mouse.wheel(0, -600)
    until(page, f"(before) => {charts}[0][1] !== before", before[1])  # the axis of the timeline
    page.mouse.wheel(0, 600)


# --- the picture ----------------------------------------------------------------------------------


def test_a_cut_link_has_its_word_also_when_it_is_chosen(page: Any, lab: Lab) -> None:
    number = lab.fail("h0", "s0")["links"][0]
    until(page, "(link) => dcnlab.model.down.has(link)", number)
    painted = """(marks) => {
        const { picture } = dcnlab, words = [], colours = [], { word } = picture;
        picture.word = (context, text) => words.push(text);
        const { setLineDash } = picture.context;
        picture.context.setLineDash = (dash) => { if (dash.length) colours.push(picture.context.strokeStyle); };
        Object.assign(picture.marks, marks);
        picture.paintMarks();
        picture.word = word;
        delete picture.context.setLineDash;
        Object.assign(picture.marks, { link: null, hover: null });
        return [words, new Set(colours).size];
    }"""
    assert page.evaluate(painted, {"link": number}) == [["cut"], 1]
    assert page.evaluate(painted, {"hover": {"link": number}}) == [["cut"], 1]
    lab.restore("h0", "s0")
    until(page, "dcnlab.model.down.size === 0")


def test_a_chosen_link_shows_its_impairments(page: Any, lab: Lab) -> None:
    lab.impair("h1", "s0", delay="20ms", loss="5%")
    until(page, "dcnlab.model.impaired.size === 1")
    title = "dcnlab.picture.title({ link: [...dcnlab.model.impaired.keys()][0] })"
    assert page.evaluate(title).endswith("of 100 Mb/s · 20 ms, 5 %")
    lab.impair("h1", "s0", clear=True)
    until(page, "dcnlab.model.impaired.size === 0")


def test_what_is_under_the_pointer_is_named_beside_it(page: Any) -> None:
    for node in ("h0", "s3"):
        x, y = place(page, node)
        page.mouse.move(x, y)
        box = until(
            page,
            """(name) => { const tip = document.getElementById('tip'), box = tip.getBoundingClientRect();
                return tip.textContent.startsWith(name) && [box.left, box.top, box.right, box.bottom]; }""",
            node,
        )
        assert max(box[0] - x, x - box[2], 0) < 40
        assert max(box[1] - y, y - box[3], 0) < 40
    page.mouse.move(2, 2)
    until(page, "document.getElementById('tip').textContent === ''")


def test_the_legend_says_what_the_nodes_of_a_part_share(page: Any, browser: Any, drawn: Any) -> None:
    words = "[...document.querySelectorAll('#legend b')].map((one) => one.textContent)"
    assert page.evaluate(words) == ["shares level-0 switch s0", "shares level-0 switch s1"]
    with open_page(browser) as other:
        drawn(other, "fattree:4")
        assert other.evaluate(words) == ["pod 0", "pod 1", "pod 2", "pod 3"]


@pytest.mark.parametrize("size", [(1400, 900), (2560, 1440), (390, 844)])
@pytest.mark.parametrize("spec", ["bcube:4,1", "torus:6x6", "fattree:8", "star:5"])
def test_the_layout_fills_the_window(browser: Any, drawn: Any, size: tuple[int, int], spec: str) -> None:
    with open_page(browser, *size) as page:
        drawn(page, spec)
        left, top, right, bottom, radius, width, height = page.evaluate(
            """(() => {
                const { camera, geometry } = dcnlab.picture, { bounds } = geometry;
                const from = camera.screen({ x: bounds.left, y: bounds.top });
                const to = camera.screen({ x: bounds.right, y: bounds.bottom });
                const radius = geometry.radius * camera.scale;
                return [from.x, from.y, to.x, to.y, radius, camera.width, camera.height];
            })()"""
        )
        assert min(left, top, width - right, height - bottom) >= 32 - 1e-6
        assert radius <= 28 + 1e-6
        room = page.evaluate("dcnlab.picture.geometry.room * dcnlab.picture.camera.scale")
        assert radius >= min(10, room) - 1e-6
        filled = max((right - left + 2 * radius) / (width - 64), (bottom - top + 2 * radius) / (height - 64))
        assert filled > 0.9
        if page.evaluate("dcnlab.picture.geometry.isLayered") and size == (1400, 900):
            assert bottom - top > 0.75 * (height - 64)


def test_names_do_not_vanish_at_2560_pixels(browser: Any, drawn: Any) -> None:
    with open_page(browser, 2560, 1440) as page:
        drawn(page, "bcube:8,2")
        nodes = page.evaluate("dcnlab.model.nodes.length")
        assert nodes == 704
        inside = page.evaluate("dcnlab.model.nodes.filter(({ name }) => dcnlab.picture.fits(name)).length")
        assert inside + page.evaluate("dcnlab.picture.named ?? 0") > nodes / 4
        drawn(page, "fattree:8")
        assert page.evaluate("dcnlab.picture.fits('s79')") or page.evaluate("dcnlab.picture.named") > 40


def test_small_hosts_are_badges_of_their_switch_until_one_zooms_in(browser: Any, drawn: Any) -> None:
    with open_page(browser) as page:
        drawn(page, "fattree:8")
        assert page.evaluate("dcnlab.picture.geometry.folded")
        assert page.is_visible("#folded")
        x, y = place(page, "s0")
        page.mouse.move(x, y)
        until(page, "document.getElementById('tip').textContent.endsWith('· 4 hosts')")
        for _ in range(12):
            page.mouse.wheel(0, -300)
        until(page, "!dcnlab.picture.geometry.folded && document.getElementById('folded').hidden")
        page.keyboard.press("0")
        until(page, "dcnlab.picture.geometry.folded")
        drawn(page, "fattree:4")
        assert not page.evaluate("dcnlab.picture.geometry.folded")


# --- what one does ----------------------------------------------------------------------------------


def test_the_search_proposes_what_would_fit(page: Any) -> None:
    items = "[...document.querySelectorAll('#proposals b')].map((one) => one.textContent)"
    page.click("#search")
    page.keyboard.type("h")
    until(page, f"{items}.join() === 'h0,h1,h2,h3'")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.get_attribute("#search", "aria-activedescendant") == "proposal-1"
    page.keyboard.press("Enter")
    until(page, "document.querySelector('#details h2')?.textContent === 'h1'")
    page.fill("#search", "h0-")
    until(page, f"{items}.join() === 'h0-s0,h0-s2'")
    page.click("#proposals li:nth-child(2)")
    until(page, "document.querySelector('#details h2')?.textContent === 'h0 – s2'")
    page.fill("#search", "h0 s")
    until(page, f"{items}.join() === 'h0 s0,h0 s1,h0 s2,h0 s3'")
    page.keyboard.press("Escape")
    assert not page.is_visible("#proposals")
    page.fill("#search", "nothing")
    page.press("#search", "Enter")
    until(page, "document.getElementById('tip').textContent === 'there is no nothing here'")


def test_a_chosen_path_comes_into_view(page: Any) -> None:
    page.mouse.move(*place(page, "s1"))
    for _ in range(8):
        page.mouse.wheel(0, -300)
    hidden = """(nodes) => { const { camera, model } = dcnlab.picture;
        return nodes.map((node) => camera.screen(model.nodes[node])).filter(({ x, y }) =>
            x < 0 || y < 0 || x > camera.width || y > camera.height).length; }"""
    assert page.evaluate(hidden, list(range(8))) > 0
    screenshots.choose(page, "h0 h3")
    until(page, "dcnlab.picture.marks.path.length === 4")
    on_path = "dcnlab.picture.marks.path.map((link) => dcnlab.model.links[link]).flatMap(({ a, b }) => [a, b])"
    assert page.evaluate(hidden, page.evaluate(on_path)) == 0
    page.keyboard.press("Escape")
    page.keyboard.press("0")


def test_the_last_cut_is_undone(page: Any, lab: Lab) -> None:
    for undo in (lambda: page.click("#undo"), lambda: page.keyboard.press("u")):
        screenshots.choose(page, "h0-s0")
        page.click("#details button.cut")
        until(page, f"{OFFERED} === 'Undo the cut of h0 – s0'")
        page.focus("#picture")
        undo()
        until(page, "dcnlab.model.down.size === 0")
        until(page, "document.getElementById('undo').hidden")
        assert lab.info()["down"] == []
    screenshots.choose(page, "s2")
    page.click("text=Cut all its links")
    until(page, f"{OFFERED} === 'Undo the cut of 2 links'")
    page.click("#undo")
    until(page, "dcnlab.model.down.size === 0")


def test_on_a_phone_the_panel_is_a_sheet_at_the_bottom(browser: Any, url: str) -> None:
    with open_page(browser, 390, 844) as page:
        page.goto(url)
        until(page, READY)
        top = "document.querySelector('aside').getBoundingClientRect().top"
        low = page.evaluate(top)
        assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
        assert page.evaluate(f"{STAGE}.bottom") <= low
        page.click("#sheet")
        until(page, f"(low) => {top} < low - 200", low)
        page.click("#sheet")
        until(page, f"(low) => {top} === low", low)
        page.mouse.click(*place(page, "h0"))
        until(page, f"(low) => {top} < low - 200", low)  # what was chosen is shown
        until(page, f"{STAGE}.bottom <= {top} + 1 && {STAGE}.height > 150")  # and the picture above it
        for node in ("h0", "h3", "s3"):
            x, y = place(page, node)
            assert page.evaluate("([x, y]) => document.elementFromPoint(x, y).id", [x, y]) == "picture"
        assert page.evaluate("document.querySelector('#details h2').textContent") == "h0"
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
