"""Receive buffers of measuring sockets."""

from __future__ import annotations

import contextlib
import socket

#: Bytes that a socket may keep until it is read, and the option that gives root more than the usual limit.
_BUFFER, _SO_RCVBUFFORCE = 16 << 20, 33


def enlarge_receive_buffer(handle: socket.socket) -> None:
    """Let a socket keep as much as the kernel allows.

    Packets are then lost in the network only, and not because the reader was late.
    """
    for option in (_SO_RCVBUFFORCE, socket.SO_RCVBUF):
        with contextlib.suppress(PermissionError):  # only root outside the lab may exceed the limit
            handle.setsockopt(socket.SOL_SOCKET, option, _BUFFER)
            return
