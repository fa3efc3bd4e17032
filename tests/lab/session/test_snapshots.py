"""What clients see is what the files of tests/snapshots say; a change that is meant changes them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests import snapshots


def assert_as_before(folder: Path, wanted: Sequence[str], files: Sequence[str]) -> None:
    """In a process of its own: other tests may have loaded schemes and measurements into this one."""
    words = [sys.executable, "-m", "tests.snapshots", "--into", str(folder), *wanted]
    done = subprocess.run(words, cwd=snapshots.FOLDER.parents[1], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for name in files:
        again = "if the change is meant, write the snapshots again: python -m tests.snapshots"
        assert (folder / name).read_text() == (snapshots.FOLDER / name).read_text(), again


def test_help_is_as_before(tmp_path: Path) -> None:
    assert_as_before(tmp_path, ["help"], [snapshots.HELP])


@pytest.mark.lab
def test_http_requests_answers_and_journal_are_as_before(tmp_path: Path) -> None:
    assert_as_before(tmp_path, ["lab"], snapshots.OF_LAB)
