"""What the kernel tells of packet sockets: bytes that wait in them, packets that found them full.

``ss -0 -m`` shows both, as ``r`` and ``d``.  The counter belongs to the socket: a new socket begins at 0.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator

#: Of linux/sock_diag.h and linux/packet_diag.h.
_NETLINK_SOCK_DIAG, _SOCK_DIAG_BY_FAMILY = 4, 20
_SHOW_MEMORY, _MEMORY, _WAITING, _DROPS = 0x10, 6, 0, 8
_REQUEST_DUMP, _ERROR, _DONE = 0x301, 2, 3
_HEADER, _MESSAGE, _ATTRIBUTE = 16, 16, 4
_CHUNK = 1 << 16


def asking() -> socket.socket:
    """Open a socket to the kernel that asks about the present network namespace, also later from another."""
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG)


def read(kernel: socket.socket) -> Iterator[tuple[int, int]]:
    """Yield the bytes that wait at each packet socket, and how many packets it dropped.

    Raises OSError where the kernel does not tell."""
    body = struct.pack("=BBHIIII", socket.AF_PACKET, 0, 0, 0, _SHOW_MEMORY, 0, 0)
    head = struct.pack("=IHHII", _HEADER + len(body), _SOCK_DIAG_BY_FAMILY, _REQUEST_DUMP, 1, 0)
    kernel.send(head + body)
    while True:
        data = kernel.recv(_CHUNK)
        while data:
            size, kind = struct.unpack_from("=IH", data)
            if kind == _DONE:
                return
            if kind == _ERROR:
                number = -int(struct.unpack_from("=i", data, _HEADER)[0])
                raise OSError(number, os.strerror(number))
            yield _memory(data[_HEADER:size])
            data = data[(size + 3) & ~3 :]


def _memory(body: bytes) -> tuple[int, int]:
    at = _MESSAGE
    while at + _ATTRIBUTE <= len(body):
        size, kind = struct.unpack_from("=HH", body, at)
        if kind == _MEMORY and size >= _ATTRIBUTE + 4 * (_DROPS + 1):
            numbers = struct.unpack_from(f"={_DROPS + 1}I", body, at + _ATTRIBUTE)
            return numbers[_WAITING], numbers[_DROPS]
        at += (max(size, _ATTRIBUTE) + 3) & ~3
    return 0, 0
