"""CONTRIBUTING.md's measurement, one file outside the clone, is a command, a Python method and traffic."""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dcnlab.lab.client import Lab
from tests.clean import check_clean
from tests.lab.lines import alone

ROOT = Path(__file__).parents[3]
SECTION = (
    (ROOT / "CONTRIBUTING.md")
    .read_text()
    .partition("## Adding a measurement: one file")[2]
    .partition("\n## ")[0]
)
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", SECTION, re.DOTALL)
Dcnlab = Callable[..., subprocess.CompletedProcess[str]]
CUSTOM = ("--custom", "connect_time.py")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the three files that CONTRIBUTING.md shows."""
    assert [language for language, _ in BLOCKS] == ["python", "python", "yaml"]
    for name, (_, text) in zip(("connect_time.py", "script.py", "scenario.yaml"), BLOCKS, strict=True):
        (tmp_path / name).write_text(text)
    return tmp_path


def run(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder, env=os.environ | environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture
def dcnlab(programs: Path, folder: Path) -> Dcnlab:
    """The program, started in that folder."""
    return functools.partial(alone, programs, folder)


def test_it_is_clean(folder: Path) -> None:
    check_clean(folder, "connect_time.py")


def test_its_command_has_help_and_checks_arguments(dcnlab: Dcnlab) -> None:
    shown, others = dcnlab("connect-time", "--help", *CUSTOM), dcnlab("--help")
    refused = dcnlab("connect-time", "nolab", "h0", "h3", "--count", "0", *CUSTOM)
    assert "Measure how long TCP takes to connect" in shown.stdout
    assert "--count" in shown.stdout
    assert "dcnlab connect-time LAB h0 h1" in shown.stdout
    assert "connect-time" not in others.stdout
    assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1)
    assert "--count" in refused.stderr


def test_an_installed_package_adds_its_command(folder: Path) -> None:
    """Metadata as pip writes it, in a folder that Python searches."""
    metadata = folder / "connect_time-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: connect-time\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(
        "[dcnlab.measurements]\nconnect-time = connect_time:ConnectTime\n"
    )
    done = run(folder, "-P", "-m", "dcnlab.cli", "connect-time", "--help", PYTHONPATH=str(folder))
    assert "Measure how long TCP takes to connect" in done.stdout
    assert "connect-time" in run(folder, "-P", "-m", "dcnlab.cli", "--help", PYTHONPATH=str(folder)).stdout


def test_a_wrong_file_is_one_line(folder: Path, dcnlab: Dcnlab) -> None:
    text = (folder / "connect_time.py").read_text()
    (folder / "connect_time.py").write_text(text.replace("    def run(", "    def walk("))
    done = dcnlab("connect-time", "nolab", "h0", "h3", *CUSTOM)
    assert done.returncode == 2
    assert re.fullmatch(
        r"dcnlab: \S+connect_time.py, line \d+: ConnectTime: does not define run, [^\n]+\n", done.stderr
    )


def test_a_scenario_with_a_wrong_key_names_its_line(folder: Path, dcnlab: Dcnlab) -> None:
    scenario = folder / "scenario.yaml"
    scenario.write_text(scenario.read_text().replace("count: 20", "counts: 20"))
    done = dcnlab("run", "scenario.yaml")
    assert done.returncode == 2
    assert "scenario.yaml:6: traffic[0].counts: unknown key: did you mean count?" in done.stderr


@pytest.mark.lab
def test_its_command_measures_in_a_lab_that_runs_already(folder: Path, dcnlab: Dcnlab) -> None:
    with Lab("bcube:2,1", "brp") as lab:
        done = dcnlab("connect-time", lab.config.name, "h0", "h3", "--count", "20", "--json", *CUSTOM)
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        assert 0 < answer["median_ms"] <= answer["max_ms"]
        shown = dcnlab("connect-time", lab.config.name, "h0", "h3", *CUSTOM).stdout
        assert re.search(r"median_ms\s+[\d.]+", shown)
        refused = dcnlab("connect-time", lab.config.name, "h0", "h9", *CUSTOM)
        assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1)


@pytest.mark.lab
def test_python_has_it(folder: Path) -> None:
    done = run(folder, "script.py")
    assert re.fullmatch(r"[\d.]+ ms\n", done.stdout), done.stderr


@pytest.mark.lab
def test_a_scenario_measures_it(folder: Path, dcnlab: Dcnlab) -> None:
    done = dcnlab("run", "scenario.yaml", "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["held"]
    assert set(answer["results"]["connect-time"]) == {"median_ms", "max_ms", "verdict"}
