"""The pytest plugin as users run it: pytest in a folder of their own, with real labs."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from xml.etree import ElementTree as XML

import pytest

TESTS = """\
import pytest

pytestmark = pytest.mark.dcnlab("bcube:2,1", scheme="brp")
names = []


def test_a_cut(lab):
    names.append(lab.config.name)
    lab.fail("h0", "s0")
    assert "s0" not in lab.route("h0", "h1")


def test_the_same_lab_with_the_link_restored(lab):
    assert [lab.config.name] == names
    assert lab.route("h0", "h1") == ["h0", "s0", "h1"]


class TestMore:
    @pytest.mark.dcnlab("bcube:2,1", scheme="brp", scope="function", seed=7)
    def test_a_lab_of_its_own(self, lab):
        assert lab.config.name not in names

    def test_that_fails(self, lab):
        lab.fail("h0", "s0")
        assert lab.pingall().received == 0

    def test_that_ends_the_lab(self, lab):
        lab.stop()

    def test_a_new_lab(self, lab):
        assert lab.pingall().lost == []


@pytest.mark.dcnlab("bcube:2,1", scheme="brp", colour="blue")
def test_a_wrong_option(lab):
    pass


@pytest.mark.dcnlab("bcube:2,1", scope="class")
def test_a_wrong_scope(lab):
    pass
"""
OTHER = """\
import pytest


@pytest.mark.dcnlab("bcube:2,1", scheme="shortest", scope="session")
@pytest.mark.parametrize("pair", [("h0", "h3"), ("h1", "h2")])
def test_both(lab, pair):
    assert lab.ping(*pair).received == 1


def test_without_a_marker(lab):
    pass
"""


def run(folder: Path, *words: str) -> tuple[str, dict[str, str]]:
    """What pytest printed, and how each test ended."""
    report = folder / "report.xml"
    own = [] if entry_points(group="pytest11", name="dcnlab") else ["-p", "dcnlab.pytest_plugin"]
    command = [sys.executable, "-P", "-m", "pytest", "-p", "no:cacheprovider", "--strict-markers"]
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    done = subprocess.run(
        [*command, *own, f"--junitxml={report}", *words],
        cwd=folder, env=variables, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert report.exists(), done.stdout + done.stderr
    ends = {}
    for case in XML.parse(report).getroot().iter("testcase"):
        ends[case.attrib["name"]] = next((end.tag for end in case if end.tag in ("failure", "error")), "passed")
    return done.stdout, ends


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("users")
    (folder / "test_cuts.py").write_text(TESTS)
    (folder / "test_other.py").write_text(OTHER)
    (folder / "pytest.ini").write_text("[pytest]\n")
    return folder


@pytest.mark.lab
def test_labs_are_shared_restored_and_replaced(folder: Path) -> None:
    shown, ends = run(folder, "test_cuts.py")
    bad = {name: end for name, end in ends.items() if end != "passed"}
    assert bad == {"test_that_fails": "failure", "test_a_wrong_option": "error", "test_a_wrong_scope": "error"}
    assert len(ends) == 8, shown
    assert "dcnlab log of lab" in shown
    assert "session INFO launch" in shown
    assert "dcnlab events of lab" in shown
    assert "converged" in shown.partition("dcnlab events of lab")[2]
    assert "no lab: there is no option colour" in shown
    assert "dcnlab: scope is one of function, module, session, not 'class'" in shown


@pytest.mark.lab
def test_it_works_under_xdist(folder: Path) -> None:
    shown, ends = run(folder, "-n", "2", "test_other.py")
    assert list(ends.values()).count("passed") == 2, shown
    assert ends["test_without_a_marker"] == "error"
    assert "needs @pytest.mark.dcnlab" in shown
