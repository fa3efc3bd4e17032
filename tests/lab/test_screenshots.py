"""The pictures of the documents can be made.  How they look is for people; nothing compares pixels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dcnlab.lab.client import Lab
from tests import screenshots
from tests.lab.browser import open_browser, open_page, until

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("view-browser")]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as running:
        yield running


def test_each_scene_and_the_film(browser: Any, tmp_path: Path) -> None:
    with Lab("bcube:2,1", "brp") as lab, screenshots.served(lab) as url:
        with open_page(browser) as page:
            page.goto(url)
            until(page, screenshots.READY)
            for name in screenshots.SCENES:
                screenshots.take(page, lab, name, tmp_path)
        screenshots.film(browser, url, lab, tmp_path / "view.webp", frames=1)
    assert {path.stem for path in tmp_path.glob("*.png")} == set(screenshots.SCENES)
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in tmp_path.glob("*.png"))
    assert (tmp_path / "view.webp").read_bytes()[8:12] == b"WEBP"


def test_addresses_spread(browser: Any, tmp_path: Path) -> None:
    screenshots.spread(browser, tmp_path, "clot:2x2")
    assert (tmp_path / "view-addresses.png").read_bytes().startswith(b"\x89PNG")
