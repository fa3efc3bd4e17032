"""The client's side of a controller process: what it reports when that ends."""

from __future__ import annotations

import socket
import subprocess
import sys
from typing import Any

import pytest

from controller.client import ControllerError, ControllerProcess


@pytest.mark.parametrize("ended", [True, False])
def test_an_end_that_the_reader_has_not_noticed_is_reported_by_close(ended: bool) -> None:
    """The other end of the control channel stays open, so that the process ends before the reader notices."""
    ours, theirs = socket.socketpair()
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    reported: list[dict[str, Any]] = []
    with theirs:
        client = ControllerProcess(process, ours, reported.append)
        if ended:
            process.kill()
            process.wait()
        assert not reported
        client.close(0.1)
    assert process.stdin is not None
    process.stdin.close()
    assert [message["event"] for message in reported] == ["process-ended"] * ended


def test_a_request_that_finds_the_channel_closed_waits_for_the_end() -> None:
    """A process that ends closes its channel first; the error says how it has ended, as for all who wait."""
    ours, theirs = socket.socketpair()
    theirs.close()
    process = subprocess.Popen(["sleep", "0.1"])
    client = ControllerProcess(process, ours)
    with pytest.raises(ControllerError, match=r"the controller has ended \(exit code 0\)"):
        client.links([])
    assert process.returncode == 0
    client.close()
