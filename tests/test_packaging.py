"""Dependencies, constraints, the changelog of a release, and the virtual environment that make makes."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tomllib
import venv
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from release import changelog, constraints

ROOT = Path(__file__).parents[1]
VENV_SCRIPT = ROOT / "vagrant" / "venv.sh"


def script(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", VENV_SCRIPT, *words], capture_output=True, text=True, check=False)


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def test_the_constraints_can_be_installed_on_debian_12() -> None:
    """Its Python is 3.11.2; the one that runs this may be newer, and take versions that need a newer one."""
    refused = {}
    for name, version in pins().items():
        with contextlib.suppress(metadata.PackageNotFoundError):
            package = metadata.metadata(name)
            # No dictionary: it has no `get` by its type.
            needs = package["Requires-Python"] if "Requires-Python" in package else ""  # noqa: SIM401
            if package["Version"] == version and "3.11.2" not in SpecifierSet(needs):
                refused[name] = needs
    assert refused == {}


def test_the_constraints_fit_the_requirements() -> None:
    known = pins()
    held = [one for one in constraints.requirements() if constraints.canonicalize_name(one.name) in known]
    assert len(held) > 20
    for one in held:
        assert one.specifier.contains(known[constraints.canonicalize_name(one.name)]), str(one)


def test_every_dependency_has_a_floor_and_checkers_are_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for text in project["dependencies"]:
        assert {one.operator for one in Requirement(text).specifier} & {">=", "=="}, text
    assert all([one.operator for one in Requirement(t).specifier] == ["=="]
               for t in project["optional-dependencies"]["lint"])  # fmt: skip


def test_a_release_takes_what_is_unreleased() -> None:
    before = "# Changelog\n\n## Unreleased\n\n- Labs run.\n\n## 0.1.0 - 2026-01-01\n\n- First.\n"
    after = changelog.with_release(before, "0.2.0", "2026-02-03")
    assert "## Unreleased\n\n## 0.2.0 - 2026-02-03\n\n- Labs run.\n\n## 0.1.0 - 2026-01-01\n" in after
    with pytest.raises(ValueError, match="nothing stands"):
        changelog.entries(after)
    with pytest.raises(ValueError, match="already has"):
        changelog.with_release(before, "0.1.0", "2026-02-03")


def test_an_old_python_is_one_line(tmp_path: Path) -> None:
    old = tmp_path / "python3"
    patch = "import platform, sys; sys.version_info = (3, 10); platform.python_version = lambda: '3.10.12'"
    old.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{patch}\n$2"\n')
    old.chmod(0o755)
    done = script("make", old, tmp_path / "env")
    assert done.returncode == 2
    assert done.stderr == (
        f"dcnlab needs Python 3.11 or later, and {old} is 3.10.12: install one, "
        "then `make PYTHON=python3.11 ...`\n"
    )
    assert not (tmp_path / "env").exists()
    absent = script("make", tmp_path / "none", tmp_path / "env")
    assert (absent.returncode, absent.stderr.count("\n")) == (2, 1)


def test_a_python_of_32_bits_is_one_line(tmp_path: Path) -> None:
    small = tmp_path / "python3"
    small.write_text(f'#!/bin/sh\nexec {sys.executable} -c "import sys; sys.maxsize = 2**31 - 1\n$2"\n')
    small.chmod(0o755)
    done = script("make", small, tmp_path / "env")
    assert done.returncode == 2
    assert done.stderr == (
        f"dcnlab needs a 64-bit Python, since numba has no 32-bit one, and {small} has 32 bits\n"
    )
    assert not (tmp_path / "env").exists()


def test_an_environment_that_does_not_work_is_removed_and_no_other(tmp_path: Path) -> None:
    whole, half, other = tmp_path / "whole", tmp_path / "half", tmp_path / "other"
    assert script("make", sys.executable, whole).returncode == 0
    assert script("stale", whole).stderr == ""
    assert (whole / "bin" / "pip").exists()
    venv.create(half, symlinks=True)  # as an interrupted try leaves it: without pip
    assert script("stale", half).stderr == f"{half} does not work here: it is made again\n"
    assert not half.exists()
    other.mkdir()  # no virtual environment
    assert script("stale", other).stderr == ""
    assert other.exists()
    moved = whole.rename(tmp_path / "moved")  # its programs name the folder that it was in
    script("stale", moved)
    assert not moved.exists()
