"""What `ps` and `doctor` say of a lab that does not answer: what it does, not that it is being launched."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.control import holders, runtime
from dcnlab.lab.methods import asking
from tests.lab.lines import dcnlab
from tests.lab.stopping import guard_of, holder, stopped
from tests.ovs import poll

pytestmark = pytest.mark.lab


def state_in_ps(name: str) -> str:
    """What `ps` says of a lab; empty where it lists none of that name."""
    rows = json.loads(dcnlab("ps", "--json").stdout)
    return next((str(row["state"]) for row in rows if row["name"] == name), "")


def test_a_lab_that_works_is_busy_and_not_being_launched(monkeypatch: pytest.MonkeyPatch) -> None:
    with Lab("bcube:2,1", "brp") as lab:
        name, path = lab.config.name, runtime.socket_path(lab.config.name)
        assert state_in_ps(name) == "running"
        with monkeypatch.context() as patch:
            patch.setattr(asking, "_INFO_TIMEOUT", 0.0)  # hardly any answer comes as soon
            poll(lambda: asking.try_info(path) == {"silent": "busy"}, 60)
            poll(lambda: state_in_ps(name) == "busy", 60)
            poll(lambda: f"{name} does not answer yet: it works, or hangs" in dcnlab("ps").stdout, 60)
            poll(lambda: "it works, or hangs" in dcnlab("doctor", name).stdout, 60)
        assert state_in_ps(name) == "running"


def test_a_lab_is_starting_until_it_answers(programs: Path) -> None:
    launching = subprocess.Popen(
        [programs / "dcnlab", "up", "bcube:4,2", "--scheme", "brp", "--detach", "--name", "slow"]
    )
    try:
        poll(lambda: bool(holders.guard_at(str(runtime.socket_path("slow")))), 60)
        guard = holders.guard_at(str(runtime.socket_path("slow")))
        seen = [holders.phase(guard)]
        while launching.poll() is None:
            seen.append(holders.phase(guard))
        assert launching.returncode == 0
        assert seen[0] == "starting"
        assert seen == sorted(seen, key=["starting", "busy"].index)
        assert holders.phase(guard) == "busy"
    finally:
        launching.wait()
        dcnlab("down", "slow")


@pytest.mark.parametrize("which", ["session", "init"])
def test_a_lab_whose_processes_were_killed_is_ending_until_nothing_is_left(which: str) -> None:
    """The guard is stopped, so that it cannot end: as one that waits until the kernel has removed devices."""
    with Lab("bcube:2,1", "brp") as lab:
        name, guard = lab.config.name, guard_of(lab.config.name)
        with stopped(guard):
            os.kill(holder(name, which).pid, signal.SIGKILL)
            poll(lambda: state_in_ps(name) == "ending", 60)
            assert f"{name} has ended, or is about to" in dcnlab("ps").stdout
        poll(lambda: not runtime.socket_path(name).exists(), 60)
        assert state_in_ps(name) == ""
