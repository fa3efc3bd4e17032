"""The sandbox of a lab: it ends as a whole, however it ends, and touches nothing outside."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.control import runtime
from dcnlab.lab.measurement.stream import Stream

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("outside")]
UP = [sys.executable, "-m", "dcnlab.cli", "up", "bcube:2,1", "--scheme", "brp"]


def wait_until(condition: Callable[[], bool], timeout: float = 120.0) -> None:
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "timed out"
        time.sleep(0.02)


def processes_of(mark: str) -> list[int]:
    """The processes whose environment has the mark: everything that a command started."""
    pids = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                if f"DCNLAB_TEST={mark}\0".encode() in (entry / "environ").read_bytes() + b"\0":
                    pids.append(int(entry.name))
            except OSError:
                continue
    return pids


def outside() -> dict[str, list[str]]:
    """What a lab could leave behind outside its sandbox."""
    links = subprocess.run(["ip", "-br", "link"], capture_output=True, text=True, check=True).stdout
    folders = [Path("/run/netns"), Path("/run/openvswitch"), runtime.directory()]
    return {
        "links": sorted(line.split()[0] for line in links.splitlines()),
        "files": sorted(str(path) for folder in folders if folder.exists() for path in folder.iterdir()),
    }


@pytest.mark.parametrize("moment", [0.0, 0.05, 0.15, 0.3, 0.5, 0.8, 1.5, "ready"])
def test_killing_the_command_at_any_moment_leaves_nothing(moment: float | str) -> None:
    before = outside()
    mark = f"kill-{os.getpid()}-{moment}"
    command = subprocess.Popen(
        UP, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env={**os.environ, "DCNLAB_TEST": mark},
    )  # fmt: skip
    if moment == "ready":
        wait_until(lambda: any(lab.alive for lab in runtime.labs()))
        wait_until(lambda: len(processes_of(mark)) >= 10)
    else:
        with contextlib.suppress(subprocess.TimeoutExpired):
            command.wait(float(moment))
    command.send_signal(signal.SIGKILL)
    command.wait()
    wait_until(lambda: processes_of(mark) == [])
    wait_until(lambda: outside() == before)


def test_two_labs_run_side_by_side() -> None:
    with Lab("bcube:2,1", "brp") as first, Lab("bcube:2,1", "wmgr") as second:
        assert first.config.name != second.config.name
        for lab in (first, second):
            assert lab.pingall().lost == []
        first.fail("h0", "s0")
        assert second.info()["down"] == []
        names = {row["name"] for row in json.loads(dcnlab("ps", "--json"))}
        assert {first.config.name, second.config.name} <= names


def test_a_lab_reports_its_killed_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    mark = f"losses-{os.getpid()}"
    monkeypatch.setenv("DCNLAB_TEST", mark)

    def ours(program: str) -> list[int]:
        return [pid for pid in processes_of(mark) if program in Path(f"/proc/{pid}/cmdline").read_text()]

    with Lab("bcube:2,1", "brp", supervise=False) as lab:
        said: list[str] = []
        assert lab.info()["ended"] == said
        for program, line in (
            ("hostagent", r"the agent of h[0-3]: its process ended with -9"),
            ("ovs-vswitchd", r"ovs-vswitchd of s0, s1, s2, s3: its process ended"),
            ("ovsdb-server", r"ovsdb-server of s0, s1, s2, s3: its process ended"),
            ("controller\0--topology", r"the controller: its process ended with -9"),
        ):
            os.kill(max(ours(program)), signal.SIGKILL)  # the agents' parent is older than they are
            said.append(line)
            wait_until(lambda: len(lab.info()["ended"]) == len(said))
        assert all(any(re.fullmatch(line, text) for text in lab.info()["ended"]) for line in said)
        shown = dcnlab("ps")
        assert re.search(rf"(?m)^{lab.config.name} .* damaged ", shown)
        assert f"{lab.config.name}: the controller: its process ended with -9" in shown


def dcnlab(*words: str) -> str:
    return subprocess.run(
        [sys.executable, "-m", "dcnlab.cli", *words], capture_output=True, text=True, check=True
    ).stdout


def test_a_detached_lab_outlives_its_command_and_ends_on_request() -> None:
    before = outside()
    started = json.loads(dcnlab("up", "bcube:2,1", "--scheme", "brp", "-d", "--name", "detached", "--json"))
    assert started["servers"] == 4
    assert json.loads(dcnlab("ping", "detached", "h0", "h3", "--json"))["received"] == 1
    dcnlab("down", "detached")
    wait_until(lambda: outside() == before)


def test_the_prompt_has_mininets_commands_and_the_labs_and_programs_leave_its_input_alone(
    tmp_path: Path,
) -> None:
    script = "\n".join(
        ["nodes", "h0 cat", "sh cat", "h0 cd /tmp", "h0 echo \"it's $PWD\"", "net", "dump", "pingall",
         "h0 ping -c1 h3", "iperf h0 h3", "path h0 h3", "tables s0", "explain h0 h3",
         "exec --json h0,h2 hostname", "impair link h0 s0 --delay 1ms",
         "kv put key value", "kv get key", "list", "help explain", "help", "fail 'link",
         "link h0 s0 down", "h0 ping -c1 -W2 h1", "link h0 s0 up", "fail link h1 s0", "restore link h1 s0",
         "fail link h0 h9", "stats h0", "exit"]
    )  # fmt: skip
    file = tmp_path / "commands"
    file.write_text(script)
    with file.open() as commands:
        done = subprocess.run(UP, stdin=commands, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    for expected in (
        "available nodes are", "it's /tmp", "h0-eth1:s0-eth1", "<LabHost h0", "0% dropped (12/12 received)",
        "1 received",
        "Mb/s from h0 to h3", "h0 s2 h2 s1 h3", "2 installed, as predicted", "delivers: destination reached",
        '"stdout": "h2\\n"', "h0-s0", "key: 5 bytes at", "value", "*** Unknown command: list",
        "Usage: dcnlab explain", "about this lab", "*** No closing quotation: fail 'link", "converged after",
        "originated",
    ):  # fmt: skip
        assert expected in done.stdout, f"{expected!r} not in:\n{done.stdout}"
    assert done.stderr == "dcnlab: no node 'h9' in bcube:2,1: h0..h3, s0..s3\n"


def test_nothing_listens_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever else does on this machine meanwhile."""

    def listening() -> set[int]:
        done = subprocess.run(["ss", "-Hltunp"], capture_output=True, text=True, check=True)
        return {int(pid) for pid in re.findall(r"pid=(\d+)", done.stdout)}

    mark = f"listen-{os.getpid()}"
    monkeypatch.setenv("DCNLAB_TEST", mark)
    with Lab("bcube:2,1", "brp"), socket.create_server(("127.0.0.1", 0)):
        assert os.getpid() in listening()
        ours = processes_of(mark)
        assert len(ours) >= 10
        assert listening().isdisjoint(ours)


@pytest.mark.parametrize("path", [{"PATH": "/nonexistent"}, {}], ids=["elsewhere", "unset"])
def test_programs_are_found_without_the_users_path(path: dict[str, str]) -> None:
    env = {name: value for name, value in os.environ.items() if name != "PATH"} | path
    words = [*UP, "--test", "pingall", "--json"]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["received"] == 12


def test_a_missing_kernel_datapath_is_one_line() -> None:
    if Path("/sys/module/openvswitch").exists():
        return
    done = subprocess.run([*UP, "--datapath", "kernel"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "kernel has no openvswitch datapath" in done.stderr
    (log,) = re.findall(r"\(log: (.*)\)$", done.stderr)
    Path(log).unlink()


def test_an_interrupted_launch_leaves_nothing() -> None:
    """In a notebook, say, where the process lives on."""
    before, open_before = outside(), len(os.listdir("/proc/self/fd"))

    def stage(name: str) -> None:
        if name == "switches":
            raise KeyboardInterrupt

    for detach in (False, True):
        with pytest.raises(KeyboardInterrupt):
            Lab("bcube:2,1", scheme="brp").start(stage, detach=detach)
        assert outside() == before
    assert len(os.listdir("/proc/self/fd")) == open_before


def test_concurrent_requests_are_independent() -> None:
    with Lab("bcube:2,1", scheme="brp") as lab, ThreadPoolExecutor(8) as pool:
        for _ in range(4):  # whichever is last, each has been waited for
            asked = [pool.submit(work, "h0", "s0") for work in (lab.fail, lab.restore)]
            for one in asked:
                answer = one.result()
                assert answer["detection_ms"] is None or answer["detection_ms"] <= answer["converged_ms"]
        lab.restore("h0", "s0")
        begun = [pool.submit(lab.begin, Stream("h0", "h3", every=0.01)) for _ in range(8)]
        streams = [one.result() for one in begun]
        for stream in streams:
            assert stream.stop().received >= 10
        assert streams[0].stop() == streams[0].result()  # and stopping it again is no error
        lab.stop()  # and ending a lab that has ended, as the block does now, is no error
