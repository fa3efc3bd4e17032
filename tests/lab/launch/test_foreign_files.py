"""A user's files with the names of our packages, or of packages that we use, are never run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

#: A user's own files; one of them is what Ryu users call their application.
NAMES = ("lab", "controller", "topos", "hostagent", "addressing", "numpy", "random", "struct", "dcnlab")
PROGRAM = str(Path(sys.executable).parent / "dcnlab")
SCENARIO = """\
title: a scenario beside the user's files
topology: bcube:2,1
scheme: brp
traffic:
  - ping: all
expect:
  - ping.lost == 0
"""
SCRIPT = """\
from dcnlab import Lab, compare, evaluate, grid

if __name__ == "__main__":
    with Lab("bcube:2,1", scheme="brp") as lab:
        assert lab.pingall().received == 12
        assert lab.run("h0", ["true"]).returncode == 0
    assert evaluate("bcube:2,1", ["brp"]).servers == 4
    assert [row["delivered"] for row in compare(grid(["bcube:2,1"], ["brp", "wmgr"]), workers=2)] == [1, 1]
    print("done")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that holds the user's files; each leaves a mark when it runs."""
    for name in NAMES:
        mark = f"open({str(tmp_path / 'mark')!r}, 'a').write('{name} ')"
        (tmp_path / f"{name}.py").write_text(f"{mark}\nraise SystemExit('{name}.py of the user')\n")
    return tmp_path


def run(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        words, cwd=folder, capture_output=True, text=True, check=False, env=os.environ | environment
    )
    assert not (folder / "mark").exists(), (folder / "mark").read_text()
    return done


def succeed(folder: Path, *words: str) -> str:
    done = run(folder, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_offline_commands_run_our_files(folder: Path) -> None:
    answer = json.loads(succeed(folder, PROGRAM, "evaluate", "bcube:2,1", "--scheme", "brp", "--json"))
    assert answer["servers"] == 4
    words = ("compare", "--topologies", "bcube:2,1", "--schemes", "brp,wmgr", "--workers", "1", "--json")
    assert [row["delivered"] for row in json.loads(succeed(folder, PROGRAM, *words))] == [1, 1]


def test_python_dash_m_leaves_the_folder_out(folder: Path) -> None:
    (folder / "dcnlab.py").unlink()  # Python finds this one before we can do anything about it
    answer = json.loads(succeed(folder, sys.executable, "-m", "dcnlab", "evaluate", "bcube:2,1", "--json"))
    assert answer["servers"] == 4


@pytest.mark.lab
def test_labs_and_scenarios_run_our_files(folder: Path) -> None:
    answer = json.loads(
        succeed(folder, PROGRAM, "up", "bcube:2,1", "--scheme", "brp", "--test", "pingall", "--json")
    )
    assert (answer["sent"], answer["received"]) == (12, 12)
    (folder / "scenario.yaml").write_text(SCENARIO)
    assert json.loads(succeed(folder, PROGRAM, "run", "scenario.yaml", "--json"))["held"] is True


@pytest.mark.lab
def test_the_python_interface_runs_our_files(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    script = tmp_path_factory.mktemp("scripts") / "script.py"
    script.write_text(SCRIPT)
    assert succeed(folder, sys.executable, str(script)) == "done\n"


@pytest.mark.parametrize("name", ["controller", "topos", "hostagent", "addressing"])
def test_a_script_beside_such_a_file_is_told_in_one_line(tmp_path: Path, name: str) -> None:
    hiding = tmp_path / f"{name}.py"
    hiding.write_text("raise SystemExit('the user')\n")
    script = tmp_path / "experiment.py"
    script.write_text("import dcnlab\n")
    done = run(tmp_path, sys.executable, str(script))
    assert done.returncode == 1
    expected = f"ImportError: {hiding} hides the package {name} of dcnlab: rename or move it"
    assert done.stderr.splitlines()[-1] == expected


def test_the_program_says_the_same_in_one_line(folder: Path) -> None:
    (folder / "dcnlab.py").unlink()
    for words in ([PROGRAM, "list"], [sys.executable, "-m", "dcnlab", "list"]):
        done = run(folder, *words, PYTHONPATH=str(folder))
        assert done.returncode == 2
        assert done.stderr == (
            f"dcnlab: {folder}/addressing.py hides the package addressing of dcnlab: rename or move it\n"
        )


def test_another_package_of_the_name_hides_ours_only_where_it_is_one(tmp_path: Path) -> None:
    """A folder of that name without Python files, such as one of results, does no harm."""
    (tmp_path / "topos").mkdir()
    script = tmp_path / "experiment.py"
    script.write_text("import dcnlab, topos; print(topos.__file__)\n")
    assert Path(succeed(tmp_path, sys.executable, str(script)).strip()).parent.name == "topos"
    (tmp_path / "topos" / "__init__.py").touch()
    done = run(tmp_path, sys.executable, str(script))
    assert "topos/__init__.py hides the package topos of dcnlab" in done.stderr.splitlines()[-1]
