"""The memory and the open files that a lab needs are checked before its launch."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import psutil
import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.emulation import capacity
from dcnlab.lab.emulation.capacity import files_needed
from dcnlab.lab.errors import UsageError
from hostagent.options import Mode
from tests.lab import processes
from tests.lab.terminal import DCNLAB
from topos import registry

pytestmark = pytest.mark.lab


def _plan(*words: str) -> tuple[int, dict[str, Any]]:
    done = subprocess.run([*DCNLAB, "plan", *words, "--json"], capture_output=True, text=True, check=False)
    return done.returncode, json.loads(done.stdout)


def test_a_plan_says_what_fits() -> None:
    code, small = _plan("bcube:2,1")
    assert (code, small["fits"], small["servers"], small["switches"]) == (0, True, 4, 4)
    code, large = _plan("bcube:16,3")
    assert (code, large["fits"]) == (1, False)
    needs = {need["what"]: need for need in large["needs"]}
    assert needs["network namespaces"]["needed"] > large["servers"]
    _, alone = _plan("bcube:16,3", "--agents", "host")
    assert {need["what"]: need["needed"] for need in alone["needs"]}["memory"] > needs["memory"]["needed"]


@pytest.mark.parametrize(("spec", "like"), [("torus:10x100", "host"), ("torus:7x11x13", "workers")])
def test_agents_of_more_than_a_thousand_servers_are_together(spec: str, like: Mode) -> None:
    fabric = registry.fabric(spec)
    by_itself, asked = (
        {one.what: one.needed for one in capacity.requirements(fabric, mode)} for mode in ("auto", like)
    )
    assert by_itself == asked


def test_who_lacks_memory_hears_of_workers_where_they_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    fabric = registry.fabric("torus:32x32")
    alone, together = (capacity.memory_needed(fabric, mode) for mode in ("host", "workers"))
    for free, hint in (((alone + together) // 2, True), (together // 2, False)):
        monkeypatch.setattr(capacity, "_available", lambda free=free: free)
        with pytest.raises(UsageError) as refused:
            capacity.check(fabric, "host")
        assert ("`--agents workers` (about" in str(refused.value)) == hint


def test_a_lab_is_no_larger_than_its_plan() -> None:
    """Its processes are compared; the kernel's share is the machine's as a whole."""
    _, plan = _plan("torus:4x4")
    needs = {need["what"]: need["needed"] for need in plan["needs"]}
    with Lab("torus:4x4", "dor") as lab:
        assert lab.pingall().held
        running = processes.inside(lab)
        assert sum(process.memory_full_info().pss for process in running) < needs["memory"]
        assert sum(process.num_threads() for process in running) < needs["processes and threads"]


def _limited(limit: str, *words: str) -> subprocess.CompletedProcess[str]:
    """`dcnlab up` where few files may be open."""
    command = ["bash", "-c", f'ulimit {limit} && exec "$@"', "bash", *DCNLAB, "up", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)


def test_too_few_files_are_one_line() -> None:
    done = _limited("-n 60", "bcube:2,1", "--scheme", "brp", "--test", "pingpairs")
    assert done.returncode == 2
    assert done.stderr.startswith("dcnlab: bcube:2,1 needs up to ")
    assert done.stderr.endswith("open files and 60 are allowed (ulimit -Hn)\n")


def test_a_low_soft_limit_is_raised() -> None:
    """32 links; with the low limit `ip` would stop at the 29th."""
    done = _limited("-Sn 60", "bcube:4,1", "--scheme", "brp", "--test", "pingpairs")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("spec", "scheme", "agents"),
    [
        ("bcube:2,1", "brp", "host"),
        ("fattree:4", "shortest", "host"),
        ("torus:16x16", "dor", "host"),
        ("torus:16x16", "dor", "workers"),
    ],
)
def test_no_program_has_more_open_files_than_estimated(spec: str, scheme: str, agents: Mode) -> None:
    with Lab(spec, scheme, agents=agents):
        most = max(program.num_fds() for program in psutil.Process().children(recursive=True))
    assert 60 < most <= files_needed(registry.fabric(spec), agents)
