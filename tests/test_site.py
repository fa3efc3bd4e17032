"""What is built from the documents and the help: the documentation site, and man pages."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dcnlab.cli import app
from release import commands, links, manual, site
from tests.lab.browser import open_browser, open_page, until

ROOT = Path(__file__).parents[1]
#: What somebody looks for, and the pages of which one is to be the first result.
SEARCHED = {
    "cut a link": ["docs/commands.html", "docs/tutorial.html", "docs/view.html", "index.html"],
    "install": ["docs/installing.html"],
    "pip": ["docs/installing.html"],
}


def built(folder: Path) -> Path:
    """The site, built as `make docs` builds it: warnings are errors, links included."""
    site.write(folder / "source")
    text = (ROOT / "mkdocs.yml").read_text()
    text = text.replace("build/site-source", str(folder / "source")).replace("build/site", str(folder / "site"))
    text = text.replace("release/", f"{ROOT / 'release'}/")
    (folder / "mkdocs.yml").write_text(text.replace("paths: [.]", f"paths: [{ROOT}]"))
    line = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--config-file", str(folder / "mkdocs.yml")]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(line, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"


def test_the_site_is_built_and_can_be_read_without_a_network(tmp_path: Path) -> None:
    """One test, since each worker would build a site of its own."""
    folder = built(tmp_path)
    has_the_guides_the_course_and_the_references(folder)
    can_be_searched(folder)
    script = folder / "vendor" / "mermaid.js"
    whole = len(script.read_text()) >= 1000
    with open_browser() as browser:
        if whole:
            diagrams_and_search_take_nothing_from_elsewhere(browser, folder, with_mermaid=True)
        script.write_text(site.DIAGRAMS_AS_TEXT)
        diagrams_and_search_take_nothing_from_elsewhere(browser, folder, with_mermaid=False)
    if not whole:
        pytest.skip("npm's registry was not reached: no diagram was drawn")


def has_the_guides_the_course_and_the_references(folder: Path) -> None:
    for name in (
        "index",
        "docs/tutorial",
        "docs/scenarios",
        "course/failures/index",
        "docs/decisions/one-rule",
    ):
        assert (folder / f"{name}.html").is_file(), name
    python = (folder / "reference" / "python.html").read_text()
    assert "Lab.ping" in python or 'id="dcnlab.Lab"' in python
    options = (folder / "reference" / "commands.html").read_text()
    assert all(f"<code>{option}" in options for option in ("--link-state", "--multipath", "--fast-path"))
    assert not list(folder.rglob("solution"))


def can_be_searched(folder: Path) -> None:
    index = json.loads((folder / "search" / "search_index.json").read_text())
    assert any("convergence" in page["text"] and "glossary" in page["location"] for page in index["docs"])
    assert not any(
        "decisions/" in page["location"] or "CHANGELOG" in page["location"] for page in index["docs"]
    )
    boosts = {page["location"]: page.get("boost", 1) for page in index["docs"]}
    assert boosts["docs/installing.html"] > boosts["docs/catalogue.html"] > boosts["ARCHITECTURE.html"]


def diagrams_and_search_take_nothing_from_elsewhere(browser: Any, folder: Path, with_mermaid: bool) -> None:
    drawn = (folder / "docs" / "imports.html").read_text().count('<pre class="mermaid">')
    assert drawn > 1
    with open_page(browser) as page:
        page.goto((folder / "docs" / "imports.html").as_uri())
        until(page, f"document.querySelectorAll('div.mermaid').length === {drawn if with_mermaid else 0}")
        until(page, "document.readyState === 'complete' && !document.querySelector('pre.mermaid')")
        assert page.evaluate("document.body.innerText.includes('flowchart TD')") is not with_mermaid
        page.goto((folder / "docs" / "commands.html").as_uri())
        scrolled = (
            "[...document.querySelectorAll('pre code')].filter((one) => one.scrollWidth > one.clientWidth + 1)"
        )
        assert page.evaluate(f"{scrolled}.length") == 0
        if with_mermaid:
            for words, pages in SEARCHED.items():
                page.goto((folder / "docs" / "imports.html").as_uri())
                page.fill("[data-md-component=search-query]", words)
                first = "new URL(document.querySelector('.md-search-result__link')?.href ?? location).pathname"
                until(page, f"(names) => names.some((name) => {first}.endsWith(name))", pages)


def test_the_repository_is_linked_once_it_has_an_address() -> None:
    assert links.address("https://example.org/dcnlab.git") is None
    assert links.address("https://git.uni.edu/net/dcnlab.git") == "https://git.uni.edu/net/dcnlab"


def test_every_command_has_a_man_page(tmp_path: Path) -> None:
    assert manual.write(tmp_path) == len(app.EXAMPLES) + 1
    up = (tmp_path / "man1" / "dcnlab-up.1").read_text()
    assert "\\fB\\-\\-scheme" in up
    assert "dcnlab up bcube:4,1" in up.partition(".SH EXAMPLES")[2]
    assert "dcnlab\\-up(1)" in (tmp_path / "man1" / "dcnlab.1").read_text()
    assert "[bold]" not in "".join(path.read_text() for path in (tmp_path / "man1").iterdir())


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_groff_reads_the_man_pages(tmp_path: Path) -> None:
    manual.write(tmp_path)
    pages = sorted(map(str, (tmp_path / "man1").iterdir()))
    done = subprocess.run(
        ["groff", "-w", "mac", "-man", "-Tutf8", *pages], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert done.stdout.count("dcnlab") > len(pages)


def test_lines_that_begin_with_a_dot_stay_text() -> None:
    command = commands.Command("x", "", "dcnlab x", (".TH is text",), (), (), ("a\\b",))
    assert "\\&.TH is text" in manual.page(command)
    assert "a\\eb" in manual.page(command)
