"""dcnlab where people put it: installed from a wheel, or a clone on the search path and not installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import numpy
import pytest

from controller.applications import INSTALL
from tests import private_openvswitch

ROOT = Path(__file__).parents[3]
PACKAGES = ("topos", "addressing", "hostagent", "controller", "dcnlab")
#: Where the packages that dcnlab needs are installed; a `.pth` file lends them to another environment.
THIRD_PARTY = Path(numpy.__file__).parents[1]
SCRIPT = """\
import sys
sys.path.insert(0, {clone!r})
from dcnlab import Lab
with Lab("bcube:2,1", scheme="brp") as lab:
    assert lab.pingall().received == 12
    print(lab.run("h0", [sys.executable, "-P", "-c", "import dcnlab; print(dcnlab.__file__)"]).stdout)
"""


def pip(*words: str) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what is in version control, or would be: building leaves the clone as it is."""
    folder = tmp_path_factory.mktemp("project") / "dcnlab"
    words = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(words, capture_output=True, text=True, check=True).stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def wheel(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the source distribution, as package registries and distributions do."""
    folder = tmp_path_factory.mktemp("built")
    pip("install", "--target", str(folder / "hatchling"), "hatchling", "hatch-vcs")
    words = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(folder)]
    variables = {"PYTHONPATH": str(folder / "hatchling"), "SETUPTOOLS_SCM_PRETEND_VERSION": "7.8.9"}
    environment = {**os.environ, **variables}
    subprocess.run(words, cwd=project, env=environment, capture_output=True, check=True)
    (source,) = folder.glob("*.tar.gz")
    (folder / "source").mkdir()
    # Python's tarfile warns without `filter` since 3.12, and does not know it before 3.11.4.
    subprocess.run(["tar", "-xf", source, "-C", folder / "source"], check=True)
    (unpacked,) = (folder / "source").iterdir()
    words = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    del environment["SETUPTOOLS_SCM_PRETEND_VERSION"]  # the source distribution knows its version
    subprocess.run(words, cwd=unpacked, env=environment, capture_output=True, check=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """A virtual environment that has the packages that dcnlab needs, but not dcnlab itself."""
    folder = tmp_path / "environment"
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python3*/site-packages")
    (packages / "third-party.pth").write_text(f"{THIRD_PARTY}\n")
    return folder


def run(folder: Path, *words: str | Path) -> str:
    folder.mkdir(exist_ok=True)
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(words, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.lab
def test_a_lab_runs_from_the_wheel_alone(wheel: Path, environment: Path, tmp_path: Path) -> None:
    pip("--python", str(environment / "bin" / "python"), "install", "--no-deps", "--no-index", str(wheel))
    program, empty = environment / "bin" / "dcnlab", tmp_path / "empty"
    words = ("up", "bcube:2,1", "--scheme", "brp", "--test", "pingall", "--json")
    assert run(empty, program, "--version") == "dcnlab 7.8.9\n"
    assert json.loads(run(empty, program, *words))["received"] == 12
    assert json.loads(run(empty, program, "run", "bcube-cut", "--json"))["held"] is True
    assert list(empty.iterdir()) == []
    file = run(empty, program, "mn-file").strip()  # for stock Mininet
    assert Path(file).is_relative_to(environment)
    words = (
        f"--custom {file} --topo bcube,2,1 --switch scheme --host relay --controller scheme,brp --test pingall"
    )
    for mn in private_openvswitch.PROGRAMS:
        done = private_openvswitch.run(private_openvswitch.program(mn), *words.split(), folder=empty)
        assert "(12/12 received)" in done.stderr + done.stdout, done.stderr
    where = "import dcnlab, topos, controller; print(dcnlab.__file__, topos.__file__, controller.__file__)"
    for file in run(empty, environment / "bin" / "python", "-c", where).split():
        assert Path(file).is_relative_to(environment)


@pytest.mark.lab
def test_the_line_that_messages_give_installs_ryu(tmp_path: Path) -> None:
    venv.create(tmp_path / "ryu", with_pip=True)
    path = f"{tmp_path / 'ryu' / 'bin'}:{os.environ['PATH']}"
    words = ["bash", "-c", f"{INSTALL['ryu']} && python -c 'import ryu.ofproto.ofproto_v1_3'"]
    done = subprocess.run(words, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert INSTALL["ryu"] in (ROOT / "docs" / "controllers.md").read_text()


def test_the_wheel_holds_the_packages_examples_and_licence_and_no_more(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (points,) = (name for name in names if name.endswith(".dist-info/entry_points.txt"))
        assert "[pytest11]\ndcnlab = dcnlab.pytest_plugin" in archive.read(points).decode()
    top = {name.split("/")[0] for name in names}
    assert {name for name in top if not name.endswith(".dist-info")} == set(PACKAGES)
    assert {f"{package}/py.typed" for package in PACKAGES} <= names
    files = (path for path in (ROOT / "examples").rglob("*") if path.is_file() and path.suffix != ".pyc")
    assert {f"dcnlab/examples/{path.relative_to(ROOT / 'examples')}" for path in files} <= names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


@pytest.mark.lab
def test_a_lab_runs_from_a_clone_that_is_not_installed(
    project: Path, environment: Path, tmp_path: Path
) -> None:
    """A script that extends ``sys.path``: the processes of the lab find the packages as well."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(clone=str(project)))
    shown = run(tmp_path / "empty", environment / "bin" / "python", script)
    assert Path(shown.strip()).is_relative_to(project)
