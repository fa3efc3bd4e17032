"""A launch that cannot succeed ends at once with one line that names the culprit; a slow one goes on."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from controller.client import ControllerError, ControllerProcess
from dcnlab.lab.emulation import waiting
from dcnlab.lab.errors import LabError
from hostagent.client import AgentError, AgentPool
from hostagent.options import Options
from tests.lab.terminal import DCNLAB
from tests.ovs import poll

#: Far longer than any machine takes here: a wait that reaches it has not ended at once.
_NEVER = 1e6


def _up(*before: str) -> subprocess.CompletedProcess[str]:
    """`dcnlab up` under a program such as prlimit."""
    words = [*before, *DCNLAB, "up", "clot:2x2", "--scheme", "pow", "--test", "pingall"]
    return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.mark.lab
def test_too_little_memory_is_one_line() -> None:
    """Which program fails first depends on the machine, and from what limit on; here it is Open vSwitch."""
    tried = [_up("prlimit", f"--as={megabytes}000000") for megabytes in (180, 190, 200, 210)]
    failed = [done for done in tried if done.returncode]
    assert failed
    for done in failed:
        assert done.returncode == 1
        assert done.stderr.startswith("dcnlab: ")
        assert done.stderr.count("\n") == 1


@pytest.mark.lab
def test_no_room_for_files_is_one_line() -> None:
    done = _up("prlimit", "--fsize=0")
    assert done.returncode == 1
    assert done.stderr.startswith("dcnlab: ")
    assert "a file reached the limit of its size, ulimit -f" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.lab
def test_a_missing_tun_device_is_one_line() -> None:
    own = "-m" if os.geteuid() == 0 else "-Urm"
    done = _up("unshare", own, "sh", "-c", 'mount -t tmpfs none /dev/net && exec "$@"', "sh")
    assert done.returncode == 2
    assert done.stderr == (
        "dcnlab: /dev/net/tun: missing; servers cannot relay packets: modprobe tun "
        "(of a container: --device=/dev/net/tun)\n"
    )


def test_a_killed_supervisor_ends_the_wait_for_agents() -> None:
    with AgentPool(Options("bcube:2,1", "brp")) as pool:
        pool.process.send_signal(signal.SIGSTOP)  # so it does not carry out the order
        pool.start([])
        pool.process.kill()
        with pytest.raises(AgentError, match=r"supervisor has ended \(SIGKILL"):
            pool.wait_ready(_NEVER)


def test_a_killed_controller_ends_the_wait_for_switches() -> None:
    listener = socket.create_server(("127.0.0.1", 0))  # no switch ever connects
    with listener, ControllerProcess.spawn("bcube:2,1", "brp", [listener]) as controller:
        controller.wait_for(lambda message: message["event"] == "listening", 60)
        controller.process.send_signal(signal.SIGKILL)
        with pytest.raises(ControllerError, match=r"the controller has ended \(SIGKILL"):
            controller.wait_ready(_NEVER)


def test_a_controller_without_switches_makes_no_progress() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    with listener, ControllerProcess.spawn("bcube:2,1", "brp", [listener]) as controller:
        controller.wait_for(lambda message: message["event"] == "listening", 60)
        with pytest.raises(ControllerError, match="0 switches have their tables, and no progress"):
            controller.wait_ready(0.2)


def _python(program: str, *arguments: str | Path) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.Popen(words, stderr=subprocess.PIPE, text=True)


def _daemon(folder: Path, process: subprocess.Popen[str]) -> Sequence[waiting.Daemon]:
    """The description of a process as a daemon that logs."""
    pid_file, log = folder / "pid", folder / "log"
    pid_file.write_text(f"{process.pid}\n")
    log.touch()
    return [waiting.Daemon("the daemon", pid_file, log)]


def test_a_wait_ends_with_the_daemon_that_it_depends_on(tmp_path: Path) -> None:
    with _python("import time; time.sleep(1e6)") as command, _python("input()") as daemon:
        watched = _daemon(tmp_path, daemon)
        watched[0].log.write_text("00:00|EMER|out of memory\n")
        daemon.kill()
        with pytest.raises(LabError, match="the daemon has ended; it logged last: out of memory"):
            waiting.finish([command], watched, _NEVER)
        command.kill()


def test_a_wait_ends_when_nothing_progresses(tmp_path: Path) -> None:
    with _python("import time; time.sleep(1e6)") as process:
        with pytest.raises(LabError, match="no progress of the daemon"):
            waiting.finish([process], _daemon(tmp_path, process), stall=0.1)
        process.kill()


def test_a_wait_goes_on_as_long_as_a_daemon_logs(tmp_path: Path) -> None:
    """The command takes longer than the wait's limit, and ends when the limit has passed."""
    limit, log = 3.0, tmp_path / "log"
    program = (
        "import sys, time\nend = time.monotonic() + float(sys.argv[2])\n"
        "while time.monotonic() < end:\n    open(sys.argv[1], 'a').write('port added\\n'); time.sleep(0.05)"
    )
    with _python(program, log, str(1.5 * limit)) as process:
        poll(lambda: log.exists() and log.stat().st_size > 0, 120)  # Python's own start is over
        begun = time.monotonic()
        waiting.finish([process], _daemon(tmp_path, process), limit)
    assert time.monotonic() - begun > limit


def test_a_program_without_a_message_is_named_with_its_signal() -> None:
    with _python("import os; os.abort()") as process, pytest.raises(LabError, match="SIGABRT"):
        waiting.finish([process])
