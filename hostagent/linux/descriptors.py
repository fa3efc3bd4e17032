"""Descriptors of another process (pidfd_getfd, Linux 5.6)."""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
from collections.abc import Iterator
from pathlib import Path

#: The same number on every architecture.
_PIDFD_GETFD = 438
_libc = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def of_process(pid: int) -> Iterator[int]:
    """A descriptor that stands for a process, for :func:`duplicate`; raises OSError."""
    process = os.pidfd_open(pid)
    try:
        yield process
    finally:
        os.close(process)


def duplicate(process: int, number: int) -> int:
    """A duplicate of another process's descriptor; raises OSError where that is not permitted."""
    own: int = _libc.syscall(_PIDFD_GETFD, process, number, 0)
    if own < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return own


def sockets(pid: int, family: int) -> Iterator[socket.socket]:
    """Duplicates of a process's sockets of a family; raises OSError where that is not permitted."""
    with of_process(pid) as process:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            if not _is_socket(entry):
                continue
            handle = socket.socket(fileno=duplicate(process, int(entry.name)))
            if handle.family == family:
                yield handle
            else:
                handle.close()


def _is_socket(entry: Path) -> bool:
    try:
        return os.readlink(entry).startswith("socket:")
    except FileNotFoundError:  # closed since the folder was listed
        return False
