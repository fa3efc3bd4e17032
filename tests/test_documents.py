"""Documents name what exists: generated parts are current, links lead somewhere, commands are accepted."""

from __future__ import annotations

import importlib.util
import re
import shlex
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main

import dcnlab
from addressing import registry as schemes
from dcnlab.cli import app, catalogue, loading
from dcnlab.lab.scenario import reading, reference
from release import examples, interface
from tests import architecture
from topos import registry as topologies

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *DOCS.rglob("*.md"),
        *(ROOT / "vagrant").glob("*.md"),
        *(ROOT / "course").rglob("*.md"),
    ]
)
_LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
_CODE = re.compile(r"```.*?```|`[^`\n]*`|^ {4}.*$", re.DOTALL | re.MULTILINE)
_FILE = re.compile(r"`((?:topos|addressing|hostagent|controller|dcnlab|tests|docs|examples|vagrant)/[\w./-]+)`")
_PACKAGES = "topos|addressing|hostagent|controller|dcnlab|tests|benchmarks|release"
_MODULE = re.compile(rf"python -m ((?:{_PACKAGES})[\w.]*\w)")
#: The files that CONTRIBUTING shows how to write.
EXAMPLES = {"topos/families/ring.py", "addressing/schemes/roundabout.py"}
#: A command on a line of its own: indented, after a console's prompt, or in a row of code.
_COMMAND = re.compile(r"^(?: {4}|\$ )(dcnlab .*)$", re.MULTILINE)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def anchors(page: Path) -> set[str]:
    """The fragments of a page's headings, as GitHub forms them."""
    headings = re.findall(
        r"^#+ (.*)$", re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL), re.MULTILINE
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page: Path) -> Iterator[str]:
    for link in _LINK.finditer(_CODE.sub("", page.read_text())):
        path, fragment = link.groups()
        if path.startswith(("http://", "https://")):
            continue
        target = page.parent / path if path else page
        if not target.exists() or (fragment and fragment not in anchors(target)):
            yield link[0]


def commands(text: str) -> Iterator[str]:
    """The dcnlab commands of a document, without comments, pipes and redirections."""
    for line in _COMMAND.findall(text):
        yield from (
            part.strip() for part in re.split(r"\s[|;&>]+\s?|\s2>|\s#\s", line) if part.startswith("dcnlab ")
        )


@cache
def parsers() -> dict[str, Any]:
    loading.load_all()
    by_name: dict[str, Any] = typer.main.get_command(app.app).commands  # type: ignore[attr-defined]
    return by_name


COMMANDS = sorted({(name_of(page), line) for page in PAGES for line in commands(page.read_text())})


def test_the_catalogue_is_current() -> None:
    text = (DOCS / "catalogue.md").read_text()
    assert catalogue.rewrite(text) == text, "run: python -m dcnlab.cli.catalogue docs/catalogue.md"


def test_the_diagrams_are_current() -> None:
    text = (DOCS / "imports.md").read_text()
    assert architecture.rewrite(text) == text, "run: python -m tests.architecture docs/imports.md"


def test_the_reference_of_scenarios_is_current() -> None:
    text = (DOCS / "scenarios.md").read_text()
    assert reference.rewrite(text) == text, "run: python -m dcnlab.lab.scenario.reference docs/scenarios.md"


def test_the_list_of_examples_is_current() -> None:
    """At least a dozen, and each says in its first line what it teaches."""
    paths = examples.examples()
    lessons = {examples.lesson(path) for path in paths}
    assert len(paths) == len(lessons) >= 12
    assert all(len(lesson) > 20 for lesson in lessons), 'begin each example with "# Teaches ..."'
    text = examples.PAGE.read_text()
    assert examples.rewrite(text) == text, "run: python -m release.examples"


def test_the_generated_parts_of_the_python_interface_are_current() -> None:
    """The methods of ``Lab`` for measurements, and its options for type checkers."""
    for path, text in interface.texts().items():
        assert path.read_text() == text, "run: python -m release.interface"


def test_every_key_of_scenarios_is_explained() -> None:
    rows = [row.split("|") for row in reference.markdown().splitlines() if row.startswith("| `")]
    assert [row for row in rows if not row[-2].strip()] == []


def test_the_scenario_of_the_reference_is_accepted(tmp_path: Path) -> None:
    [example] = re.findall(r"```yaml\n(.*?)```", (DOCS / "scenarios.md").read_text(), re.DOTALL)
    (tmp_path / "example.yaml").write_text(example)
    scenario = reading.read(tmp_path / "example.yaml")
    assert [str(expectation) for expectation in scenario.expect] == [
        "stream.outage_ms < 500", "fail.converged_ms < 1000", "ping.lost == 0",
    ]  # fmt: skip


def test_the_python_page_lists_the_interface() -> None:
    table = (DOCS / "python.md").read_text().partition("## Labs")[0]
    rows = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    assert sorted(name for row in rows for name in re.findall(r"`(\w+)`", row)) == sorted(dcnlab.__all__)


def test_the_readme_has_the_present_counts() -> None:
    text = " ".join((ROOT / "README.md").read_text().split())
    assert f"{len(schemes.known())} routing schemes" in text
    assert f"{len(topologies.known())} topologies" in text


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_to_something(page: Path) -> None:
    assert list(broken_links(page)) == []


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=name_of)
def test_files_and_modules_exist(page: Path) -> None:
    """Files that a document names in code; those that a reader is to write are in capitals or in EXAMPLES."""
    text = page.read_text()
    files = {name.rstrip(".:") for name in _FILE.findall(text)} - EXAMPLES
    assert [name for name in sorted(files) if "NAME" not in name and not (ROOT / name).exists()] == []
    assert [name for name in sorted(set(_MODULE.findall(text))) if importlib.util.find_spec(name) is None] == []


def test_the_index_lists_every_page() -> None:
    index = (DOCS / "README.md").read_text()
    listed = {link[1] for link in _LINK.finditer(index)}
    assert {path.name for path in DOCS.glob("*.md")} - {"README.md"} <= listed
    decisions = {link[1] for link in _LINK.finditer((DOCS / "decisions" / "README.md").read_text())}
    assert {path.name for path in (DOCS / "decisions").glob("*.md")} - {"README.md"} <= decisions


def test_the_index_of_decisions_has_their_titles() -> None:
    index = DOCS / "decisions" / "README.md"
    for title, name in re.findall(r"^- \[(.*)\]\((.*)\)$", index.read_text(), re.MULTILINE):
        assert (index.parent / name).read_text().startswith(f"# {title}\n")


def test_the_index_marks_the_pages_that_are_run() -> None:
    marked = set(re.findall(r"\]\((\w[\w-]*\.md)\)\*", (DOCS / "README.md").read_text()))
    assert marked == {
        path.name
        for path in DOCS.glob("*.md")
        if "```console\n$ " in path.read_text() or "```python\n" in path.read_text()
    }


@pytest.mark.parametrize(("page", "line"), COMMANDS)
def test_commands_are_accepted(page: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _, name, *words = shlex.split(re.sub(r" --custom \S+\.py", "", line))  # it loads the file
    if name not in parsers() and "--custom" in line:
        return  # a command that the file defines; CONTRIBUTING's own tests run it
    parsers()[name].make_context(name, words)  # raises for what it does not know


def test_the_tour_shows_every_command() -> None:
    shown = {line.split()[1] for line in commands((DOCS / "commands.md").read_text())}
    assert set(parsers()) - shown == {"heal"}, "heal is the former name of restore"


def test_one_address_of_the_repository() -> None:
    """It has to be set in three files before publishing."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for name in ("user-data", "lima.yaml"):
        assert project["urls"]["Source"] in (ROOT / "vagrant" / name).read_text()
