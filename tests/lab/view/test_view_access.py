"""The live picture for everybody: contrast, colour-blindness, keyboard alone, reduced motion, touch."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dcnlab.lab.client import Lab
from tests.lab.browser import open_browser, open_page, place, until
from tests.screenshots import READY, choose, served

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("view-browser")]

#: What people see who lack a kind of cone, from linear RGB (Machado, Oliveira and Fernandes 2009, severity 1).
BLINDNESS = {
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.01182, 0.04294, 0.968881],
    ],
}
#: Every text that is shown: its words, and the contrast with what is behind it (WCAG 2, 1.4.3).
CONTRASTS = """() => {
    const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const rgb = (colour, below = [255, 255, 255]) => {
        context.fillStyle = `rgb(${below.join(" ")})`;
        context.fillRect(0, 0, 1, 1);
        context.fillStyle = colour;
        context.fillRect(0, 0, 1, 1);
        return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
    };
    const behind = (element) => {
        const below = element.parentElement ? behind(element.parentElement) : [255, 255, 255];
        return rgb(getComputedStyle(element).backgroundColor, below);
    };
    const light = (colour) => colour.map((one) => one / 255)
        .map((one) => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4)
        .reduce((sum, one, index) => sum + one * [0.2126, 0.7152, 0.0722][index], 0);
    return [...document.querySelectorAll("body *")]
        .filter((one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
        .filter((one) => one.checkVisibility() && one.tagName !== "SCRIPT" && !one.disabled)
        .map((one) => {
            const below = behind(one), style = getComputedStyle(one);
            const ink = one.namespaceURI.endsWith("svg") ? style.fill : style.color;
            const [high, low] = [light(rgb(ink, below)), light(below)].sort((a, b) => b - a);
            return [one.textContent.trim().slice(0, 40), (high + 0.05) / (low + 0.05)];
        });
}"""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("bcube:2,1", "brp") as running:
        yield running


@pytest.fixture(scope="module")
def page(lab: Lab) -> Iterator[Any]:
    with open_browser() as browser, served(lab) as url, open_page(browser) as opened:
        opened.goto(url)
        until(opened, READY)
        yield opened


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_texts_can_be_read(page: Any, lab: Lab, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    lab.fail("h0", "s0")
    until(page, "dcnlab.model.down.size === 1")
    for words in ("h0", "h0 h3", "h0-s0"):
        choose(page, words)
        faint = [(text, round(ratio, 2)) for text, ratio in page.evaluate(CONTRASTS) if ratio < 4.5]
        assert faint == [], (scheme, words)
    lab.restore("h0", "s0")
    until(page, "dcnlab.model.down.size === 0")


def seen(colour: str, matrix: list[list[float]]) -> Any:
    """A colour `rgb(...)` as seen with a kind of blindness, in CIE Lab."""
    values = (
        np.array([float(part) for part in colour[colour.index("(") + 1 : -1].replace(",", " ").split()[:3]])
        / 255
    )
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    linear = np.clip(np.array(matrix) @ linear, 0, 1)
    white = np.array([0.9505, 1.0, 1.089])
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = np.cbrt(np.maximum(to_xyz @ linear / white, 0.008856))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("kind", BLINDNESS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_of_groups_differ_for_colour_blind_people(page: Any, scheme: str, kind: str) -> None:
    page.emulate_media(color_scheme=scheme)
    page.select_option("#colour", "label")
    until(page, "document.querySelectorAll('#legend b i').length === 4")
    shown = page.evaluate(
        """() => [...document.querySelectorAll("#legend b i")].map((one) => {
            const context = document.createElement("canvas").getContext("2d");
            context.fillStyle = getComputedStyle(one).backgroundColor;
            context.fillRect(0, 0, 1, 1);
            return `rgb(${[...context.getImageData(0, 0, 1, 1).data].slice(0, 3).join(" ")})`;
        })"""
    )
    colours = [seen(one, BLINDNESS[kind]) for one in shown]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(colours, 2)) > 8


def test_tab_reaches_everything_that_can_be_used(page: Any) -> None:
    choose(page, "h0 h3")
    page.evaluate("document.activeElement.blur()")
    usable = """[...document.querySelectorAll("button, input, select, summary, canvas")]
        .filter((one) => one.checkVisibility() && !one.disabled).map((one) => one.id || one.textContent)"""
    expected = set(page.evaluate(usable))
    reached = set()
    for _ in range(3 * len(expected)):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.textContent"))
    assert expected <= reached


def test_links_are_reached_and_escape_leads_back(page: Any) -> None:
    page.focus("#picture")
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowRight")
    focused = []
    for _ in range(2):
        page.keyboard.press("l")
        focused.append(page.evaluate("dcnlab.picture.marks.focus.link"))
    assert len(set(focused)) == 2
    page.keyboard.press("Enter")
    until(page, "document.querySelector('.impair')")
    page.keyboard.press("Escape")
    until(page, "!document.querySelector('#details h2')")
    assert page.evaluate("dcnlab.picture.marks.link") is None


def test_motion_is_left_out_where_it_is_unwanted(page: Any) -> None:
    page.emulate_media(reduced_motion="reduce")
    choose(page, "h0 h3")
    page.click("#trace")
    until(page, "document.querySelector('#details [role=status]')?.textContent.startsWith('answered after')")
    assert page.evaluate("[dcnlab.picture.marks.packet, dcnlab.picture.marks.path.length]") == [None, 4]
    page.emulate_media(reduced_motion="no-preference")


def test_a_phone_is_touched(page: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    until(page, "dcnlab.picture.camera.width === dcnlab.picture.canvas.getBoundingClientRect().width")
    page.keyboard.press("Escape")
    until(page, "!document.querySelector('#details h2')")
    x, y = place(page, "h0")
    page.evaluate(
        """([x, y]) => {
            for (const kind of ["pointerdown", "pointerup"]) {
                const about = { clientX: x + 10, clientY: y, pointerId: 1, pointerType: "touch" };
                dcnlab.picture.canvas.dispatchEvent(new PointerEvent(kind, about));
            }
        }""",
        [x, y],
    )
    until(page, "document.querySelector('#details h2')?.textContent === 'h0'")
    page.set_viewport_size({"width": 1400, "height": 900})
