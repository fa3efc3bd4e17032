"""What the program says of itself: help, examples, version, names."""

from __future__ import annotations

import importlib.metadata
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main

from addressing import registry as schemes
from dcnlab.cli import app, loading
from dcnlab.cli.catalogue import entry
from dcnlab.lab.errors import UsageError
from topos import registry as topologies

loading.load_all()
COMMANDS: dict[str, Any] = typer.main.get_command(app.app).commands  # type: ignore[attr-defined]


def dcnlab(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dcnlab.cli", *words],
        capture_output=True, text=True, check=False, env=os.environ | environment,
    )  # fmt: skip


def test_every_command_has_examples_and_a_heading() -> None:
    assert set(app.EXAMPLES) == set(COMMANDS)
    assert {command.rich_help_panel for command in COMMANDS.values()} == set(app.PANELS)


@pytest.mark.parametrize("line", [line for lines in app.EXAMPLES.values() for line in lines])
def test_examples_are_read(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program, name, *words = shlex.split(line.partition(" > ")[0])
    assert program == "dcnlab"
    assert line in app.EXAMPLES[name]
    COMMANDS[name].make_context(name, words)  # raises for what it does not know


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_option_and_argument_is_explained(name: str) -> None:
    assert [p.name for p in COMMANDS[name].params if not getattr(p, "help", None)] == []


@pytest.mark.parametrize("name", [*topologies.known(), *schemes.known()])
def test_every_parameter_is_explained(name: str) -> None:
    found = entry(name)
    assert [p["name"] for p in found["parameters"] if not p["meaning"]] == []
    assert all(p["name"] in found["usage"] for p in found["parameters"])


def test_names_of_nothing_are_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean bcube"):
        entry("BCube")


def test_the_version_is_the_packages() -> None:
    assert dcnlab("--version").stdout == f"dcnlab {importlib.metadata.version('dcnlab')}\n"


def test_without_a_command_the_help_is_shown_and_nothing_else() -> None:
    done = dcnlab()
    assert (done.returncode, done.stderr) == (2, "")
    assert "Usage: " in done.stdout


def test_a_terminal_of_few_letters_shows_something_in_their_place() -> None:
    done = dcnlab("explain", "bcube:4,1", "h0", "h15", "--scheme", "brp", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert "route 101101110? -> port 2 to s4" in done.stdout


@pytest.mark.parametrize(
    ("words", "offered"),
    [("up bcu", "bcube:4,1"), ("list bcu", "bcube"), ("list wmgr-", "wmgr-cayley"), ("tables clo", "clot:4x4")],
)
def test_the_shell_completes_names(words: str, offered: str) -> None:
    asked = {"COMP_WORDS": f"dcnlab {words}", "COMP_CWORD": "2", "_DCNLAB_COMPLETE": "complete_bash"}
    program = str(Path(sys.executable).with_name("dcnlab"))
    done = subprocess.run([program], capture_output=True, text=True, check=False, env=os.environ | asked)
    assert done.stdout.split() == [offered]
