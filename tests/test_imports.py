"""What every lab waits for imports nothing that takes long: a launch is mostly Python's own start-up."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"scipy", "networkx", "numba", "matplotlib", "pymetis", "pandas", "scapy", "mininet", "pydantic"}
ASK = "import sys, {module}; print(*sorted(sys.modules))"
#: What a lab imports only if its options ask for it, and its clients only for some commands.
OPTIONAL = {
    "asyncio", "psutil", "topos.files.file", "hostagent.protocols.aacm", "hostagent.protocols.labelling",
    "hostagent.flowcontrol", "hostagent.fastpath.tables", "dcnlab.lab.switchpath.driver",
    "dcnlab.lab.outside.nat", "dcnlab.lab.instruments.flood_watch",
}  # fmt: skip
RUN = """\
import sys
from dcnlab.cli import main

try:
    main()
except SystemExit:
    print(*sorted(sys.modules), file=sys.stderr)
"""
SHOW = """\
import json, sys
from dcnlab.cli.from_classes import answers
from dcnlab.lab.operations.info import Info

for one in json.load(open(sys.argv[1])):
    if one["request"] == {"op": "info"}:
        answers.show(Info(), Info().read(one["answer"]))
print(*sorted(sys.modules), file=sys.stderr)
"""


@pytest.mark.parametrize(
    "module",
    [
        "dcnlab.cli.program",
        "dcnlab.lab.session.recording",
    ],
)
def test_a_process_of_a_lab_starts_light(module: str) -> None:
    modules = imported(module)
    assert module in modules
    assert HEAVY.isdisjoint(packages(modules))


def test_an_answer_of_info_is_shown_without_the_options_of_labs() -> None:
    """They come with all schemes, topologies and numpy, which take as long as the rest of the command."""
    snapshot = Path(__file__).with_name("snapshots") / "control.json"
    done = subprocess.run([sys.executable, "-c", SHOW, snapshot], capture_output=True, text=True, check=True)
    modules = done.stderr.splitlines()[-1].split()
    assert "options" in done.stdout
    assert {*HEAVY, "numpy"}.isdisjoint(packages(modules))
    assert {"topos.registry", "addressing.registry", "dcnlab.lab.options.config"}.isdisjoint(modules)


@pytest.mark.parametrize("module", ["dcnlab.lab.session.__main__", "hostagent.__main__", "controller.__main__"])
def test_a_process_of_a_lab_imports_only_what_every_lab_needs(module: str) -> None:
    """Most of what a small lab costs are imports: some 600 labs in the tests alone."""
    modules = imported(module)
    assert HEAVY.isdisjoint(packages(modules))
    assert OPTIONAL.isdisjoint(modules)


def test_agents_import_no_threading() -> None:
    """What it does in every forked child makes an agent a third larger (`python -m benchmarks agents`)."""
    assert "threading" not in imported("hostagent.__main__")


def test_the_version_is_printed_without_any_library() -> None:
    modules = imported_by("--version")
    assert {"typer", "rich"}.isdisjoint(packages(modules))
    assert {name for name in modules if name.startswith("dcnlab.")} == {"dcnlab.cli", "dcnlab.python_path"}


@pytest.mark.parametrize(
    "line",
    ["ps", "ps --json", "exec nolab h0 ls -l", "ping nolab h0 h1 -4", "ping nolab", "down nolab",
     "fail nolab link h0 s0", "restore nolab node s0", "stats nolab --json"],
)  # fmt: skip
def test_a_question_to_a_lab_imports_its_own_command_and_nothing_large(line: str) -> None:
    """Time follows from this: each costs about what `import typer` costs (`python -m benchmarks cli`)."""
    modules, command = imported_by(*line.split()), line.split()[0]
    assert {*HEAVY, "numpy", "rich", "psutil"}.isdisjoint(packages(modules))
    assert {"topos.registry", "addressing.registry", "dcnlab.lab.options.config"}.isdisjoint(modules)
    own = {name.removeprefix("dcnlab.cli.commands.") for name in modules if "dcnlab.cli.commands." in name}
    made = command in ("ping", "stats", "fail", "restore")  # from its class
    assert own == (set() if made else {command})
    assert "dcnlab.cli.from_classes.measurements" not in modules or command in ("ping", "stats")


def test_down_imports_no_class_for_labs_in_python() -> None:
    assert "dcnlab.lab.client" not in imported_by("down", "nolab")


def test_a_command_line_for_typer_imports_one_command() -> None:
    modules = imported_by("path", "--help")
    assert {name for name in modules if name.startswith("dcnlab.cli.commands.")} == {"dcnlab.cli.commands.path"}


def test_the_evaluator_does_without_distributions_of_scipy() -> None:
    """They would take more than a quarter of the time in which it starts."""
    assert "scipy.stats" not in imported_by("evaluate", "bcube:2,1", "--scheme", "brp", "--json")


def test_a_scenario_is_read_before_what_runs_it_is_imported(tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text("topology: bcube:2,1\n")
    modules = imported_by("run", str(tmp_path / "wrong.yaml"))
    assert {"scipy", "numba", "matplotlib"}.isdisjoint(packages(modules))
    assert "dcnlab.lab.client" not in modules


@pytest.mark.parametrize("line", ["--help", "list", "list --json"])
def test_lists_import_nothing_of_what_they_list(line: str) -> None:
    modules = imported_by(*line.split())
    assert {*HEAVY, "numpy", "psutil"}.isdisjoint(packages(modules))
    listing = ("dcnlab.cli.commands.", "dcnlab.lab.measurement.", "topos.families.", "addressing.schemes.")
    assert {name for name in modules if name.startswith(listing)} <= {"dcnlab.cli.commands.list"}


@pytest.mark.parametrize(
    "line",
    ["evaluate bcube:2,1 --what", "compare --topologies bcube:2,1 --seeds 0", "sweep bcube:2,1 --steps x"],
)
def test_a_wrong_command_line_imports_no_evaluator(line: str) -> None:
    modules = imported_by(*line.split())
    assert {"numpy", "scipy", "numba", "matplotlib"}.isdisjoint(packages(modules))
    assert "dcnlab.evaluator" not in modules


def packages(modules: list[str]) -> set[str]:
    """The top-level packages of these modules."""
    return {name.partition(".")[0] for name in modules}


def imported_by(*words: str) -> list[str]:
    """The modules that ``dcnlab`` has imported when it has run these words of a command line."""
    done = subprocess.run([sys.executable, "-c", RUN, *words], capture_output=True, text=True, check=True)
    return done.stderr.splitlines()[-1].split()


def imported(module: str) -> list[str]:
    """The modules that a process has imported once it has imported this module."""
    words = [sys.executable, "-c", ASK.format(module=module)]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
