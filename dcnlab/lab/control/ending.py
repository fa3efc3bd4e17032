"""Waits for the end of a lab.  They follow progress: thousands of processes take the kernel a while."""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path

#: Seconds without progress after which a lab counts as stuck, and seconds between two looks.
STALL = 30.0
_LOOK = 1.0
_CREDENTIALS = struct.Struct("=iII")


def peer(connection: socket.socket) -> int:
    """The process that listens at the other end of a connection: a lab's guard."""
    pid, _, _ = _CREDENTIALS.unpack(
        connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    )
    return int(pid)


def namespace(guard: int) -> str:
    """The pid namespace of the lab of a guard; empty if that has ended."""
    try:
        return os.readlink(f"/proc/{guard}/ns/pid_for_children")
    except OSError:
        return ""


def await_end(inside: str, ended: Callable[[float], bool]) -> bool:
    """Wait until ``ended(seconds)``, which waits up to so long itself; False when none of the processes in
    the pid namespace ``inside`` has ended for :data:`STALL` seconds."""
    left, since = -1, time.monotonic()
    while not ended(_LOOK):
        if (now := _processes(inside)) != left:
            left, since = now, time.monotonic()
        elif time.monotonic() - since > STALL:
            return False
    return True


def _processes(inside: str) -> int:
    """The number of processes in a pid namespace."""
    return sum(_is_in(process, inside) for process in Path("/proc").iterdir() if process.name.isdigit())


def _is_in(process: Path, inside: str) -> bool:
    try:
        return os.readlink(process / "ns/pid") == inside
    except OSError:
        return False
