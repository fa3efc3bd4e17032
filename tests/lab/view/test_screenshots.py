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


def test_scenes_become_pictures(browser: Any, tmp_path: Path) -> None:
    """Those that wait for no traffic; `python -m tests.screenshots` makes all of them, and the film."""
    names = {"view-parallel", "view-dark"}
    with Lab("bcube:2,1", "brp") as lab, screenshots.served(lab) as url, open_page(browser) as page:
        page.goto(url)
        until(page, screenshots.READY)
        for name in sorted(names):
            screenshots.take(page, lab, name, tmp_path)
    assert {path.stem for path in tmp_path.glob("*.png")} == names
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in tmp_path.glob("*.png"))


def test_addresses_spread(browser: Any, tmp_path: Path) -> None:
    screenshots.spread(browser, tmp_path, "clot:2x2")
    assert (tmp_path / "view-addresses.png").read_bytes().startswith(b"\x89PNG")


def test_two_schemes_side_by_side(browser: Any, tmp_path: Path) -> None:
    screenshots.beside(browser, tmp_path, "bcube:2,1")
    assert (tmp_path / "view-beside.png").read_bytes().startswith(b"\x89PNG")


def test_a_recording_becomes_a_film(browser: Any, tmp_path: Path) -> None:
    with Lab("bcube:2,1", "brp") as lab:
        screenshots.film(browser, lab, tmp_path / "view.webp", frames=4)
    assert (tmp_path / "view.webp").read_bytes()[8:12] == b"WEBP"
