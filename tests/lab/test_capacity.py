"""What a lab needs: `dcnlab plan` shows it, and memory and open files are checked before a launch."""

from __future__ import annotations

import json
import subprocess

import psutil
import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.emulation.capacity import files_needed, needs, processes_needed
from tests.lab.terminal import DCNLAB
from topos import registry

pytestmark = pytest.mark.lab


def _limited(limit: str, *words: str) -> subprocess.CompletedProcess[str]:
    """`dcnlab up` where few files may be open."""
    command = ["bash", "-c", f'ulimit {limit} && exec "$@"', "bash", *DCNLAB, "up", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_too_few_files_are_one_line() -> None:
    done = _limited("-n 60", "bcube:2,1", "--scheme", "brp", "--test", "pingpairs")
    assert done.returncode == 2
    assert done.stderr.startswith("dcnlab: bcube:2,1 needs up to ")
    assert done.stderr.endswith("open files and 60 are allowed (ulimit -Hn)\n")


def test_a_low_soft_limit_is_raised() -> None:
    """32 links; with the low limit `ip` would stop at the 29th."""
    done = _limited("-Sn 60", "bcube:4,1", "--scheme", "brp", "--test", "pingpairs")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("spec", "scheme"), [("bcube:2,1", "brp"), ("fattree:4", "shortest")])
def test_no_program_has_more_open_files_than_estimated(spec: str, scheme: str) -> None:
    with Lab(spec, scheme):
        most = max(program.num_fds() for program in psutil.Process().children(recursive=True))
    assert 60 < most <= files_needed(registry.fabric(spec))


@pytest.mark.parametrize(
    ("spec", "scheme", "agents"),
    [("bcube:2,1", "brp", "host"), ("bcube:4,1", "brp", "workers"), ("fattree:4", "shortest", "host")],
)
def test_a_lab_has_as_many_processes_as_planned(spec: str, scheme: str, agents: str) -> None:
    with Lab(spec, scheme, agents=agents):
        found = len(psutil.Process().children(recursive=True))
    assert found == processes_needed(registry.fabric(spec), agents == "host")


def _plan(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*DCNLAB, "plan", *words], capture_output=True, text=True, check=False)


def test_a_plan_says_what_fits() -> None:
    done = _plan("bcube:4,1", "--scheme", "brp", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["fits"]
    needed = {need["resource"]: need["needed"] for need in found["needs"]}
    assert needed["ports"] == 64
    assert needed["network namespaces"] == 1 + 16 + 1  # the lab's own, the servers', the switches'
    assert [need.needed for need in needs(registry.fabric("bcube:4,1"))] == list(needed.values())


def test_a_plan_that_does_not_fit_is_exit_code_1() -> None:
    """262,144 servers, with 3 MB each."""
    done = _plan("hypercube:18", "--scheme", "wmgr")
    assert done.returncode == 1, done.stderr
    lines = {line.split("  ")[0]: line.split()[-1] for line in done.stdout.splitlines()}
    assert lines["memory"] == "NO"
    assert lines["ports"] == "yes"


def test_a_plan_refuses_what_cannot_be_launched_at_any_size() -> None:
    done = _plan("bcube:4,1", "--scheme", "hrsw")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
