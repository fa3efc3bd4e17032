"""What the programs that send and receive flows share: sockets of a transport in a namespace."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import socket
import struct
from pathlib import Path

from dcnlab.lab.errors import UsageError
from hostagent.linux.namespaces import CLONE_NEWNET, set_namespace

#: The number of a flow, with which its bytes begin; a flow has at least so many bytes.
HEADER = struct.Struct("!Q")
#: Why a flow failed that was under way when the client interrupted the measurement.
CUT = "interrupted"
TRANSPORTS = ("tcp", "udp", "mptcp")
_FOLDER = Path("/run/netns")
_AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
_UDP_BUFFER = 1 << 22
_PROTOCOLS = {"tcp": socket.IPPROTO_TCP, "mptcp": socket.IPPROTO_MPTCP, "udp": socket.IPPROTO_UDP}


def allow_files() -> None:
    """Allow this process as many open files as it may have: a flow needs one."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def enter(namespace: str) -> None:
    """Enter a network namespace with this thread; sockets stay in the one in which they were opened."""
    descriptor = os.open(_FOLDER / namespace, os.O_RDONLY | os.O_CLOEXEC)
    try:
        set_namespace(descriptor, CLONE_NEWNET)
    finally:
        os.close(descriptor)


def open_socket(address: str, transport: str, cc: str = "") -> socket.socket:
    """A socket of a transport, for addresses like this one, which does not block."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    kind = socket.SOCK_DGRAM if transport == "udp" else socket.SOCK_STREAM
    one = socket.socket(family, kind | socket.SOCK_NONBLOCK, _PROTOCOLS[transport])
    try:
        if transport == "udp":
            with contextlib.suppress(OSError):
                one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _UDP_BUFFER)
        else:
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if cc:
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
    except BaseException:
        one.close()
        raise
    return one


def check_congestion_control(cc: str) -> None:
    """Raise UsageError, in one line, for a congestion control that this kernel does not have."""
    try:
        open_socket("127.0.0.1", "tcp", cc).close()
    except OSError as error:
        if error.errno != errno.ENOENT:
            raise
        known = ", ".join(_AVAILABLE.read_text().split())
        raise UsageError(f"this kernel has no congestion control {cc}: it has {known}") from None
