"""``dcnlab check``: a scenario's expectations against a lab that runs already."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from dcnlab.lab.client import Lab
from tests.lab.lines import dcnlab
from tests.lab.shared import SHARED

pytestmark = [pytest.mark.lab, *SHARED]
SCENARIO = """
topology: bcube:2,1
scheme: brp
traffic:
  - ping: all
  - path: h0 -> h3
    at: 100ms
events:
  - at: 50ms
    fail: link h0 s0
    name: cut
expect:
  - lab.servers == 4
  - ping.lost == 0
  - path.links == 4
  - cut.links == 1
"""


def check(lab: Lab, path: Path, text: str, *words: str) -> subprocess.CompletedProcess[str]:
    path.write_text(text)
    return dcnlab("check", lab.config.name, path, *words)


def test_a_check_leaves_the_lab_as_it_is(lab: Lab, tmp_path: Path) -> None:
    done = check(lab, tmp_path / "scenario.yaml", SCENARIO, "--json")
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["held"]) == (0, True), done.stderr
    assert [item["text"] for item in answer["expect"]] == [
        "lab.servers == 4", "ping.lost == 0", "path.links == 4",
    ]  # fmt: skip
    assert lab.info()["down"] == []


def test_what_does_not_hold_and_what_is_another_lab(lab: Lab, tmp_path: Path) -> None:
    path = tmp_path / "scenario.yaml"
    assert check(lab, path, SCENARIO.replace("path.links == 4", "path.links == 2")).returncode == 1
    done = check(lab, path, SCENARIO.replace("scheme: brp", "scheme: shortest"))
    assert done.returncode == 2
    assert "is bcube:2,1 with brp, but the scenario is bcube:2,1 with shortest" in done.stderr


def test_failures_are_caused_when_asked_for(lab: Lab, tmp_path: Path) -> None:
    text = SCENARIO.replace("ping.lost == 0", "ping.sent == 12")  # the cut may meet some of them
    done = check(lab, tmp_path / "scenario.yaml", text, "--events", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["results"]["cut"]["links"] == 1
    assert lab.pingall().lost == []
    assert len(lab.info()["down"]) == 1
    assert any(record.kind == "command" and "fail" in record.event.text() for record in lab.events())
