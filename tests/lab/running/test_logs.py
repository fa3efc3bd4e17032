"""The log of a lab keeps what users see as one line: tracebacks, and what the processes report."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from dcnlab.lab import log
from dcnlab.lab.client import Lab
from dcnlab.lab.control import runtime
from dcnlab.lab.control.rpc import Connection
from dcnlab.lab.errors import LabError
from dcnlab.lab.operations.kv import KeyValue
from tests.lab import processes
from tests.ovs import poll

COMMAND = [sys.executable, "-m", "dcnlab"]


def dcnlab(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *words], capture_output=True, text=True, check=False, env=os.environ | environment
    )


@contextlib.contextmanager
def detached(name: str) -> Iterator[Lab]:
    done = dcnlab("up", "bcube:2,1", "--scheme", "brp", "--detach", "--name", name)
    assert done.returncode == 0, done.stderr
    try:
        yield Lab.attach(name)
    finally:
        dcnlab("down", name)


def guard_of(name: str) -> psutil.Process:
    """The guard of a detached lab, by the socket that its command line names."""
    return next(
        process
        for process in psutil.process_iter()
        if "dcnlab.lab.emulation.sandbox" in (words := _words(process)) and f"/{name}.sock" in words[-1]
    )


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def read(name: str) -> list[dict[str, str]]:
    return list(json.loads(dcnlab("logs", name, "--json").stdout))


@pytest.mark.lab
def test_an_operation_that_raises_is_one_line_for_users_and_a_traceback_in_the_log() -> None:
    with detached("raising") as lab:
        with (
            open(os.devnull) as value,
            contextlib.closing(Connection(lab.path)) as connection,
            pytest.raises(LabError, match=r"^ValueError: [^\n]+$"),
        ):
            connection.perform(KeyValue("get", "no hex", "h0"), None, (value.fileno(),))
        shown = dcnlab("logs", "raising").stdout
        assert "Traceback (most recent call last)" in shown
        (failed,) = [record for record in read("raising") if record["level"] == "ERROR"]
        assert failed["process"] == "session"
        assert failed["message"].startswith("kv(verb='get', key='no hex', origin='h0') failed")
        assert failed["details"].startswith("Traceback") and "ValueError" in failed["details"]  # noqa: PT018
        assert lab.pingall().received == 12


@pytest.mark.lab
def test_an_orderly_end_removes_the_log_which_nobody_else_may_read() -> None:
    with detached("orderly") as lab:
        file = log.path(lab.path)
        assert file.stat().st_mode & 0o777 == 0o600
        records = read("orderly")
        assert {record["process"] for record in records} == {"session", "controller"}
        assert any("ovs-vswitchd.log" in record["message"] for record in records)
        lab.fail("h0", "s0")
        assert "links (0,) down: converged after" in file.read_text()
    assert not file.exists()
    assert (
        dcnlab("logs", "orderly").stderr == "dcnlab: there is no log of a lab named orderly: see `dcnlab ps`\n"
    )


@pytest.mark.lab
def test_a_lab_that_is_killed_leaves_its_log_and_nothing_else() -> None:
    before = set(runtime.directory().iterdir())
    with detached("killed") as lab:
        (session,) = (
            process
            for process in guard_of("killed").children(recursive=True)
            if process.cmdline()[2:4] == ["-m", "dcnlab.lab.session"]
        )
        session.kill()
        poll(lambda: not lab.path.exists(), 30)
        left = set(runtime.directory().iterdir()) - before
        assert [path.name for path in left] == ["killed.log"]
        assert read("killed")[0]["message"].startswith("launch {")
    assert not log.path(lab.path).exists()  # `down` removes it


@pytest.mark.lab
def test_a_launch_that_fails_names_its_log(tmp_path: Path) -> None:
    broken = tmp_path / "ovs-vswitchd"
    broken.write_text("#!/bin/sh\necho broken on purpose >&2\nexit 1\n")
    broken.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = dcnlab("up", "bcube:2,1", "--scheme", "brp", "--detach", "--name", "failing", PATH=path)
    file = runtime.directory() / "failing.log"
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"dcnlab: ovs-vswitchd: broken on purpose (log: {file})"
    (failed,) = [record for record in read("failing") if record["level"] == "ERROR"]
    assert failed["message"] == "launch failed"
    assert "LabError: ovs-vswitchd: broken on purpose" in failed["details"]
    assert dcnlab("down", "failing").stderr == "failing had ended: log removed\n"
    assert not file.exists()


@pytest.mark.lab
def test_what_agents_and_controller_report_is_in_the_log() -> None:
    with Lab("bcube:2,1", scheme="brp") as lab:
        file = log.path(lab.path)
        processes.agents(lab).agents[0].kill()
        poll(lambda: "its process ended with -9" in file.read_text(), 10)
        (controller,) = processes.modules(lab, "controller")
        os.kill(controller.pid, signal.SIGKILL)
        poll(lambda: "controller: its process has ended" in file.read_text(), 10)


@pytest.mark.lab
def test_following_shows_new_lines_until_the_lab_ends(tmp_path: Path) -> None:
    with detached("followed") as lab, (tmp_path / "shown").open("w+") as shown:
        following = subprocess.Popen([*COMMAND, "logs", "followed", "--follow", "--json"], stdout=shown)
        poll(lambda: "ready" in (tmp_path / "shown").read_text(), 20)
        with pytest.raises(LabError):
            lab.fail("h0", "h9")
        poll(lambda: "fail(kind='link', names=['h0', 'h9'])" in (tmp_path / "shown").read_text(), 20)
        dcnlab("down", "followed")
        assert following.wait(30) == 0
        lines = (tmp_path / "shown").read_text().splitlines()
        assert json.loads(lines[0])["message"].startswith("launch {")


@pytest.mark.lab
def test_programs_of_the_prompt_write_to_its_standard_error() -> None:
    done = subprocess.run(
        [*COMMAND, "up", "bcube:2,1", "--scheme", "brp", "--name", "prompting"],
        input="sh echo to the user >&2\npy open('/proc/self/fd/2','w').write('also\\n')\nexit\n",
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert "to the user" in done.stdout + done.stderr
    assert "also" in done.stderr
    assert not (runtime.directory() / "prompting.log").exists()


@pytest.mark.lab
def test_verbose_logs_every_request() -> None:
    done = dcnlab("-v", "up", "bcube:2,1", "--scheme", "brp", "--detach", "--name", "verbose")
    try:
        assert done.returncode == 0, done.stderr
        Lab.attach("verbose").info()
        debug = [record["message"] for record in read("verbose") if record["level"] == "DEBUG"]
        assert any(message.startswith("info() took ") for message in debug)
    finally:
        dcnlab("down", "verbose")


CRASH = """\
import sys
from dcnlab.cli import app, program

@app.command()
def crash():
    raise KeyError("on purpose")

sys.argv = ["dcnlab", *sys.argv[1:], "crash"]
program.main()
"""


def test_an_error_in_the_program_itself_is_one_line_with_the_traceback_kept() -> None:
    done = subprocess.run([sys.executable, "-c", CRASH], capture_output=True, text=True, check=False)
    file = runtime.directory() / "traceback.txt"
    assert done.returncode == 1
    assert (
        done.stderr
        == f"dcnlab: KeyError: 'on purpose' (an error in dcnlab itself; the traceback is in {file})\n"
    )
    assert "in crash" in file.read_text()
    file.unlink()
    done = subprocess.run([sys.executable, "-c", CRASH, "-v"], capture_output=True, text=True, check=False)
    assert "Traceback (most recent call last)" in done.stderr
    file.unlink()


def test_records_are_read_with_the_lines_below_them() -> None:
    lines = [
        "no interpreter\n",
        "2026-11-22T12:00:00.123 session ERROR ping() failed\n",
        "Traceback (most recent call last):\n",
        "KeyError: 'size'\n",
        "2026-11-22T12:00:01.000 controller INFO accept switches with os-ken\n",
        "",
        "late\n",
    ]
    assert [record.to_json() for record in log.records(lines)] == [
        {"message": "no interpreter"},
        {
            "time": "2026-11-22T12:00:00.123",
            "process": "session",
            "level": "ERROR",
            "message": "ping() failed",
            "details": "Traceback (most recent call last):\nKeyError: 'size'\n",
        },
        {
            "time": "2026-11-22T12:00:01.000",
            "process": "controller",
            "level": "INFO",
            "message": "accept switches with os-ken",
        },
        {"message": "late"},
    ]
