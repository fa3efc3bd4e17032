"""The store of one server: keys and values in memory, served over TCP in the lab's network.

A request is one line of JSON, then ``size`` bytes; so is the answer:

    {"op": "put", "key": "<hex>", "version": 17, "size": 3}   and the value; without ``size`` it deletes
    {"op": "stat" | "get", "key": "<hex>"}                    {"version": 17, "size": 3} and, for get, the value
    {"op": "list"}                                            {"keys": {"<hex>": [17, 3], ...}}

A newer version replaces an older one.  A deleted key keeps its version, without a ``size``.
"""

from __future__ import annotations

import json
import socket
import socketserver
import threading
from dataclasses import dataclass
from io import BufferedIOBase
from typing import Any

PORT = 7411
LARGEST = 64 << 20
_LONGEST_LINE = 1 << 20
_TIMEOUT = 3.0

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Item:
    """A value with its version; the value None marks a deleted key."""

    version: int
    value: bytes | None

    def header(self) -> Message:
        """The fields that precede the bytes."""
        return {"version": self.version} | ({} if self.value is None else {"size": len(self.value)})


class Store(socketserver.ThreadingTCPServer):
    """Serves on a listening socket, which stays in the namespace in which it was opened."""

    daemon_threads = True

    def __init__(self, listener: socket.socket) -> None:
        super().__init__(listener.getsockname(), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self.items: dict[str, Item] = {}
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True, name="store").start()

    def put(self, key: str, item: Item) -> None:
        """Keep an item unless there is a newer one."""
        with self.lock:
            if key not in self.items or self.items[key].version < item.version:
                self.items[key] = item

    def listing(self) -> dict[str, list[int]]:
        """Version and size of every value."""
        with self.lock:
            return {k: [it.version, len(it.value)] for k, it in self.items.items() if it.value is not None}


class _Handler(socketserver.StreamRequestHandler):
    """One request; a malformed one closes the connection."""

    timeout = _TIMEOUT

    def handle(self) -> None:
        try:
            request, body = receive(self.rfile)
            answer, value = self._answer(request, body)
            send(self.wfile, answer, value)
        except (OSError, ValueError, KeyError):
            return

    def _answer(self, request: Message, body: bytes) -> tuple[Message, bytes]:
        store = self.server
        assert isinstance(store, Store)
        match request["op"]:
            case "put":
                store.put(
                    str(request["key"]), Item(int(request["version"]), body if "size" in request else None)
                )
                return {}, b""
            case "stat" | "get" as op:
                item = store.items.get(str(request["key"]))
                value = item.value if item is not None and op == "get" else None
                return ({} if item is None else item.header()), value or b""
            case "list":
                return {"keys": store.listing()}, b""
        raise ValueError(request["op"])


def send(stream: BufferedIOBase, message: Message, body: bytes = b"") -> None:
    """Write one line and the bytes after it."""
    stream.write(json.dumps(message).encode() + b"\n")
    stream.write(body)
    stream.flush()


def receive(stream: BufferedIOBase, body: bool = True) -> tuple[Message, bytes]:
    """Read one line and, with ``body``, as many bytes as it announces; ValueError for anything else."""
    line = stream.readline(_LONGEST_LINE)
    message = json.loads(line)
    if not isinstance(message, dict):
        raise ValueError("not an object")
    size = int(message.get("size", 0)) if body else 0
    if not 0 <= size <= LARGEST:
        raise ValueError("too large")
    data = stream.read(size)
    if len(data) != size:
        raise ValueError("truncated")
    return message, data
