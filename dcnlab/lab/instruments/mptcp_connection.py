"""One connection of TCP or Multipath TCP, as a program at each end of it.

    python -m dcnlab.lab.instruments.mptcp_connection serve tcp|mptcp ADDRESS PORT
    python -m dcnlab.lab.instruments.mptcp_connection send  tcp|mptcp ADDRESS PORT FROM SECONDS SUBFLOWS

Each says one line of JSON: the server ``{}`` once it listens, and at the end how many ``bytes`` came
in how many ``seconds``; the client how many ``subflows`` there were while it sent.  The measurement
begins when the connection has all its subflows.
"""

from __future__ import annotations

import json
import socket
import sys
import time

_SOL_MPTCP, _MPTCP_INFO = 284, 1
#: In struct mptcp_info: the number of further subflows, and the flag of a fall-back to TCP.
_SUBFLOWS_AT, _FLAGS_AT, _FELL_BACK = 0, 8, 0x1
_KINDS = {"tcp": socket.IPPROTO_TCP, "mptcp": socket.IPPROTO_MPTCP}
_CHUNK = 1 << 18
_TIMEOUT = 10.0
_GO = b"G"


def serve(kind: str, address: str, port: int) -> None:
    """Take one connection and count what it brings from its mark on, until its end."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, _KINDS[kind]) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(1)
        _say({})
        # It stays open: further subflows are answered by it.
        connection, _ = listener.accept()
        with connection:
            _count(connection)


def _count(connection: socket.socket) -> None:
    """Say how much comes from the mark on, and how long that took."""
    buffer, total = bytearray(_CHUNK), -len(_GO)
    begun = last = time.monotonic()
    while count := connection.recv_into(buffer):
        last = time.monotonic()
        if total < 1:  # nothing but the mark so far
            begun = last
        total += count
    _say({"bytes": total, "seconds": max(last - begun, 1e-9)})


def send(kind: str, address: str, port: int, source: str, seconds: float, wanted: int) -> None:
    """Connect, wait for the subflows, send for some seconds."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, _KINDS[kind]) as connection:
        connection.bind((source, 0))
        connection.settimeout(_TIMEOUT)
        connection.connect((address, port))
        connection.sendall(_GO)  # which completes the first subflow
        found = _subflows(connection, wanted) if kind == "mptcp" else 1
        data, end = bytes(_CHUNK), time.monotonic() + seconds
        connection.settimeout(seconds)
        while time.monotonic() < end:
            connection.send(data)
        _say({"subflows": found})


def _subflows(connection: socket.socket, wanted: int) -> int:
    """How many subflows there are, once it is as many as wanted or time is up; 1 after a fall-back."""
    end = time.monotonic() + _TIMEOUT
    while True:
        info = connection.getsockopt(_SOL_MPTCP, _MPTCP_INFO, 64)
        if int.from_bytes(info[_FLAGS_AT : _FLAGS_AT + 4], sys.byteorder) & _FELL_BACK:
            return 1
        found = info[_SUBFLOWS_AT] + 1
        if found >= wanted or time.monotonic() > end:
            return found
        time.sleep(0.01)


def _say(words: dict[str, float]) -> None:
    print(json.dumps(words), flush=True)


if __name__ == "__main__":
    action, kind_, address_, port_, *more = sys.argv[1:]
    if action == "serve":
        serve(kind_, address_, int(port_))
    else:
        send(kind_, address_, int(port_), more[0], float(more[1]), int(more[2]))
