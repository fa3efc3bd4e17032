"""Plain command lines are read as typer reads them, and answered by a lab without pydantic and rich."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer.main

from dcnlab.cli import loading, quick
from dcnlab.cli.app import QUICK, app
from dcnlab.lab.client import Lab

loading.load_all()
COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
FUNCTIONS: dict[str, Any] = {str(info.name): info.callback for info in app.registered_commands}
SETTINGS: dict[str, Any] = {str(info.name): info.context_settings or {} for info in app.registered_commands}
RUN = """\
import sys
from dcnlab.cli import main

try:
    main()
finally:
    print(*sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""

PLAIN = [
    "ps", "ps --json", "exec l h0 ls", "exec l h0 ls -l --json", "exec l h0 -- ls -l", "fail l link h0 s0",
    "fail l link h0 s0 --json", "fail --json l node h0", "restore l node s0", "heal l node s0", "down l",
    "down --all", "down", "down --all --json", "ping l", "ping l h0 h1", "ping l h0 h1 -4 --json", "ping l -6",
    "iperf l h0 h1", "traceroute l h0 h1", "stats l", "counters l", "next-hops l h0 h3", "stream l h0 h1",
    "exec --json l h* ls --json", "down ''", "list", "list --json", "list bcube --json",
]  # fmt: skip
#: typer reads these: they have options with values, something is missing or wrong, or they ask for help.
OTHERS = [
    "ps x", "ps --jsno", "ps --help", "exec", "exec l", "exec l h0", "exec --help", "exec -x l h0 ls",
    "fail l link", "fail l", "fail l -- node h0", "ping", "next-hops l", "ping l h0 h1 h2",
    "ping l --size 9", "ping l --size=9", "ping l -46", "iperf l h0", "down l m", "down --custom x",
    "ping l --custom f.py", "list --custom f.py", "list a b", "list --help",
]  # fmt: skip


def read(line: str) -> dict[str, Any] | None:
    name, *words = shlex.split(line)
    assert name in QUICK
    return quick.read(FUNCTIONS[name], words, SETTINGS[name].get("allow_interspersed_args", True))


@pytest.mark.parametrize("line", PLAIN)
def test_a_plain_line_means_what_typer_reads(line: str) -> None:
    name, *words = shlex.split(line)
    found = COMMANDS[name].make_context(name, words, **SETTINGS[name]).params
    # Some versions give lists of words, others tuples.
    assert read(line) == {k: list(v) if isinstance(v, tuple) else v for k, v in found.items()}


@pytest.mark.parametrize("line", OTHERS)
def test_typer_reads_the_others(line: str) -> None:
    assert read(line) is None


def test_commands_that_ask_a_lab_are_quick() -> None:
    asks = {"ps", "exec", "fail", "restore", "heal", "down", "ping", "iperf", "stats", "stream", "traceroute"}
    assert asks <= QUICK


@pytest.fixture(scope="module")
def lab() -> Iterator[str]:
    with Lab("bcube:2,1", "brp") as started:
        yield started.config.name


@pytest.mark.lab
@pytest.mark.parametrize(
    "line",
    ["ps", "exec LAB h0 true", "ping LAB h0 h3", "ping LAB", "fail LAB link h0 s0", "restore LAB link h0 s0"],
)
def test_a_running_lab_answers_without_large_libraries(line: str, lab: str) -> None:
    words = line.replace("LAB", lab).split()
    done = subprocess.run([sys.executable, "-c", RUN, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {"pydantic", "rich", "numpy", "psutil"}.isdisjoint(done.stderr.splitlines()[-1].split())


@pytest.mark.lab
def test_the_configuration_of_a_lab_that_runs_already(lab: str) -> None:
    attached = Lab.attach(lab)
    assert (attached.config.name, attached.config.scheme) == (lab, "brp")
    assert attached.config.topology == "bcube:2,1"
    done = subprocess.run(
        [sys.executable, "-m", "dcnlab", "ps", "--json"], capture_output=True, text=True, check=True
    )
    assert lab in [row["name"] for row in json.loads(done.stdout)]
