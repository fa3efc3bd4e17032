"""The program at each end of one TCP or Multipath TCP connection.

    python -m dcnlab.lab.instruments.mptcp_connection serve tcp|mptcp ADDRESS PORT
    python -m dcnlab.lab.instruments.mptcp_connection send  tcp|mptcp ADDRESS PORT FROM SECONDS SUBFLOWS

The server prints a line of JSON once it is :class:`Listening`, and at the end what it has :class:`Received`.
The client prints what it has :class:`Sent`.  The measurement begins when the connection has all its subflows.
"""

from __future__ import annotations

import contextlib
import socket
import sys
import time
from dataclasses import dataclass

from dcnlab.lab import python_process

_SOL_MPTCP, _MPTCP_INFO = 284, 1
#: In struct mptcp_info: the number of further subflows, and the flag of a fallback to TCP.
_SUBFLOWS_AT, _FLAGS_AT, _FELL_BACK = 0, 8, 0x1
_KINDS = {"tcp": socket.IPPROTO_TCP, "mptcp": socket.IPPROTO_MPTCP}
_CHUNK = 1 << 18
#: Seconds in which subflows are established and the last bytes arrive; and in which a connection is made: TCP
#: sends its first packet again after 1, 2, 4, ... seconds.
_TIMEOUT, _CONNECT = 10.0, 40.0
_MARK = b"G"


@dataclass(frozen=True)
class Listening:
    """The server listens."""


@dataclass(frozen=True)
class Received:
    """The bytes that the server received, and in how many seconds."""

    bytes: int
    seconds: float


@dataclass(frozen=True)
class Sent:
    """The number of subflows while the client sent."""

    subflows: int


def serve(kind: str, address: str, port: int, seconds: float) -> None:
    """Accept one connection, which sends for some seconds, and count the bytes after its mark until its end."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, _KINDS[kind]) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(1)
        python_process.print_line(Listening())
        # The listener stays open: it accepts the additional subflows.
        connection, _ = listener.accept()
        with connection:
            _count(connection, seconds)


def _count(connection: socket.socket, seconds: float) -> None:
    """Print how many bytes follow the mark, and how long that took.

    What the sender's buffer still holds long after its end does not count: where packets are lost, that takes
    minutes.
    """
    buffer, total = bytearray(_CHUNK), -len(_MARK)
    begun = last = time.monotonic()
    connection.settimeout(seconds + _TIMEOUT)
    while last < begun + seconds + _TIMEOUT:
        try:
            count = connection.recv_into(buffer)
        except TimeoutError:
            break
        if not count:
            break
        last = time.monotonic()
        if total < 1:  # only the mark so far
            begun = last
        total += count
    python_process.print_line(Received(max(total, 0), max(last - begun, 1e-9)))


def send(kind: str, address: str, port: int, source: str, seconds: float, wanted: int) -> None:
    """Connect, wait for the subflows, then send for some seconds."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, _KINDS[kind]) as connection:
        connection.bind((source, 0))
        connection.settimeout(_CONNECT)
        try:
            connection.connect((address, port))
        except OSError as error:
            sys.exit(f"none to {address} within {_CONNECT:g} s: {error.strerror or error}")
        connection.sendall(_MARK)  # completes the first subflow
        subflows = _subflows(connection, wanted) if kind == "mptcp" else 1
        data, end = bytes(_CHUNK), time.monotonic() + seconds
        connection.settimeout(seconds)
        with contextlib.suppress(TimeoutError):  # nothing was acknowledged for so long: what was sent counts
            while time.monotonic() < end:
                connection.send(data)
        python_process.print_line(Sent(subflows))


def _subflows(connection: socket.socket, wanted: int) -> int:
    """The number of subflows, once all have been established or the time is up; 1 after a fallback to TCP."""
    end = time.monotonic() + _TIMEOUT
    while True:
        try:
            info = connection.getsockopt(_SOL_MPTCP, _MPTCP_INFO, 64)
        except OSError:  # its first packets were lost: the kernel has fallen back to TCP
            return 1
        if int.from_bytes(info[_FLAGS_AT : _FLAGS_AT + 4], sys.byteorder) & _FELL_BACK:
            return 1
        subflows = info[_SUBFLOWS_AT] + 1
        if subflows >= wanted or time.monotonic() > end:
            return subflows
        time.sleep(0.01)


if __name__ == "__main__":
    action, kind_, address_, port_, *more = sys.argv[1:]
    if action == "serve":
        serve(kind_, address_, int(port_), float(more[0]))
    else:
        send(kind_, address_, int(port_), more[0], float(more[1]), int(more[2]))
