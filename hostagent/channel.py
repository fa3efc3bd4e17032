"""JSON objects, one per line, over a stream socket between the lab, the agents' parent and the agents."""

from __future__ import annotations

import json
import socket
from typing import Any

Message = dict[str, Any]

_CHUNK = 1 << 16


class Channel:
    """One end of such a connection; the socket is a blocking one.  One thread sends and one receives:
    agents have no other, and are a third larger where ``threading`` is so much as imported."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self._rest = b""

    def send(self, message: Message) -> None:
        """Send one message; raises OSError when the other end is gone."""
        self.socket.sendall(json.dumps(message, separators=(",", ":")).encode() + b"\n")

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
