"""The documents with console blocks: every command runs, in order, and prints what the document shows."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import console
from tests.lab import forked

ROOT = Path(__file__).parents[3]
README = "README.md"
EXECUTED = sorted(
    str(path.relative_to(ROOT))
    for path in (ROOT / README, *(ROOT / "docs").glob("*.md"))
    if "```console\n$ " in path.read_text()
)
#: Scenarios launch labs of their own and check times, so they run apart from the rest of their page.
SCENARIO = "dcnlab run "
WITH_SCENARIOS = [name for name in EXECUTED if f"$ {SCENARIO}" in (ROOT / name).read_text()]


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
        (("2,392.1 Mb/s over 1",), "815.0 Mb/s over 1\n", True),
        (("2,392.1 Mb/s over 1",), "815.0 Mb/s over 2\n", False),
        (("3 of 225 lost",), "0 of 231 lost\n", True),
        (("12 of 12 pings",), "11 of 12 pings\n", False),
        ((), "anything", True),
    ],
)
def test_only_measured_numbers_may_differ(shown: tuple[str, ...], printed: str, same: bool) -> None:
    assert console.agrees(shown, printed) == same


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Other labs are not visible, and the document's labs end even if a step fails."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    yield
    console.run(console.Step("dcnlab down --all", ()))


@pytest.mark.lab
@pytest.mark.timeout(3600)  # a page has up to twenty commands, and the machine may be busy
@pytest.mark.parametrize("name", [name for name in EXECUTED if name != README])
def test_a_document(name: str, alone: None, programs: Path) -> None:
    for step in console.steps((ROOT / name).read_text()):
        if not step.command.startswith(SCENARIO):
            runs_as_shown(step, f"{programs}:{console.PROGRAMS}")


@pytest.mark.lab
@pytest.mark.timeout(3600)
def test_the_readme_in_processes_of_its_own(alone: None) -> None:
    for step in console.steps((ROOT / README).read_text()):
        if not step.command.startswith(SCENARIO):
            runs_as_shown(step)


@pytest.mark.lab
@pytest.mark.quiet
@pytest.mark.parametrize("name", WITH_SCENARIOS)
def test_scenarios_of_a_document(name: str, alone: None, programs: Path) -> None:
    for step in console.steps((ROOT / name).read_text()):
        if step.command.startswith(SCENARIO):
            runs_as_shown(step, f"{programs}:{console.PROGRAMS}")


def runs_as_shown(step: console.Step, programs: str = console.PROGRAMS) -> None:
    done: subprocess.CompletedProcess[str] = console.run(step, programs=programs)
    assert done.returncode == step.code, f"$ {step.command}\n{done.stdout}"
    assert console.agrees(step.shown, done.stdout), f"$ {step.command}\n{done.stdout}"


def test_the_readme_and_the_tutorial_are_among_them() -> None:
    assert {README, "docs/tutorial.md"} <= set(EXECUTED)
    assert "docs/tutorial.md" in WITH_SCENARIOS


@pytest.mark.lab
@pytest.mark.parametrize("name", [README, "docs/evaluation.md", "docs/python.md", "docs/api.md"])
def test_python_examples(name: str, alone: None, programs: Path, tmp_path: Path) -> None:
    examples = re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(), re.DOTALL)
    assert examples
    for example in examples:
        script = tmp_path / "example.py"
        script.write_text(example)
        python = sys.executable if name == README else programs / forked.SCRIPT
        done = subprocess.run([python, str(script)], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout
