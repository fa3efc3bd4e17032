"""Chaos in real labs: intact ones hold, and the steps that reveal a fault are shrunk to those that do."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.lab import lines
from tests.lab.terminal import DCNLAB

pytestmark = pytest.mark.lab

#: A scheme whose switches keep their tables when a second link fails.
FAULTY = '''
from dataclasses import dataclass
from typing import ClassVar

from addressing.scheme import Scheme
from addressing.schemes.shortest import Shortest


@dataclass(frozen=True)
class Forgetful(Shortest):
    """Shortest paths, but of failures after the first the switches learn nothing."""

    name: ClassVar[str] = "forgetful"
    summary: ClassVar[str] = "shortest paths with a fault"

    def keeps_table(self, at: int, before: Scheme) -> bool:
        return len(self.known.down) > 1 or super().keeps_table(at, before)
'''


def dcnlab(*words: object) -> subprocess.CompletedProcess[str]:
    """A process of its own: it loads a scheme that other tests must not see."""
    return subprocess.run([*DCNLAB, *map(str, words)], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("topology", "options"),
    [
        ("bcube:2,1", ("--scheme", "brp", "--seed", 7)),
        ("bcube:2,1", ("--scheme", "brp", "--multipath", 2, "--load-balance", "probe", "--seed", 11)),
        ("torus:3x3", ("--scheme", "pow", "--autoconfigure", "--seed", 8)),
        ("jellyfish:3,4,2", ("--scheme", "ecmp", "--seed", 9)),
    ],
    ids=["plain", "multipath", "unconfigured", "plain hosts"],
)
def test_labs_hold(topology: str, options: tuple[object, ...]) -> None:
    done = lines.dcnlab("chaos", topology, *map(str, options), "--steps", "4", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    answer = json.loads(done.stdout)
    assert (answer["held"], answer["steps"], answer["violated"], answer["scenario"]) == (True, 4, [], "")
    assert answer["pings"] >= 4 * 12


def test_a_fault_is_shrunk_to_a_scenario_that_shows_it(tmp_path: Path) -> None:
    """The slow link is left out, two failures remain; without the fault their scenario holds."""
    scheme, scenario = tmp_path / "forgetful.py", tmp_path / "failing.yaml"
    scheme.write_text(FAULTY)
    done = dcnlab(
        "chaos", "jellyfish:3,4,2", "--scheme", "forgetful", "--custom", scheme, "--seed", 25, "--steps", 2,
        "--shrink", 12, "--within", 10, "--save", scenario, "--json",
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    answer = json.loads(done.stdout)
    assert answer["repeated"]
    assert "wrong_tables" in answer["violated"]
    faults = [fault for step in answer["shrunk"] for fault in step]
    assert 1 <= len(faults) <= 2
    assert all(fault.startswith("fail ") for fault in faults), faults
    assert answer["scenario"] == scenario.read_text()
    again = dcnlab("run", scenario, "--json")
    assert again.returncode == 1, again.stderr
    assert not all(one["held"] for one in json.loads(again.stdout)["expect"])
    scenario.write_text(scenario.read_text().replace("scheme: forgetful", "scheme: shortest"))
    right = dcnlab("run", scenario)
    assert right.returncode == 0, right.stdout + right.stderr


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--no-supervise",), "leave --no-supervise out"),
        (("--controller", "none"), "leave --controller out"),
        (("--for", "soon"), "'--for': must be a time"),
        (("--steps", "0"), "--steps"),
    ],
)
def test_what_cannot_be_checked_is_one_line(words: tuple[str, ...], text: str) -> None:
    done = lines.dcnlab("chaos", "bcube:2,1", "--scheme", "brp", *words)
    assert done.returncode == 2
    assert text in done.stderr
    assert len(done.stderr.splitlines()) == 1
