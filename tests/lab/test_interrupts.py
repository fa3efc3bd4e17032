"""Ctrl-C ends what it is meant for, as one sees it in a terminal."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import psutil
import pytest

from lab.client import Lab
from tests.ovs import poll

pytestmark = pytest.mark.lab

_PATIENCE, _AGAIN = 40.0, 5.0


class Terminal:
    """`dcnlab` in a terminal of its own, ended when the test ends."""

    def __init__(self, *words: str) -> None:
        self._pid, self._master = pty.fork()
        if self._pid == 0:
            os.execv(sys.executable, [sys.executable, "-m", "lab.cli", *words])
        self.shown = ""

    def type(self, text: str) -> None:
        """Press keys; what was shown before is forgotten."""
        self.shown = ""
        os.write(self._master, text.encode())

    def wait_for(self, pattern: str) -> None:
        """Until that is shown."""
        assert self._shows(pattern, _PATIENCE), self.shown

    def interrupt(self, pattern: str) -> None:
        """Press Ctrl-C until that is shown: Python's readline hears of it at the next key only when it comes
        after the prompt was printed and before a key is waited for, which no person is quick enough for."""
        for _ in range(int(_PATIENCE / _AGAIN)):
            self.type("\x03")
            if self._shows(pattern, _AGAIN):
                return
        raise AssertionError(self.shown)

    def _shows(self, pattern: str, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while not re.search(pattern, self.shown):
            if not select.select([self._master], [], [], max(0.0, end - time.monotonic()))[0]:
                return False
            self.shown += os.read(self._master, 65536).decode(errors="replace")
        return True

    def code(self) -> int:
        """The exit code, when it has ended."""
        while True:
            try:
                if not os.read(self._master, 65536):
                    break
            except OSError:  # nobody has the terminal open any more
                break
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])

    def close(self) -> None:
        os.close(self._master)


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("bcube:2,1", "brp") as running:
        yield running


def _started(*words: str) -> subprocess.Popen[bytes]:
    """`dcnlab` as a shell starts it in the foreground; tests that run in the background may ignore Ctrl-C,
    which is inherited."""
    return subprocess.Popen(["env", "--default-signal=INT", sys.executable, "-m", "lab.cli", *words])


def _children(name: str) -> list[psutil.Process]:
    found = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # others end while one looks
            found += [process] if process.name() == name else []
    return found


def test_at_the_prompt_it_ends_a_command_and_not_the_lab() -> None:
    terminal = Terminal("up", "bcube:2,1", "--scheme", "brp")
    try:
        terminal.wait_for("dcnlab> $")
        terminal.interrupt("Interrupt\\s+dcnlab> $")
        terminal.type("h0 ping -i0.2 h3\n")
        terminal.wait_for("icmp_seq=2")
        terminal.type("\x03")
        terminal.wait_for("packets transmitted(.|\\s)+dcnlab> $")
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
    running = _started("exec", lab.config.name, "h0", "sleep", "600")
    try:
        poll(lambda: bool(_children("sleep") or running.poll()), _PATIENCE)
        running.send_signal(number)
        assert running.wait(_PATIENCE) == (130 if number == signal.SIGINT else -number)
        poll(lambda: not _children("sleep"), _PATIENCE)
    finally:
        running.kill()
        running.wait()


def test_a_measurement_ends_with_the_command(lab: Lab) -> None:
    running = _started("iperf", lab.config.name, "h0", "h3", "--seconds", "600")
    try:
        poll(lambda: len(_children("iperf3")) == 2, _PATIENCE)
        running.send_signal(signal.SIGINT)
        assert running.wait(_PATIENCE) == 130
        poll(lambda: not _children("iperf3"), _PATIENCE)
    finally:
        running.kill()
        running.wait()
    assert lab.iperf("h0", "h3", seconds=0.2)["mbps"] > 0
