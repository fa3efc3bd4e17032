"""JSON objects, one per line, over a stream socket between the lab, the agents' parent and the agents."""

from __future__ import annotations

import json
import socket
import threading
from typing import Any

Message = dict[str, Any]

_CHUNK = 1 << 16


class Channel:
    """One end of such a connection; the socket is a blocking one.  Any thread may send, one receives."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self._rest = b""
        #: What does not fit into the socket at once goes in pieces, between which no other may come.
        self._sending = threading.Lock()

    def send(self, message: Message) -> None:
        """Send one message; raises OSError when the other end is gone."""
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        with self._sending:
            self.socket.sendall(line)

    def receive(self) -> list[Message] | None:
        """Wait for something to arrive: the messages that it completes; None at the end of the stream.

        Raises ValueError for what is not JSON.
        """
        try:
            data = self.socket.recv(_CHUNK)
        except ConnectionResetError:
            return None
        if not data:
            return None
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [json.loads(line) for line in lines]

    def close(self) -> None:
        """Close this end."""
        self.socket.close()
