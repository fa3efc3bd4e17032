"""JSON objects, one per line, over a stream socket: what the lab and the controller talk."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping
from typing import Any

_CHUNK = 1 << 16


class ChannelError(ValueError):
    """A line that is no JSON object; its text shows the line."""


def send(end: socket.socket, message: Mapping[str, Any]) -> None:
    """Write one message; OSError when the other end has gone."""
    end.sendall(json.dumps(message).encode() + b"\n")


def receive(end: socket.socket) -> Iterator[dict[str, Any]]:
    """All messages until the other end closes; ChannelError for a line that is none."""
    pending = b""
    while chunk := _read(end):
        *lines, pending = (pending + chunk).split(b"\n")
        for line in lines:
            yield _parse(line)


def _read(end: socket.socket) -> bytes:
    """What has arrived; nothing at the end, an orderly one or not."""
    try:
        return end.recv(_CHUNK)
    except OSError:
        return b""


def _parse(line: bytes) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except ValueError:
        message = None
    if not isinstance(message, dict):
        raise ChannelError(f"no message: {line[:100]!r}")
    return message
