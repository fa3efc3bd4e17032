"""JSON objects, one per line, over a stream socket.

Agents, the controller and the lab's control socket all use this codec.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping
from typing import Any

Message = dict[str, Any]

_CHUNK = 1 << 16


class ChannelError(ValueError):
    """A line that is not a JSON object, or is too long; one line of text."""


def encode(message: Mapping[str, Any]) -> bytes:
    """A message as one line."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def decode(line: bytes) -> Message:
    """The message in a line; raises ChannelError."""
    try:
        message = json.loads(line)
    except ValueError:
        message = None
    if not isinstance(message, dict):
        raise ChannelError(f"not a JSON object: {line[:100]!r}")
    return message


class Channel:
    """One end of a connection.

    One thread may send while another receives.  There is no lock here: agents have one thread, and
    importing ``threading`` would make them a third larger.  No line may have more than ``limit`` bytes.
    """

    def __init__(self, connection: socket.socket, limit: int | None = None) -> None:
        self.socket = connection
        self._limit = limit
        self._rest = bytearray()

    def send(self, message: Mapping[str, Any]) -> None:
        """Send one message; raises OSError when the other end is closed."""
        self.socket.sendall(encode(message))

    def receive(self) -> list[Message] | None:
        """Wait for data: the messages that it completes; None at the end of the stream.

        Raises ChannelError for a line that is not a message, and TimeoutError if the socket has a timeout.
        """
        try:
            data = self.socket.recv(_CHUNK)
        except TimeoutError:
            raise
        except OSError:
            return None
        return self.feed(data) if data else None

    def feed(self, data: bytes) -> list[Message]:
        """Add data that was read from the socket already: the messages that it completes."""
        *lines, rest = data.split(b"\n")
        if lines:
            lines[0] = bytes(self._rest) + lines[0]
            self._rest.clear()
        self._rest += rest
        if self._limit is not None and max(map(len, (*lines, self._rest))) > self._limit:
            raise ChannelError(f"a message has at most {self._limit} bytes")
        return [decode(line) for line in lines]

    def messages(self) -> Iterator[Message]:
        """All messages until the end of the stream; raises as :meth:`receive` does."""
        while (messages := self.receive()) is not None:
            yield from messages

    def close(self) -> None:
        """Close this end."""
        self.socket.close()
