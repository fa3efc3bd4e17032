"""A program for two hosts that compares what they exchange: ``exchange.py receive|send ADDRESS [GROUP]``.

The sender connects by TCP, sends a payload, then datagrams, to ADDRESS or to a multicast GROUP; the receiver
answers each with its digest.  Standard library only; both end after 20 seconds without progress.
"""

from __future__ import annotations

import hashlib
import random
import socket
import struct
import sys

PORT, PATIENCE = 7777, 20.0
#: Sizes of datagrams: odd and even, of one frame and of several fragments.
SIZES = (1, 2, 33, 64, 1001, 1400, 4001)


def payload(size: int) -> bytes:
    """Bytes that both ends could compute; neither does: digests are compared."""
    return random.Random(size).randbytes(size)


def digest(data: bytes) -> bytes:
    """The line that says what has arrived."""
    return hashlib.sha256(data).hexdigest().encode() + b"\n"


def receive(address: str, group: str) -> None:
    """Serve one sender."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with (
        socket.create_server((address, PORT), family=family) as server,
        socket.socket(family, socket.SOCK_DGRAM) as datagrams,
    ):
        datagrams.bind((group or address, PORT))
        datagrams.settimeout(PATIENCE)
        if group:
            wanted = socket.inet_aton(group) + socket.inet_aton(address)
            datagrams.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, wanted)
        server.settimeout(PATIENCE)
        print("ready", flush=True)
        connection, _ = server.accept()
        connection.settimeout(PATIENCE)
        with connection.makefile("rb") as stream:
            (size,) = struct.unpack(">I", stream.read(4))
            connection.sendall(digest(stream.read(size)))
        for _ in SIZES:
            connection.sendall(digest(datagrams.recv(1 << 16)))


def send(address: str, group: str) -> None:
    """Send and compare; exits with 1 and a line for what differs."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with (
        socket.create_connection((address, PORT), PATIENCE) as connection,
        connection.makefile("rb") as answers,
    ):
        stream = payload(300_001)
        connection.sendall(struct.pack(">I", len(stream)) + stream)
        if answers.readline() != digest(stream):
            sys.exit("the TCP payload differs")
        with socket.socket(family, socket.SOCK_DGRAM) as datagrams:
            if group:
                own = socket.inet_aton(connection.getsockname()[0])
                datagrams.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, own)
                datagrams.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 8)
            for size in SIZES:
                datagrams.sendto(payload(size), (group or address, PORT))
                if answers.readline() != digest(payload(size)):
                    sys.exit(f"the datagram of {size} bytes differs")
    print("equal")


if __name__ == "__main__":
    {"receive": receive, "send": send}[sys.argv[1]](sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else "")
