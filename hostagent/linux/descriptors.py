"""Descriptors of another process (pidfd_getfd, Linux 5.6)."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator

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
