"""action.yml: the steps of the GitHub Action, run here with the variables that GitHub sets."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as XML

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[3]


@pytest.mark.lab
def test_the_scenarios_of_a_pattern_are_run_and_reported(tmp_path: Path) -> None:
    steps = {
        step["name"]: step for step in YAML(typ="safe").load((ROOT / "action.yml").read_text())["runs"]["steps"]
    }
    assert list(steps) == ["install", "run"]
    for step in steps.values():
        subprocess.run(["bash", "-n"], input=step["run"], text=True, check=True)
    installed = tmp_path / "temp" / "dcnlab" / "bin"  # what the first step would install
    installed.mkdir(parents=True)
    (installed / "dcnlab").write_text(f'#!/bin/sh\nexec {sys.executable} -m dcnlab.cli "$@"\n')
    (installed / "dcnlab").chmod(0o755)
    held = "topology: bcube:2,1\nscheme: brp\ntraffic:\n  - ping: h0 -> h3\nexpect:\n  - ping.lost == 0\n"
    (tmp_path / "a.yaml").write_text(held)
    (tmp_path / "b.yaml").write_text(held.replace("== 0", "== 9"))
    variables = {"RUNNER_TEMP": str(tmp_path / "temp"), "SCENARIOS": "*.yaml", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", steps["run"]["run"].replace("sudo ", "")],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env=os.environ | variables,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    failures = {path.stem: XML.parse(path).getroot()[0].attrib["failures"]
                for path in (tmp_path / "dcnlab-reports").iterdir()}  # fmt: skip
    assert failures == {"a": "0", "b": "1"}
