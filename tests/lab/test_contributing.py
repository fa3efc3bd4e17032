"""The worked example of CONTRIBUTING.md: a topology in one file, a scheme in one file, and all of it works."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = ("topos", "addressing", "hostagent", "controller", "dcnlab", "tests", "pyproject.toml")
_FILE = re.compile(r"This is all of `(?P<name>[\w/.]+)`:\s+```python\n(?P<code>.*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The project with the files that CONTRIBUTING.md shows, and no other change."""
    folder = tmp_path_factory.mktemp("project")
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / part)
    shown = list(_FILE.finditer((ROOT / "CONTRIBUTING.md").read_text()))
    assert [found["name"] for found in shown] == ["topos/families/ring.py", "addressing/schemes/roundabout.py"]
    for found in shown:
        (folder / found["name"]).write_text(found["code"])
    yield folder
    shutil.rmtree(folder)


def run(copy: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    return subprocess.run(
        [sys.executable, "-m", *words], cwd=copy, env=environment, capture_output=True, text=True, check=False
    )


def test_the_registries_find_both(copy: Path) -> None:
    found = json.loads(run(copy, "dcnlab.cli", "list", "--json").stdout)
    ring = next(t for t in found["topologies"] if t["name"] == "ring")
    assert {"roundabout", "shortest", "wmgr"} <= set(ring["schemes"])
    done = run(copy, "dcnlab.cli", "path", "ring:6", "--scheme", "roundabout", "h0", "h4", "--json")
    assert json.loads(done.stdout)["path"] == ["h0", "h5", "h4"]
    assert "n must be at least 3" in run(copy, "dcnlab.cli", "topology", "ring:2").stderr


def test_the_tests_of_every_family_and_pair_cover_them(copy: Path) -> None:
    files = ("tests/topos/test_every_family.py", "tests/addressing/test_every_pair.py")
    done = run(copy, "pytest", "-q", "-p", "no:cacheprovider", "-k", "ring or roundabout", *files)
    assert done.returncode == 0, done.stdout
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) >= 10, done.stdout


def test_they_are_clean(copy: Path) -> None:
    files = ["topos/families/ring.py", "addressing/schemes/roundabout.py"]
    for words in (["ruff", "check", *files], ["ruff", "format", "--check", *files], ["mypy", *files]):
        done = run(copy, *words)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.lab
def test_they_run_as_a_lab(copy: Path) -> None:
    words = ("up", "ring:6", "--scheme", "roundabout", "--test", "pingall", "--json")
    done = run(copy, "dcnlab.cli", *words)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["sent"], found["received"]) == (30, 30)
