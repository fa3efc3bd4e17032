"""Larger receive buffers for the packet sockets of Open vSwitch's userspace datapath.

ovs-vswitchd leaves its packet sockets at the kernel's default of 212,992 bytes, which three
super-packets fill; the kernel drops the rest of a burst.  The sockets are duplicated from
outside (pidfd_getfd, Linux 5.6), and their buffers enlarged beyond the machine's limit, which
needs CAP_NET_ADMIN over the lab's own network namespaces only.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path

from dcnlab.lab.emulation.openvswitch import Shard

#: Bytes asked for per port; the kernel doubles the number for its own bookkeeping.
SIZE = 8 << 20
#: The same number on every architecture.
_PIDFD_GETFD = 438
_SO_RCVBUFFORCE = 33
_libc = ctypes.CDLL(None, use_errno=True)


def enlarge(shards: Sequence[Shard], size: int = SIZE) -> int:
    """Enlarge the receive buffers of all switch ports; returns the number of sockets.

    Returns 0 where the kernel or its security policy forbids it: switches then forward as before.
    """
    count = 0
    for shard in shards:
        with contextlib.suppress(OSError):  # pidfd_getfd is missing or forbidden
            count += _enlarge(int((shard.rundir / "ovs-vswitchd.pid").read_text()), size)
    return count


def _enlarge(pid: int, size: int) -> int:
    count = 0
    for handle in packet_sockets(pid):
        with handle:
            handle.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, size)
        count += 1
    return count


def packet_sockets(pid: int) -> Iterator[socket.socket]:
    """Duplicates of a process's packet sockets; raises OSError where that is not permitted."""
    process = os.pidfd_open(pid)
    try:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            if not _is_socket(entry):
                continue
            number = _libc.syscall(_PIDFD_GETFD, process, int(entry.name), 0)
            if number < 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
            handle = socket.socket(fileno=number)
            if handle.family == socket.AF_PACKET:
                yield handle
            else:
                handle.close()
    finally:
        os.close(process)


def _is_socket(entry: Path) -> bool:
    try:
        return os.readlink(entry).startswith("socket:")
    except FileNotFoundError:  # closed since the folder was listed
        return False
