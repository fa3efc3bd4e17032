"""Wrong command lines and files: one line, exit code 2 (1 where a lab is missing), never a traceback or a hang.

`make soak` runs 1500 of them.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz import lines, trial

SEED = 24


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No lab of others runs, and what is written goes to an empty folder."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def test_wrong_lines_end_with_one_line() -> None:
    for words in itertools.islice(lines.lines(SEED), 60):
        assert trial.trial(words) == "", words


def test_wrong_files_end_with_one_line(tmp_path: Path) -> None:
    for name, data in itertools.islice(lines.files(SEED), 40):
        (tmp_path / name).write_bytes(data)
        words = lines.about(name)
        assert trial.trial(words) == "", (words, data)


def test_processes_of_their_own_end_alike() -> None:
    for words in itertools.islice(lines.lines(SEED + 1), 4):
        command = [sys.executable, "-m", "dcnlab.cli", *words]
        done = subprocess.run(command, capture_output=True, check=False, timeout=600)
        said = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        assert trial.judge(words, done.returncode, *said) == "", words
