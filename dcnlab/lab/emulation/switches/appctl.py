"""Commands to running ovs-vswitchds, as ``ovs-appctl`` sends them, without a process for each.

A daemon listens at ``ovs-vswitchd.PID.ctl`` in its run directory, for JSON-RPC (ovs-vswitchd(8)).
"""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Sequence
from pathlib import Path

from dcnlab.lab.errors import LabError

_TIMEOUT = 30.0
_CHUNK = 1 << 16


def call(rundirs: Sequence[Path], method: str, *params: str) -> list[str]:
    """Send a command to the daemons of all run directories, then wait for all; what each answers.

    LabError when one has ended, refuses the command, or does not answer.
    """
    request = json.dumps({"method": method, "params": params, "id": 0}).encode()
    with contextlib.ExitStack() as opened:
        connections = []
        for rundir in rundirs:
            connection = opened.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            connection.settimeout(_TIMEOUT)
            connections.append(connection)
            try:
                connection.connect(str(_path(rundir)))
                connection.sendall(request)
            except OSError as error:
                raise LabError(f"ovs-vswitchd in {rundir} does not answer: {error}") from error
        return [_answer(connection, rundir) for connection, rundir in zip(connections, rundirs, strict=True)]


def wake(rundirs: Sequence[Path]) -> None:
    """Have the main loops of daemons run, by connections that close at once; ended ones are left out."""
    for rundir in rundirs:
        with (
            contextlib.suppress(OSError),
            socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) as connection,
        ):
            connection.connect(str(_path(rundir)))


def _path(rundir: Path) -> Path:
    pid = (rundir / "ovs-vswitchd.pid").read_text().strip()
    return rundir / f"ovs-vswitchd.{pid}.ctl"


def _answer(connection: socket.socket, rundir: Path) -> str:
    """The result in the one JSON object that comes."""
    data = b""
    while True:
        try:
            more = connection.recv(_CHUNK)
        except OSError as error:
            raise LabError(f"ovs-vswitchd in {rundir} does not answer: {error}") from error
        data += more
        try:
            answer = json.loads(data)
        except ValueError:
            if more:
                continue
            raise LabError(f"ovs-vswitchd in {rundir} has closed the connection") from None
        if answer["error"] is not None:
            raise LabError(f"ovs-vswitchd in {rundir}: {str(answer['error']).strip()}")
        return str(answer["result"])
