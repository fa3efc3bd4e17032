"""A real browser, Debian's Chromium, for tests of pages.  Nothing compares pixels."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.capabilities import lacking

CHROMIUM = shutil.which("chromium")
#: Seconds to wait for a page: a machine may be busy.
PATIENCE = 120.0


@contextlib.contextmanager
def open_browser() -> Iterator[Any]:
    """A browser; the test is skipped where there is none."""
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        lacking("chromium is not installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextlib.contextmanager
def open_page(browser: Any, width: int = 1400, height: int = 900, scheme: str = "light") -> Iterator[Any]:
    """A page; at the end, no script may have failed in it, and it may have loaded nothing from elsewhere."""
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    page.set_default_timeout(1000 * PATIENCE)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: errors.append(request.url) if _is_elsewhere(request.url) else None)
    yield page
    page.close()
    assert errors == []


def _is_elsewhere(url: str) -> bool:
    return not url.startswith(("http://127.0.0.1:", "data:", "blob:", "file:"))


def until(page: Any, condition: str, what: object = None) -> Any:
    """Wait until an expression in the page is true: its value.  An element that it names may not be there yet.
    (The page's policy forbids `eval`, which the driver's own waiting needs.)"""
    from playwright.sync_api import Error  # not installed everywhere

    end, problem = time.monotonic() + PATIENCE, ""
    while time.monotonic() < end:
        try:
            if value := page.evaluate(condition, what):
                return value
        except Error as error:
            problem = str(error)
        time.sleep(0.02)
    pytest.fail(f"never true: {condition} {problem}")


def place(page: Any, node: str) -> tuple[float, float]:
    """Where a node is in the window, in pixels."""
    at = page.evaluate(
        """(name) => {
            const { model, picture } = dcnlab, box = picture.canvas.getBoundingClientRect();
            const at = picture.camera.screen(model.nodes[model.numbers.get(name)]);
            return [box.left + at.x, box.top + at.y];
        }""",
        node,
    )
    return at[0], at[1]
