"""Controllers that nobody here wrote, as processes of the tests."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.ovs import poll

TESTCONTROLLER = "ovs-testcontroller"


def free_port() -> int:
    """A loopback port on which nobody listens now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def listens(port: int) -> bool:
    """Whether somebody accepts connections at a loopback port."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


@contextlib.contextmanager
def learning_switch(*options: str, port: int = 0, method: str = "ptcp") -> Iterator[int]:
    """Open vSwitch's own learning switch (Debian: openvswitch-testcontroller); its port."""
    port = port or free_port()
    with tempfile.TemporaryDirectory() as folder:
        command = [TESTCONTROLLER, f"{method}:{port}:127.0.0.1", f"--unixctl={folder}/ctl", *options]
        with running(command, Path(folder) / "log", port):
            yield port


@contextlib.contextmanager
def running(command: Sequence[str], log: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """A program that listens at ``port``, ended with the block."""
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, stdin=subprocess.DEVNULL)
    try:
        poll(lambda: process.poll() is not None or listens(port), 60)
        assert process.poll() is None, log.read_text()
        yield process
    finally:
        process.terminate()
        process.wait()
