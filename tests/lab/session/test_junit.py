"""`dcnlab run --junit`: what continuous integration reads of a scenario."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as XML

import pytest

from tests.lab.lines import dcnlab

SCENARIO = """\
topology: bcube:2,1
scheme: brp
traffic:
  - ping: all
  - path: h0 -> h3
expect:
  - ping.lost == 0
  - path.relays > 5
"""


def run(folder: Path, text: str) -> tuple[int, XML.Element]:
    file, report = folder / "mine.yaml", folder / "reports" / "mine.xml"
    file.write_text(text)
    done = dcnlab("run", file, "--junit", report)
    (suite,) = XML.parse(report).getroot()
    return done.returncode, suite


@pytest.mark.lab
def test_a_case_per_expectation(tmp_path: Path) -> None:
    code, suite = run(tmp_path, SCENARIO)
    assert code == 1
    attributes = {key: suite.attrib[key] for key in ("name", "tests", "failures", "errors")}
    assert attributes == {"name": "mine", "tests": "2", "failures": "1", "errors": "0"}
    held, failed = suite.findall("testcase")
    assert (held.attrib["name"], list(held)) == ("ping.lost == 0", [])
    assert failed.attrib["name"] == "path.relays > 5"
    assert [(one.tag, one.attrib["message"]) for one in failed] == [("failure", "found 1")]
    assert '"held": false' in (suite.findtext("system-out") or "")


@pytest.mark.lab
def test_a_lab_that_does_not_launch_is_an_error(tmp_path: Path) -> None:
    words = f"controller: app:{tmp_path}/none.py"
    code, suite = run(tmp_path, SCENARIO.replace("traffic:", f"options:\n  {words}\ntraffic:"))
    assert code != 0
    assert (suite.attrib["errors"], suite.attrib["tests"]) == ("1", "1")
    assert "none.py" in suite.findall("testcase")[0][0].attrib["message"]
