"""CONTRIBUTING.md's topology and scheme, each in one file outside the clone, work everywhere."""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from distributed import LocalCluster

from dcnlab.cli import app, loading
from tests.clean import check_clean
from tests.lab.lines import alone

ROOT = Path(__file__).parents[3]
SHOWN = {
    block["name"]: block["code"]
    for block in re.finditer(
        r"This is all of `(?P<name>[\w/.]+)`:\s+```python\n(?P<code>.*?)```",
        (ROOT / "CONTRIBUTING.md").read_text(),
        re.DOTALL,
    )
}
loading.load_all()
COMMANDS: dict[str, Any] = typer.main.get_command(app.app).commands  # type: ignore[attr-defined]
Dcnlab = Callable[..., subprocess.CompletedProcess[str]]
CUSTOM = ("--custom", "ring.py", "--custom", "roundabout.py")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the two files that CONTRIBUTING.md shows."""
    for name in ("ring.py", "roundabout.py"):
        (tmp_path / name).write_text(SHOWN[name])
    return tmp_path


def run(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A Python module, started in that folder."""
    return subprocess.run(
        [sys.executable, "-P", "-m", *words],
        cwd=folder, env=os.environ | environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture
def dcnlab(programs: Path, folder: Path) -> Dcnlab:
    """The program, started in that folder."""
    return functools.partial(alone, programs, folder)


def test_the_catalogue_lists_them(dcnlab: Dcnlab) -> None:
    lines = ("list", "--json", *CUSTOM), ("list", "--json")
    extended, plain = (json.loads(dcnlab(*line).stdout)["topologies"] for line in lines)
    ring = next(t for t in extended if t["name"] == "ring")
    assert {"roundabout", "shortest", "wmgr"} <= set(ring["schemes"])
    assert "ring" not in [t["name"] for t in plain]


def test_offline_commands_use_them(dcnlab: Dcnlab) -> None:
    path = dcnlab("path", "ring:6", "--scheme", "roundabout", "h0", "h4", "--json", *CUSTOM)
    evaluate = dcnlab("evaluate", "ring:6", "--scheme", "roundabout", "--json", *CUSTOM)
    topology = dcnlab("topology", "ring:2", *CUSTOM)
    assert json.loads(path.stdout)["path"] == ["h0", "h5", "h4"]
    [figures] = json.loads(evaluate.stdout)["schemes"]
    assert (figures["delivered"], figures["stretch"]["max"], figures["path"]["max"]) == (1.0, 1.0, 3)
    assert "n must be at least 3" in topology.stderr


def test_worker_processes_use_them_and_results_hold_for_their_text_only(folder: Path, dcnlab: Dcnlab) -> None:
    grid = ("--topologies", "ring:6,ring:8", "--schemes", "roundabout", "--workers", "1")
    words = ("compare", *grid, "--json", *CUSTOM)
    lines = []
    for _ in range(2):
        done = dcnlab(*words)
        assert [row["path.max"] for row in json.loads(done.stdout)] == [3, 4], done.stderr
        lines.append(len(next(folder.rglob("results.jsonl")).read_text().splitlines()))
        with (folder / "roundabout.py").open("a") as file:
            file.write("# another version\n")
    assert lines == [2, 4]


def test_workers_of_a_dask_scheduler_use_them(folder: Path, dcnlab: Dcnlab) -> None:
    """Its workers were started elsewhere, without the option."""
    with LocalCluster(n_workers=1, processes=True, host="127.0.0.1", dashboard_address=None) as cluster:
        words = ("compare", "--topologies", "ring:6", "--schemes", "roundabout", "--json", *CUSTOM)
        done = dcnlab(*words, "--dask", cluster.scheduler_address)
        assert [row["path.max"] for row in json.loads(done.stdout)] == [3], done.stderr
        with (folder / "roundabout.py").open("a") as file:
            file.write("# another version\n")
        done = dcnlab(*words, "--dask", cluster.scheduler_address)
    assert "has loaded another version of" in done.stderr


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_about_topologies_or_schemes_takes_the_option(name: str) -> None:
    words = " ".join(f"{p.name} {p.metavar or ''}" for p in COMMANDS[name].params).lower().replace("|", " ")
    about = {"topology", "topologies", "scheme", "schemes", "spec", "[topology]..."} & set(words.split())
    if about or name in ("list", "run"):
        assert "custom" in [p.name for p in COMMANDS[name].params]


def test_the_tests_of_every_family_and_pair_cover_them(folder: Path) -> None:
    files = ("tests/topos/test_every_family.py", "tests/addressing/test_every_pair.py")
    own = [word if word.startswith("--") else str(folder / word) for word in CUSTOM]
    done = run(ROOT, "pytest", "-q", "-p", "no:cacheprovider", "-k", "ring or roundabout", *files, *own)
    assert done.returncode == 0, done.stdout
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) >= 10, done.stdout


def test_they_are_clean(folder: Path) -> None:
    check_clean(folder, "ring.py", "roundabout.py")


def pingall(done: subprocess.CompletedProcess[str]) -> tuple[int, int]:
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    return answer["sent"], answer["received"]


@pytest.mark.lab
def test_they_run_as_a_lab(folder: Path, dcnlab: Dcnlab) -> None:
    words = ("up", "ring:6", "--scheme", "roundabout", "--test", "pingall", "--json", *CUSTOM)
    assert pingall(dcnlab(*words)) == (30, 30)


@pytest.mark.lab
def test_switches_and_their_controller_use_them(folder: Path, dcnlab: Dcnlab) -> None:
    """A family of switches with hosts: the controller compiles its tables."""
    text = (folder / "ring.py").read_text().replace("def link_ends", "def edges")
    text = text.replace("(Family)", "(VertexGraph)").replace('"server"', '"switch"')
    text = text.replace("from topos.graph", "from topos.bases.vertices import VertexGraph\nfrom topos.graph")
    head, _, tail = text.partition("    def counts")
    tail = tail.partition("    def edges")[2]
    sizes = "    concentration = 2\n\n    @property\n    def vertices(self) -> int:\n        return self.n\n\n"
    (folder / "ring.py").write_text(f"{head}{sizes}    def edges{tail}")
    words = ("up", "ring:3", "--scheme", "shortest", "--test", "pingall", "--json", "--custom", "ring.py")
    assert pingall(dcnlab(*words)) == (30, 30)


@pytest.mark.lab
def test_a_scenario_names_them(folder: Path, programs: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    (folder / "ring.yaml").write_text(
        "topology: ring:5\nscheme: roundabout\ncustom: [ring.py, roundabout.py]\n"
        "traffic:\n  - {ping: all}\nexpect:\n  - ping.lost == 0\n"
    )
    done = alone(programs, tmp_path_factory.mktemp("elsewhere"), "run", folder / "ring.yaml", "--json")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def installed(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder into which a package with both is installed: its code, and what pip writes beside it."""
    site = tmp_path_factory.mktemp("site")
    package, about = site / "rings", site / "rings-1.0.dist-info"
    package.mkdir()
    about.mkdir()
    (package / "__init__.py").touch()
    for file in folder.glob("*.py"):
        file.rename(package / file.name)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: rings\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[dcnlab.topologies]\nring = rings.ring:Ring\n[dcnlab.schemes]\nroundabout = rings.roundabout\n"
    )
    return site


def test_an_installed_package_adds_them_by_entry_points(installed: Path, folder: Path) -> None:
    words = ("path", "ring:6", "--scheme", "roundabout", "h0", "h4", "--json")
    done = run(folder, "dcnlab.cli", *words, PYTHONPATH=str(installed))
    assert json.loads(done.stdout)["path"] == ["h0", "h5", "h4"], done.stderr
    (installed / "rings" / "ring.py").write_text("nothing\n")
    done = run(folder, "dcnlab.cli", "topology", "ring:6", PYTHONPATH=str(installed))
    assert done.returncode == 2
    assert "ring, installed by rings, cannot be loaded: " in done.stderr
    assert "rings/ring.py, line 1: NameError: name 'nothing' is not defined" in done.stderr


@pytest.mark.lab
def test_labs_find_what_is_installed(installed: Path, folder: Path) -> None:
    words = ("up", "ring:5", "--scheme", "roundabout", "--test", "pingall", "--json")
    assert pingall(run(folder, "dcnlab.cli", *words, PYTHONPATH=str(installed))) == (20, 20)


#: What is replaced in the file, by what, and what is said of it.
WRONG = {
    "raises": (
        "return self.n, 0", "return self.n + nothing, 0", "line 26: NameError: name 'nothing' is not defined",
    ),
    "syntax": ("import numpy", "import (", "line 8: SyntaxError: invalid syntax"),
    "ports": (
        "np.full_like(here, 2)", "np.full_like(here, 1)",
        "line 14: Ring: link_ends uses port 1 of node 0 (h0) twice",
    ),
    "nodes": ("% self.n\n", "\n", "line 14: Ring: row 5 of link_ends names a node that is not among 0 to 5"),
    "dataclass": (
        "@dataclass(frozen=True)\n", "",
        "Ring: is not a frozen dataclass: write @dataclass(frozen=True)",
    ),
    "name": ('"ring"', '"bcube"', "there is a topology 'bcube' already: choose another name"),
    "method": ("def counts", "def count", "Ring: does not define counts, as every Family must"),
    "constant": ("    source:", "    origin:", "Ring: does not define source, as every Family must"),
}  # fmt: skip


def test_errors_in_a_file_are_one_line_with_file_and_line(folder: Path, dcnlab: Dcnlab) -> None:
    text, files = (folder / "ring.py").read_text(), [folder / case / "ring.py" for case in WRONG]
    for file, (old, new, _) in zip(files, WRONG.values(), strict=True):
        assert old in text
        file.parent.mkdir()
        file.write_text(text.replace(old, new))
    for file, (_, _, said) in zip(files, WRONG.values(), strict=True):
        done = dcnlab("topology", "ring:6", "--custom", file)
        assert done.returncode == 2, file
        assert done.stderr.startswith(f"dcnlab: {file}, line ")
        assert said in done.stderr
        assert done.stderr.count("\n") == 1


def test_errors_of_a_rule_are_one_line_too(folder: Path, dcnlab: Dcnlab) -> None:
    text = (folder / "roundabout.py").read_text().replace("Forward(1", "Forward(1 // 0")
    (folder / "roundabout.py").write_text(text)
    line = text[: text.index("1 // 0")].count("\n") + 1
    said = f"{folder / 'roundabout.py'}, line {line}: ZeroDivisionError: integer division or modulo by zero\n"
    done = dcnlab("path", "ring:6", "--scheme", "roundabout", "h0", "h4", *CUSTOM)
    assert done.stderr == f"dcnlab: {said}"
    words = ("compare", "--topologies", "ring:6", "--schemes", "roundabout", "--json", *CUSTOM)
    assert dcnlab(*words).stderr.endswith(said)


def test_empty_and_missing_files_are_refused(folder: Path, dcnlab: Dcnlab) -> None:
    (folder / "empty.py").touch()
    empty, missing = dcnlab("list", "--custom", "empty.py"), dcnlab("list", "--custom", "no.py")
    assert (empty.returncode, empty.stderr.count("\n")) == (2, 1)
    assert "empty.py defines no topology, scheme, agent protocol, measurement or operation" in empty.stderr
    assert "there is no file" in missing.stderr


def test_python_loads_them_too(folder: Path) -> None:
    """In a process of its own: what is loaded stays."""
    text = (
        "import pickle, topos.registry\nfrom dcnlab.lab import custom\n"
        "from dcnlab.evaluator.evaluate import evaluate\n"
        "custom.load(['ring.py', 'roundabout.py'])\n"
        "ring = topos.registry.parse('ring:6')\n"
        "assert pickle.loads(pickle.dumps(ring)) == ring\n"
        "print(evaluate('ring:6', ['roundabout']).diameter)\n"
    )
    done = subprocess.run([sys.executable, "-c", text], cwd=folder, capture_output=True, text=True, check=False)
    assert done.stdout == "3\n", done.stderr
