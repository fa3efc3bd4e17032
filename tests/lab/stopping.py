"""Stops processes of a lab (SIGSTOP): those that hold it, and those that run in it."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

from dcnlab.lab.control import holders, runtime
from dcnlab.lab.control.holders import Holder
from dcnlab.lab.control.rpc import Connection
from tests.ovs import poll

HOLDERS = ("guard", "init", "session")
#: One for each way of asking a lab.
COMMANDS = (
    "info LAB", "fail LAB link h0 s0", "restore LAB node h0", "ping LAB h0 h3", "counters LAB", "tables LAB s0",
    "explain LAB h0 h3", "exec LAB h0 true", "events LAB", "events LAB --follow",
    "impair LAB link h0 s0 --loss 1%", "restart LAB h1", "kill LAB h1", "services LAB", "flows LAB s0",
    "capture LAB h0 --count 1", "top LAB --json",
)  # fmt: skip
#: What else runs in a lab, and which words of its command line say so; of agents the first host's.
INSIDE = {
    "supervisor": b"hostagent", "agent": b"hostagent", "controller": b"controller",
    "ovsdb-server": b"ovsdb-server", "ovs-vswitchd": b"ovs-vswitchd",
}  # fmt: skip


def guard_of(name: str) -> int:
    with contextlib.closing(Connection(runtime.socket_path(name))) as connection:
        assert connection.peer == holders.guard_at(str(runtime.socket_path(name)))
        return connection.peer


def holder(name: str, which: str) -> Holder:
    return next(one for one in holders.holders(guard_of(name)) if one.name == which)


def process_of(name: str, which: str) -> int:
    """The process of a lab that is one of INSIDE; ProcessLookupError while there is none."""
    processes = []
    for one in sorted(holders.inside(holders.namespace(guard_of(name)))):
        with contextlib.suppress(OSError):  # it has just ended
            if INSIDE[which] in Path(f"/proc/{one}/cmdline").read_bytes().split(b"\0"):
                processes.append(one)
    if len(processes) <= (which == "agent"):
        raise ProcessLookupError(which)
    return processes[which == "agent"]


@contextlib.contextmanager
def stopped(pid: int) -> Iterator[None]:
    """The process is stopped when the block begins, and goes on after it if it exists still; ProcessLookupError
    if it has ended before."""
    os.kill(pid, signal.SIGSTOP)
    poll(lambda: holders.state_of(pid) in ("T", "Z", ""), 60)
    if holders.state_of(pid) != "T":
        raise ProcessLookupError(pid)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
