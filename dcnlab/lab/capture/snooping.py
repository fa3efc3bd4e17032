"""``python -m dcnlab.lab.capture.snooping``: what one switch and its controller say, as pcap.

Open vSwitch copies the OpenFlow messages of a switch, in both directions, to those who connect to the socket
``SWITCH.snoop``.  Each message becomes a packet of the link type ``WIRESHARK_UPPER_PDU`` that names the
dissector ``openflow``, since there are no TCP segments.  They go to standard output.

    python -m dcnlab.lab.capture.snooping SOCKET COUNT        (COUNT 0: without end)
"""

from __future__ import annotations

import signal
import socket
import struct
import sys
import time
from collections.abc import Iterator

_VERSION, _HELLO = 4, 0
_OPENFLOW = struct.Struct(">BBHI")
_WIRESHARK_UPPER_PDU = 252
_TAG = struct.Struct(">HH")
_TAG_DISSECTOR = 12
_MAX_PACKET = 1 << 18


def main() -> int:
    """Write messages until a signal, or until COUNT were written."""
    path, count = sys.argv[1], int(sys.argv[2])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(0))
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        connection.sendall(_OPENFLOW.pack(_VERSION, _HELLO, _OPENFLOW.size, 0))
        print(f"listening on {path}", file=sys.stderr, flush=True)
        _write(struct.pack("=IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, _MAX_PACKET, _WIRESHARK_UPPER_PDU))
        for written, message in enumerate(messages(connection), 1):
            _write(packet(message, time.time()))
            if written == count:
                break
    return 0


def messages(connection: socket.socket) -> Iterator[bytes]:
    """The OpenFlow messages that arrive, without the greeting."""
    buffer, greeted = b"", False
    while data := connection.recv(1 << 16):
        buffer += data
        while len(buffer) >= _OPENFLOW.size:
            _, kind, size, _ = _OPENFLOW.unpack_from(buffer)
            if len(buffer) < size:
                break
            message, buffer = buffer[:size], buffer[size:]
            if kind == _HELLO and not greeted:
                greeted = True
            else:
                yield message


def packet(message: bytes, at: float) -> bytes:
    """A record of a pcap file with one message."""
    name = b"openflow"
    data = _TAG.pack(_TAG_DISSECTOR, len(name)) + name + _TAG.pack(0, 0) + message
    seconds = int(at)
    return struct.pack("=IIII", seconds, int((at - seconds) * 1e6), len(data), len(data)) + data


def _write(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        sys.exit(0)
