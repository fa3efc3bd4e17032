"""Ctrl-C at a terminal ends the program, the measurement or the command that it is meant for."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.foreground import run_here
from tests.lab.terminal import DCNLAB, PATIENCE, Terminal
from tests.ovs import poll

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("bcube:2,1", "brp:multipath=yes,paths=2", link_state="agents", rate="4Mbit") as running:
        yield running


def _started(*words: str) -> subprocess.Popen[bytes]:
    """`dcnlab` as a shell starts it in the foreground; tests that run in the background may ignore Ctrl-C,
    which is inherited."""
    return subprocess.Popen(["env", "--default-signal=INT", *DCNLAB, *words])


def _children(name: str) -> list[psutil.Process]:
    """Programs, or Python modules that run as such, of that name."""
    children = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # a process may end meanwhile
            children += [process] if name in (process.name(), *process.cmdline()[3:4]) else []
    return children


def test_signals_are_the_callers_again_when_its_program_has_ended(lab: Lab) -> None:
    before = signal.getsignal(signal.SIGTERM)
    assert run_here(lab.path, "h0", ["true"]) == 0
    assert signal.getsignal(signal.SIGTERM) is before


def test_at_the_prompt_ctrl_c_ends_a_command_and_not_the_lab() -> None:
    terminal = Terminal(*DCNLAB, "up", "bcube:2,1", "--scheme", "brp")
    try:
        terminal.wait_for("dcnlab> $")
        terminal.interrupt("Interrupt\\s+dcnlab> $")
        terminal.type("h0 ping -i0.2 h3\n")
        terminal.wait_for("icmp_seq=2")
        terminal.type("\x03")
        terminal.wait_for("packets transmitted[\\s\\S]+dcnlab> $")
        terminal.type("h1 sleep 600\n")
        terminal.wait_for("sleep 600\\s+$")
        terminal.type("\x03")
        terminal.wait_for("dcnlab> $")
        terminal.type("pingall\n")
        terminal.wait_for(r"0% dropped \(12/12 received\)")
        terminal.type("exit\n")
        assert terminal.code() == 0
    finally:
        terminal.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_program_in_a_server_ends_with_the_command(lab: Lab, number: signal.Signals) -> None:
    others = set(_children("sleep"))  # of labs of other tests
    running = _started("exec", lab.config.name, "h0", "sleep", "600")
    try:
        poll(lambda: bool(set(_children("sleep")) - others or running.poll()), PATIENCE)
        running.send_signal(number)
        assert running.wait(PATIENCE) == (130 if number == signal.SIGINT else -number)
        poll(lambda: not set(_children("sleep")) - others, PATIENCE)
    finally:
        running.kill()
        running.wait()


@pytest.mark.parametrize(
    ("words", "program", "ends"),
    [
        ("iperf {} h0 h3 --for 10min", "iperf3", 2),
        ("mptcp {} h0 h3 --for 10min", "dcnlab.lab.instruments.mptcp_connection", 2),
        ("replicate {} h0 h1 h2 --size 200M", "dcnlab.lab.replication.node", 3),
    ],
)
def test_a_measurement_ends_with_the_command(lab: Lab, words: str, program: str, ends: int) -> None:
    """Each would take ten minutes."""
    if words.startswith("mptcp") and not Path("/proc/sys/net/mptcp").exists():
        pytest.skip("this kernel has no Multipath TCP")
    running = _started(*words.format(lab.config.name).split())
    try:
        poll(lambda: len(_children(program)) == ends, PATIENCE)
        running.send_signal(signal.SIGINT)
        assert running.wait(PATIENCE) == 130
        poll(lambda: not _children(program), PATIENCE)
    finally:
        running.kill()
        running.wait()
    assert lab.iperf("h0", "h3", seconds=0.2).mbps > 0
