"""What all tests share: privileged tests run, or say loudly why they cannot."""

from __future__ import annotations

import gc
import os
import re
import readline
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from hypothesis import settings

from tests import kernels
from tests.ovs import PrivateOvs, missing_programs, private_ovs

kernels.keep()
# readline, which pytest's debugger loads, writes the size of a terminal into the environment of children, whose
# tables would follow it.
assert readline
for _variable in ("COLUMNS", "LINES"):
    os.unsetenv(_variable)
    os.environ.pop(_variable, None)
_make_command, _made = typer.main.get_command, dict[tuple[Any, ...], Any]()


def _get_command(app: typer.Typer) -> Any:
    """What typer makes of an application; else it makes all commands again, in 60 ms, for each command line
    that runs in this process."""
    key = (app, *(info.callback for info in app.registered_commands))
    if key not in _made:
        _made[key] = _make_command(app)
    return _made[key]


typer.main.get_command = _get_command

#: `-m` that names markers which a test has or has not; the first marker of all tests of a file.
MARKERS = re.compile(r"(not )?\w+( and (not )?\w+)*")
OF_ALL_TESTS = re.compile(r"^pytestmark = (?:\[\s*)?pytest\.mark\.(\w+)", re.M)

# Machines that run tests are busy; how long an example takes says nothing about it.
settings.register_profile("dcnlab", deadline=None)
# Where it is decided what lands, a commit's tests try the same examples each time; new ones are
# looked for wherever else tests run.
settings.register_profile("deciding", deadline=None, derandomize=True)
settings.load_profile("deciding" if os.environ.get("DCNLAB_REQUIRE_LABS") else "dcnlab")


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--custom FILE.py``: tests of every topology and every scheme then cover those of the file."""
    parser.addoption("--custom", action="append", default=[], metavar="FILE.py", help="as of dcnlab")


#: Modules beside which this run has put kernels.
FRESH = pytest.StashKey[list[Path]]()


def pytest_configure(config: pytest.Config) -> None:
    """Load the files before tests are collected; let the processes that tests start have compiled kernels."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        config.stash[FRESH] = kernels.lend()
    if files := config.getoption("--custom"):
        from dcnlab.lab import custom

        custom.load(files)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Modules and tests stay until the end, so Python need not look for unreachable cycles among them again
    and again: with ten thousand tests that takes longer than most of them."""
    gc.disable()
    try:
        yield
    finally:
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, 20, 20)
        gc.enable()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Keep what those processes compiled."""
    kernels.collect(config.stash.get(FRESH, []))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `-m`, files are not read whose tests it leaves out: to import them all takes ten seconds."""
    wanted = MARKERS.fullmatch(config.option.markexpr or "")
    if not wanted or collection_path.suffix != ".py":
        return None
    text = collection_path.read_text()
    terms = wanted[0].split(" and ")
    lacking = any(f"mark.{term}" not in text for term in terms if not term.startswith("not "))
    whole = OF_ALL_TESTS.search(text)
    return True if lacking or (whole and f"not {whole[1]}" in terms) else None


@pytest.fixture(scope="session")
def ovs() -> Iterator[PrivateOvs]:
    """One private Open vSwitch for all tests of a process; they remove the bridges they add."""
    missing = missing_programs()
    if missing and not os.environ.get("DCNLAB_REQUIRE_LABS"):
        pytest.skip(f"not installed: {', '.join(missing)}")
    with private_ovs() as running:
        yield running


@pytest.fixture
def open_path() -> Iterator[Path]:
    """An empty folder that other users may pass: pytest closes the one above `tmp_path` to them whenever
    another run of the same user begins."""
    with tempfile.TemporaryDirectory(prefix="dcnlab-") as folder:
        path = Path(folder)
        path.chmod(0o755)
        yield path


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that share a lab run on one worker.  A lab test on a machine that cannot run labs is skipped,
    in CI it fails."""
    labs = [item for item in items if item.get_closest_marker("lab")]
    for item in labs:
        if shares(item) and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
    if not labs or os.environ.get("DCNLAB_REQUIRE_LABS"):
        return
    from dcnlab.lab.doctor.checks import examine

    lacks = [f"{finding.what}: {finding.found}" for finding in examine() if finding.state == "missing"]
    if lacks:
        for item in labs:
            item.add_marker(pytest.mark.skip(reason="; ".join(lacks)))


def shares(item: pytest.Item) -> bool:
    """True if the test has something in common with others of its module, such as a lab: two workers would
    each launch one."""
    fixtures = item._fixtureinfo.name2fixturedefs if isinstance(item, pytest.Function) else {}
    return any(definition.scope == "module" for definitions in fixtures.values() for definition in definitions)
