"""The store of one server: keys and values in memory, served over TCP in the lab's network.

A :class:`Request` is one line of JSON, then ``size`` bytes; so is the :class:`Reply`:

    put          a key as hexadecimal digits, a version, and the value; without ``size`` it deletes
    stat, get    the version and the size of a key, and for get the value
    list         of every key its version and size

A newer version replaces an older one.  A deleted key keeps its version, without a ``size``.
"""

from __future__ import annotations

import json
import socket
import socketserver
import threading
from dataclasses import asdict, dataclass, field
from io import BufferedIOBase
from typing import TypeVar

from dcnlab.lab.contract.codec import decode_fields

PORT = 7411
LARGEST = 64 << 20
_LONGEST_LINE = 1 << 20
_TIMEOUT = 3.0
M = TypeVar("M", "Request", "Reply")


@dataclass(frozen=True)
class Request:
    """What a store is asked for."""

    op: str
    key: str = ""
    version: int = 0
    size: int | None = None


@dataclass(frozen=True)
class Reply:
    """What it answers; without a version there is no such key."""

    version: int = 0
    size: int | None = None
    keys: dict[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Item:
    """A value with its version; the value None marks a deleted key."""

    version: int
    value: bytes | None

    def header(self) -> Reply:
        """What precedes the bytes."""
        return Reply(self.version, None if self.value is None else len(self.value))


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

    def listing(self) -> dict[str, tuple[int, int]]:
        """Version and size of every value."""
        with self.lock:
            return {k: (it.version, len(it.value)) for k, it in self.items.items() if it.value is not None}


class _Handler(socketserver.StreamRequestHandler):
    """One request; a malformed one closes the connection."""

    timeout = _TIMEOUT

    def handle(self) -> None:
        try:
            request, body = receive(self.rfile, Request)
            answer, value = self._answer(request, body)
            send(self.wfile, answer, value)
        except (OSError, ValueError):
            return

    def _answer(self, request: Request, body: bytes) -> tuple[Reply, bytes]:
        store = self.server
        assert isinstance(store, Store)
        match request.op:
            case "put":
                store.put(request.key, Item(request.version, None if request.size is None else body))
                return Reply(), b""
            case "stat" | "get" as op:
                item = store.items.get(request.key)
                value = item.value if item is not None and op == "get" else None
                return (Reply() if item is None else item.header()), value or b""
            case "list":
                return Reply(keys=store.listing()), b""
        raise ValueError(request.op)


def send(stream: BufferedIOBase, message: Request | Reply, body: bytes = b"") -> None:
    """Write one line and the bytes after it."""
    stream.write(json.dumps(asdict(message)).encode() + b"\n")
    stream.write(body)
    stream.flush()


def receive(stream: BufferedIOBase, kind: type[M], body: bool = True) -> tuple[M, bytes]:
    """Read one line and, with ``body``, as many bytes as it announces; ValueError for anything else."""
    line = stream.readline(_LONGEST_LINE)
    try:
        message = decode_fields(kind, json.loads(line))
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"no {kind.__name__}: {error}") from None
    size = message.size or 0 if body else 0
    if not 0 <= size <= LARGEST:
        raise ValueError("too large")
    data = stream.read(size)
    if len(data) != size:
        raise ValueError("truncated")
    return message, data
