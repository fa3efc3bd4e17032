"""The documents with console blocks: every command in them runs, in its order, and prints what it shows."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import console

DOCS = Path(__file__).parents[2] / "docs"
EXECUTED = sorted(path.name for path in DOCS.glob("*.md") if "```console\n$ " in path.read_text())
#: A page's scenarios expect times.
PAGES = [
    pytest.param(name, marks=pytest.mark.quiet if "$ dcnlab run " in (DOCS / name).read_text() else ())
    for name in EXECUTED
]


def test_documents_are_read() -> None:
    text = "```console\n$ one | two\na\n...\n$ three  # exit 2\n```\nno `$ four`\n```console\n$ five\n```\n"
    assert list(console.steps(text)) == [
        console.Step("one | two", ("a", "...")),
        console.Step("three", (), 2),
        console.Step("five", ()),
    ]


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        (("up in 0.53 s",), "up in 12.1 s\n", True),
        (("time=11.9 ms",), "time=112 ms\n", True),
        (("h0  s1",), "h0    s1", True),
        (("240/240",), "239/240", False),
        (("a", "...", "z"), "a\nb\nc\nz\n", True),
        (("a", "..."), "b\na\n", False),
        (("10.0.0.16",), "10.0.0.17", False),
        ((), "anything", True),
    ],
)
def test_measured_numbers_may_differ_and_nothing_else(shown: tuple[str, ...], printed: str, same: bool) -> None:
    assert console.agrees(shown, printed) == same


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No other lab is seen, and the document's own are ended even when a step fails."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    yield
    console.run(console.Step("dcnlab down --all", ()))


@pytest.mark.lab
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", PAGES)
def test_a_document(name: str, alone: None) -> None:
    found = list(console.steps((DOCS / name).read_text()))
    for step in found:
        done: subprocess.CompletedProcess[str] = console.run(step)
        assert done.returncode == step.code, f"$ {step.command}\n{done.stdout}"
        assert console.agrees(step.shown, done.stdout), f"$ {step.command}\n{done.stdout}"


def test_the_tutorial_is_among_them() -> None:
    assert "tutorial.md" in EXECUTED
