"""Namespaces of a process: unshare(2) and setns(2), which Python has from 3.12 on, and root in one of users."""

from __future__ import annotations

import ctypes
import os
import signal
from pathlib import Path

CLONE_FS = 0x00000200
CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
_PR_SET_PDEATHSIG = 1

_libc = ctypes.CDLL(None, use_errno=True)


def unshare(flags: int) -> None:
    """unshare(2); raises OSError."""
    if _libc.unshare(flags):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def set_namespace(descriptor: int, kind: int) -> None:
    """setns(2) of the calling thread; raises OSError."""
    if _libc.setns(descriptor, kind):
        number = ctypes.get_errno()
        raise OSError(number, f"setns: {os.strerror(number)}")


def die_with_parent() -> None:
    """Ask the kernel for SIGKILL when the parent ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def become_root() -> None:
    """Enter a new user namespace in which this user is root."""
    uid, gid = os.geteuid(), os.getegid()
    unshare(CLONE_NEWUSER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
    Path("/proc/self/gid_map").write_text(f"0 {gid} 1")
