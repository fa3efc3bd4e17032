"""ARCHITECTURE.md's walk of `dcnlab fail` is what runs, on one machine and on three."""

from __future__ import annotations

import json
import re
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.lab.cluster import servers
from tests.lab.machines import attached, name
from tests.lab.terminal import DCNLAB

ROOT = Path(__file__).parents[3]
SECTION = (ROOT / "ARCHITECTURE.md").read_text().partition("## `dcnlab fail`")[2].partition("\n## ")[0]
#: The files of the walk, in its order, and all that the section names.
WALK = re.findall(r"^\| \d \| `([\w/.]+\.py)`", SECTION, re.MULTILINE)
NAMED = re.findall(r"`([\w/]+(?:\.py|/))`", SECTION)


class Entry(NamedTuple):
    """A function of a file of the walk was entered at a time of the monotonic clock; the files of its callers,
    the nearest first."""

    at: float
    file: str
    callers: list[str]


def is_named(file: str) -> bool:
    """Whether the section names a file, by its path, its name or its folder."""
    return any(file.startswith(one) if one.endswith("/") else f"/{file}".endswith(f"/{one}") for one in NAMED)


def is_direct(entry: Entry) -> bool:
    """Whether only files that the section names are between this one and the first of the walk on the stack."""
    last = max((at for at, file in enumerate(entry.callers) if file in WALK), default=0)
    return all(map(is_named, entry.callers[:last]))


def test_the_walk_has_at_most_eight_files() -> None:
    assert 0 < len(WALK) == len(set(WALK)) <= 8
    assert [file for file in WALK if not (ROOT / file).is_file()] == []


@pytest.mark.lab
@pytest.mark.xdist_group("machines")
@pytest.mark.parametrize("machines", [1, 3])
def test_fail_runs_through_these_files(machines: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notes, lab_name = tmp_path / "notes", name()
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1] / "walk"))
    monkeypatch.setenv("WALK", json.dumps([[str(ROOT / file) for file in WALK], f"{ROOT}/", str(notes)]))
    if machines == 1:
        words = ["up", "bcube:2,1", "--scheme", "brp", "-d", "--name", lab_name]
        subprocess.run([*DCNLAB, *words], check=True, capture_output=True)
        with attached(lab_name):
            entries = while_a_link_fails(lab_name, notes)
    else:
        with servers(machines, tmp_path) as three:
            three.launched(lab_name, "bcube:2,1", "--scheme", "brp")
            with attached(lab_name):
                entries = while_a_link_fails(lab_name, notes)
    assert sorted({entry.file for entry in entries if is_direct(entry)}) == sorted(WALK)


def while_a_link_fails(lab: str, notes: Path) -> list[Entry]:
    """What is entered from the command on until the lab has converged."""
    begun = time.monotonic()
    subprocess.run([*DCNLAB, "fail", lab, "link", "h0", "s0"], check=True, capture_output=True)
    entries = [Entry(*json.loads(line)) for line in notes.read_text().splitlines()]
    return [entry for entry in entries if entry.at >= begun]
