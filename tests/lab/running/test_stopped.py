"""No command waits for ever for a process that was stopped: what cannot answer is named, and a lab ends."""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.control import holders, runtime
from dcnlab.lab.control.rpc import Connection
from dcnlab.lab.errors import LabError
from tests.lab.lines import dcnlab
from tests.lab.stopping import COMMANDS, HOLDERS, INSIDE, guard_of, holder, process_of, stopped
from tests.ovs import poll

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("stopped")]

#: Seconds in which a command ends that takes two on an idle machine, and `down`, which takes five.
PATIENCE = 60.0


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("bcube:2,1", "brp") as one:
        yield one


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_says_that_the_session_is_stopped(lab: Lab, programs: Path, command: str) -> None:
    words = command.replace("LAB", lab.config.name).split()
    session = holder(lab.config.name, "session")
    with stopped(session.pid):
        done = subprocess.run(
            [programs / "dcnlab", *words], capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    assert (done.returncode, done.stdout) == (1, "") or "--json" in words
    assert f"the session of {lab.config.name} is stopped: `kill -CONT {session.pid}`" in done.stderr


@pytest.mark.parametrize("which", INSIDE)
def test_no_command_waits_for_ever_for_what_runs_in_the_lab(lab: Lab, programs: Path, which: str) -> None:
    """Each ends, with what it has or with one line: no traceback, no silence."""
    name = lab.config.name
    with stopped(process_of(name, which)):
        for command in COMMANDS:
            if "--follow" in command or "capture" in command:
                continue  # until it is interrupted, or a packet comes
            argv = [programs / "dcnlab", *command.replace("LAB", name).split()]
            done = subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE, check=False)
            assert "Traceback" not in done.stderr, (command, done.stderr)
            assert done.returncode in {0, 1}, (command, done.stderr)
            assert done.returncode == 0 or done.stdout or done.stderr, command
    poll(lambda: lab.pingall().lost == [], 60)


@pytest.mark.parametrize("which", ["guard", "init"])
def test_a_lab_answers_although_its_guard_or_init_is_stopped(lab: Lab, which: str) -> None:
    with stopped(holder(lab.config.name, which).pid):
        assert lab.ping("h0", "h3").held
        assert lab.fail("h0", "s0").links == [0]
        assert lab.restore("h0", "s0").links == [0]


def test_who_needs_the_guard_hears_that_it_is_stopped(lab: Lab, programs: Path) -> None:
    guard = holder(lab.config.name, "guard")
    words = [programs / "dcnlab", "attach", lab.config.name, "s0", "dummy9"]
    with stopped(guard.pid):
        done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 1
    assert f"the guard of {lab.config.name} is stopped: `kill -CONT {guard.pid}`" in done.stderr
    assert lab.ping("h0", "h3").held


def test_ps_names_the_session_that_is_stopped(lab: Lab) -> None:
    session = holder(lab.config.name, "session")
    with stopped(session.pid):
        (row,) = (one for one in json.loads(dcnlab("ps", "--json").stdout) if one["name"] == lab.config.name)
        shown = dcnlab("ps").stdout
    assert row["stopped"] == session.said(lab.config.name)
    assert session.said(lab.config.name) in shown
    assert "starting" not in shown


@pytest.mark.parametrize("which", [*HOLDERS, "ovs-vswitchd", "sleep"])
def test_doctor_says_which_process_is_not_well(lab: Lab, which: str) -> None:
    name = lab.config.name
    poll(lambda: dcnlab("doctor", name).returncode == 0, 60)
    with lab.popen("h0", ["sleep", "1000"]) if which == "sleep" else contextlib.nullcontext():
        if which in HOLDERS:
            pid = holder(name, which).pid
        else:
            inside = holders.inside(holders.namespace(guard_of(name)))
            (pid,) = (one for one in inside if Path(f"/proc/{one}/comm").read_text().strip() == which)
        with stopped(pid):
            done = dcnlab("doctor", name)
    assert done.returncode == 1
    assert any(which in line and f"`kill -CONT {pid}`" in line for line in done.stdout.splitlines()), (
        done.stdout
    )
    well = {"lab": name, "problems": []}
    poll(lambda: json.loads(dcnlab("doctor", name, "--json").stdout) == well, 60)


@pytest.mark.parametrize("which", HOLDERS)
@pytest.mark.parametrize("how", ["down", "down --all", "stop"])
def test_a_lab_ends_whatever_is_stopped(
    which: str, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))  # all labs are this one
    lab = Lab("torus:2", "pow").start(detach=how != "stop")
    name, guard = lab.config.name, guard_of(lab.config.name)
    inside, begun = holders.namespace(guard), time.monotonic()
    with stopped(holder(name, which).pid):
        if how == "stop":
            lab.stop()
        else:
            assert dcnlab("down", name if how == "down" else "--all").returncode == 0
    assert time.monotonic() - begun < PATIENCE
    assert not runtime.socket_path(name).exists()
    assert list(holders.inside(inside)) == []


def test_a_crowd_before_a_stopped_session_waits_no_longer(lab: Lab) -> None:
    """The backlog of its socket is full."""
    session = holder(lab.config.name, "session")
    with contextlib.ExitStack() as crowd, stopped(session.pid):
        with pytest.raises(LabError) as raised:
            connect_all(crowd, lab.path)
        assert str(raised.value) == session.said(lab.config.name)
        assert session.said(lab.config.name) in dcnlab("ps").stdout
    assert lab.ping("h0", "h3").held


def connect_all(crowd: contextlib.ExitStack, path: Path) -> None:
    for _ in range(100):
        crowd.enter_context(contextlib.closing(Connection(path)))
