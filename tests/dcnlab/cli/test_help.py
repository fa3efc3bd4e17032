"""What the program says of itself: help, examples, version, names."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
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
from dcnlab.lab import operations
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


def test_what_is_listed_without_its_import_is_found_by_its_name() -> None:
    code = "from dcnlab.cli import app, loading, summaries; import sys\n"
    code += "for name in summaries.commands(): loading.load([name])\n"
    code += "print({one.name for one in app.app.registered_commands} == set(summaries.commands()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_the_list_of_commands_begins_with_those_of_a_first_day() -> None:
    shown = dcnlab("--help", COLUMNS="100").stdout
    listed = [line.split()[1] for line in shown.splitlines() if re.match(r"[│|] [a-z]", line)]
    names = [word for word in listed if word in COMMANDS]
    assert names[:5] == ["doctor", "up", "fail", "view", "down"]
    assert sorted(names) == sorted(name for name, command in COMMANDS.items() if not command.hidden)


@pytest.mark.parametrize("command", ["doctor", "list", "list bcube", "list brp"])
def test_the_columns_of_a_table_are_keys_of_the_json_value(command: str) -> None:
    answer: Any = json.loads(dcnlab(*command.split(), "--json").stdout)
    rows = (
        [answer]
        if isinstance(answer, list)
        else [value for value in answer.values() if isinstance(value, list)]
    )
    keys = {key for some in rows for row in some if isinstance(row, dict) for key in row}
    text = dcnlab(*command.split()).stdout
    headings = [
        line.split() for line in text.splitlines() if set(line.split()) <= keys and len(line.split()) > 1
    ]
    assert len(headings) == sum(isinstance(some[0], dict) for some in rows)


def test_no_operation_has_a_command_and_a_file_of_one_beside() -> None:
    known = operations.known()
    made = {name for name in known if known.is_builtin(name) and known[name].examples}
    assert made <= set(COMMANDS)
    assert made.isdisjoint(loading.files())
    assert {"fail", "restore", "impair"} <= made


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
    described = entry(name)
    assert [p["name"] for p in described["parameters"] if not p["meaning"]] == []
    assert all(p["name"] in described["usage"] for p in described["parameters"])


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
    [
        ("up bcu", "bcube:4,1"),
        ("list bcu", "bcube"),
        ("list wmgr-", "wmgr-cayley"),
        ("tables clot", "clot:4x4"),
    ],
)
def test_the_shell_completes_names(words: str, offered: str) -> None:
    asked = {"COMP_WORDS": f"dcnlab {words}", "COMP_CWORD": "2", "_DCNLAB_COMPLETE": "complete_bash"}
    program = str(Path(sys.executable).with_name("dcnlab"))
    done = subprocess.run([program], capture_output=True, text=True, check=False, env=os.environ | asked)
    assert done.stdout.split() == [offered]
