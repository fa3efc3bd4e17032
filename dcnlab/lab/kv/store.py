"""A server's own store: keys and values in memory, asked over TCP inside the lab's network.

A request is one line of JSON, then ``size`` bytes; so is the answer:

    {"op": "put", "key": "<hex>", "version": 17, "size": 3}   and the value; a put without ``size`` deletes
    {"op": "stat" | "get", "key": "<hex>"}                    {"version": 17, "size": 3} and, for get, the value
    {"op": "list"}                                            {"keys": {"<hex>": [17, 3], ...}}

The newest version stays.  A deleted key keeps its version, without a ``size``.
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
    """A value with its version; None: deleted."""

    version: int
    value: bytes | None

    def words(self) -> Message:
        """What is said of it before its bytes."""
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
        """Version and size of what is there."""
        with self.lock:
            return {k: [it.version, len(it.value)] for k, it in self.items.items() if it.value is not None}


class _Handler(socketserver.StreamRequestHandler):
    """One request; whoever says anything else is hung up on."""

    timeout = _TIMEOUT

    def handle(self) -> None:
        try:
            asked, body = receive(self.rfile)
            answer, value = self._answer(asked, body)
            send(self.wfile, answer, value)
        except (OSError, ValueError, KeyError):
            return

    def _answer(self, asked: Message, body: bytes) -> tuple[Message, bytes]:
        store = self.server
        assert isinstance(store, Store)
        match asked["op"]:
            case "put":
                store.put(str(asked["key"]), Item(int(asked["version"]), body if "size" in asked else None))
                return {}, b""
            case "stat" | "get" as op:
                item = store.items.get(str(asked["key"]))
                value = item.value if item is not None and op == "get" else None
                return ({} if item is None else item.words()), value or b""
            case "list":
                return {"keys": store.listing()}, b""
        raise ValueError(asked["op"])


def send(stream: BufferedIOBase, words: Message, body: bytes = b"") -> None:
    """One line and the bytes behind it."""
    stream.write(json.dumps(words).encode() + b"\n")
    stream.write(body)
    stream.flush()


def receive(stream: BufferedIOBase, body: bool = True) -> tuple[Message, bytes]:
    """One line and, with ``body``, as many bytes as it announces; ValueError for anything else."""
    line = stream.readline(_LONGEST_LINE)
    words = json.loads(line)
    if not isinstance(words, dict):
        raise ValueError("no object")
    size = int(words.get("size", 0)) if body else 0
    if not 0 <= size <= LARGEST:
        raise ValueError("too large")
    data = stream.read(size)
    if len(data) != size:
        raise ValueError("cut short")
    return words, data
