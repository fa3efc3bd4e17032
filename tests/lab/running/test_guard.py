"""Questions to the guard and requests to a lab end although nobody answers."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.contract.operation import Operation
from dcnlab.lab.control import holders
from dcnlab.lab.control.rpc import Connection
from dcnlab.lab.errors import LabError
from dcnlab.lab.running import guard
from tests.ovs import poll


@dataclass(frozen=True)
class Slow(Operation[None]):
    """One that a lab answers at once, unless it hangs."""

    name: ClassVar[str] = "slow"
    limit: ClassVar[float | None] = 0.2

    def perform(self, lab: object, call: object) -> None:
        raise NotImplementedError


def test_a_late_answer_is_not_taken_for_that_to_the_next_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "_LIMIT", 0.2)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    one = guard.Guard(ours.detach(), "")
    with theirs, pytest.raises(LabError, match=r"does not answer within 0\.2 s"):
        one.ask("listen", port=1)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    one = guard.Guard(ours.detach(), "")
    with theirs:
        with pytest.raises(LabError):
            one.ask("listen", port=1)
        late = json.loads(theirs.recv(1000))
        with open(os.devnull) as first, open(os.devnull) as second:
            for serial, file in ((late["serial"], first), (late["serial"] + 1, second)):
                answer = json.dumps({"serial": serial, "error": ""}).encode()
                socket.send_fds(theirs, [answer], [file.fileno()])
            before = len(os.listdir("/proc/self/fd"))
            (answered,) = one.ask("listen", port=2)
            os.close(answered)
            assert len(os.listdir("/proc/self/fd")) == before


def test_a_request_waits_as_long_as_it_says(tmp_path: Path) -> None:
    path = tmp_path / "deaf.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        with (
            contextlib.closing(Connection(path)) as connection,
            pytest.raises(LabError, match=r"deaf has not answered for 0\.2 s: see `dcnlab doctor deaf`"),
        ):
            connection.perform(Slow())


@pytest.mark.lab
@pytest.mark.parametrize("after", [False, True], ids=["at once", "when the session runs"])
def test_a_launch_that_exposes_a_port_ends_where_the_guard_is_stopped(after: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    lab = Lab("torus:2", "pow", expose=f"h0:80={port}")

    def stop() -> None:
        poll(lambda: lab._guard is not None, 60)
        poll(lambda: not after or len(holders.holders(lab.guard_pid)) == 3, 60)
        os.kill(lab.guard_pid, signal.SIGSTOP)

    stopping = threading.Thread(target=stop)
    stopping.start()
    try:
        with pytest.raises(LabError, match=r"guard does not answer within 10 s|is stopped: `kill -CONT"):
            lab.start()
    finally:
        stopping.join()
    assert not lab._socket.exists()
