"""A lab whose program was replaced says so."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dcnlab.lab.control import upgrade

ROOT = Path(upgrade.__file__).parents[3]
#: It launches a lab with a copy of the program, and replaces two files of the copy.
SCRIPT = """
set -e
dcnlab() { "$0" -P -m dcnlab.cli "$@" 2>&1; }
dcnlab up torus:2 --scheme pow -d --name old
trap 'dcnlab down old > /dev/null' EXIT
! dcnlab ps | grep replaced
sed -i 's/def run(/def former(/' dcnlab/lab/inspection/explain.py dcnlab/lab/measurement/trace.py
touch dcnlab/lab/running/lab.py
dcnlab ps
dcnlab trace old h0 h1 || true
"""


def test_a_newer_file_of_any_package_counts(tmp_path: Path) -> None:
    file = tmp_path / "topos" / "deep" / "new.py"
    file.parent.mkdir(parents=True)
    file.touch()
    begun = time.time()
    os.utime(file, (begun - 10, begun - 10))
    assert not upgrade.all_replaced(tmp_path, begun)
    os.utime(file, (begun + 10, begun + 10))
    assert upgrade.all_replaced(tmp_path, begun)


@pytest.mark.lab
def test_a_lab_says_that_its_program_was_replaced(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    for package in upgrade._PACKAGES:
        shutil.copytree(ROOT / package, copy / package, copy_function=shutil.copy)
    environment = {**os.environ, "PYTHONPATH": str(copy), "XDG_RUNTIME_DIR": str(tmp_path)}
    done = subprocess.run(
        ["bash", "-c", SCRIPT, sys.executable],
        cwd=copy,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert upgrade.NOTE in done.stdout
