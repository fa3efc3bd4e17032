"""The examples in Python run.

Scenarios run in test_scenarios.py, the controller application with the console of docs/controllers.md, and
test_documents.py compares the list of examples.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from release import examples

ROOT = Path(__file__).parents[3]
#: Python files that are programs of their own.
PROGRAMS = [path for path in examples.examples() if examples.command(path).startswith("python ")]


def test_make_runs_them_all() -> None:
    assert "python -m tests.examples" in (ROOT / "Makefile").read_text()
    done = subprocess.run(
        [sys.executable, "-m", "tests.examples", "nosuch"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no example nosuch: there are bcube-cut, " in done.stderr


@pytest.mark.lab
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_programs_run(path: Path) -> None:
    words = [sys.executable, "-m", "tests.examples", path.stem]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith("1 examples: 0 failed\n")
