"""A child that has ended does not count as running, whoever waits for it at that moment."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from dcnlab.lab.running.processes import supervised


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "1000"]) as process:
        yield process
        process.kill()


def test_a_stopped_child_runs(child: subprocess.Popen[bytes]) -> None:
    assert supervised.running_child(child) == child.pid
    child.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
    assert supervised.running_child(child) == child.pid


def test_a_child_that_another_thread_waits_for_has_ended(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    with child._waitpid_lock:  # type: ignore[attr-defined]  # as while another thread is in wait()
        assert child.poll() is None
        assert supervised.running_child(child) is None
    child.wait()
    assert supervised.running_child(child) is None
