"""What a switch and a foreign controller say to each other, with the answers that the lab corrects.

Open vSwitch does not count what the switch fast path has forwarded, and takes every virtual link for one of
10 Gbit/s.  The lab knows both: it corrects the messages about them, at a socket of its session.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Callable
from pathlib import Path

_HEADER = struct.Struct("!BBHI")
#: Of a question to the lab: the switch's datapath id, the size of the request, of the answer.
QUESTION = struct.Struct("!QHH")
#: The name of the lab's socket beside the folders of Open vSwitch's.
SOCKET = "answers"
#: Seconds for the lab to correct an answer.
_TIMEOUT = 10.0
FEATURES_REPLY, FLOW_REMOVED, PORT_STATUS = 6, 11, 12
FLOW, AGGREGATE, TABLE, PORT_DESC, EXPERIMENTER = 1, 2, 3, 13, 0xFFFF
_CORRECTED = frozenset({FLOW, AGGREGATE, TABLE, PORT_DESC, EXPERIMENTER})
#: Requests that have no answer yet, at most.
_MAX_OPEN = 256

#: The correct answer, by datapath id (0: not known yet), request (empty: none is needed) and answer.
Correct = Callable[[int, bytes, bytes], bytes]


def statistics_request(version: int) -> int:
    """The type of messages that ask for statistics; that of their answers is the next number."""
    return 16 if version == 1 else 18


class Conversation:
    """One connection between a switch and a controller."""

    def __init__(self, correct: Correct) -> None:
        self._correct, self._switch = correct, 0
        self._open: dict[int, bytes] = {}

    def asked(self, message: bytes) -> bytes:
        """A message of the controller, unchanged: what it asks is noted where its answer does not repeat it."""
        asks = len(message) >= 10 and message[1] == statistics_request(message[0])
        if asks and _subject(message) == AGGREGATE and len(self._open) < _MAX_OPEN:
            self._open[int.from_bytes(message[4:8], "big")] = message
        return message

    def answered(self, message: bytes) -> bytes:
        """A message of the switch as the controller shall have it."""
        if len(message) < 16:
            return message
        version, kind, _, number = _HEADER.unpack_from(message)
        if kind == FEATURES_REPLY:
            self._switch = int.from_bytes(message[8:16], "big")
        request, wanted = b"", kind in (FLOW_REMOVED, PORT_STATUS)
        if kind == statistics_request(version) + 1:
            wanted = _subject(message) in _CORRECTED
            request = self._open.pop(number, b"") if _subject(message) == AGGREGATE else b""
        return self._correct(self._switch, request, message) if wanted else message


def _subject(message: bytes) -> int:
    """What statistics are about."""
    return int.from_bytes(message[8:10], "big")


class Answers:
    """The lab's service that corrects answers; where it does not run, they stay as they are."""

    def __init__(self, connect: Callable[[], socket.socket]) -> None:
        self._connect = connect
        self._socket: socket.socket | None = None

    @classmethod
    def at(cls, folder: Path) -> Answers:
        """By the socket in a folder."""

        def connect() -> socket.socket:
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(str(folder / SOCKET))
            return connection

        return cls(connect)

    def correct(self, switch: int, request: bytes, answer: bytes) -> bytes:
        """Have the lab correct an answer; see :data:`Correct`."""
        try:
            if self._socket is None:
                self._socket = self._connect()
                self._socket.settimeout(_TIMEOUT)
            self._socket.sendall(QUESTION.pack(switch, len(request), len(answer)) + request + answer)
            return _read(self._socket, len(answer))
        except OSError:
            if self._socket is not None:
                with contextlib.suppress(OSError):
                    self._socket.close()
            self._socket = None
            return answer


def _read(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise ConnectionResetError
        data += part
    return data
