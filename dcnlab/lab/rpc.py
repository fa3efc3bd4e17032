"""The control socket's protocol: one request per connection, JSON lines, descriptors beside.

The client sends ``{"op": ..., ...}`` in one line, with its standard descriptors attached
where the operation runs a program.  The lab answers any number of ``{"progress": ...}``
lines and at last ``{"result": ...}`` or ``{"error": "...", "code": 1|2}``.  While a
program runs the client may send ``{"signal": 2}`` lines.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from dcnlab.lab.errors import LabError, UsageError

_LONGEST_REQUEST = 1 << 26
_CHUNK = 1 << 16
_MAX_DESCRIPTORS = 3
_POLL_INTERVAL = 0.05

Request = dict[str, Any]


@dataclass
class Call:
    """One request as the lab sees it: its words, its descriptors and the way back."""

    request: Request
    descriptors: list[int]
    connection: socket.socket
    _lines: Iterator[bytes] = field(repr=False)

    def progress(self, value: object) -> None:
        """Tell the client how far the operation is."""
        _send(self.connection, {"progress": value})

    def close_descriptors(self) -> None:
        """Give up the caller's descriptors: an end of a pipe that stays open here is never at its end."""
        while self.descriptors:
            os.close(self.descriptors.pop())

    def messages(self) -> Iterator[Request]:
        """What the client sends while the operation runs, until it goes away."""
        for line in self._lines:
            yield json.loads(line)


Operation = Callable[[Call], Any]


def serve(listener: socket.socket, operations: dict[str, Operation], stop: threading.Event) -> None:
    """Answer requests, each in a thread of its own, until ``stop`` is set; answers that are
    on their way then are given a moment."""
    listener.settimeout(_POLL_INTERVAL)
    under_way: list[threading.Thread] = []
    while not stop.is_set():
        under_way = [thread for thread in under_way if thread.is_alive()]
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            continue
        connection.setblocking(True)
        thread = threading.Thread(target=_answer, args=(connection, operations), daemon=True)
        thread.start()
        under_way.append(thread)
    for thread in under_way:
        thread.join(_POLL_INTERVAL)


def _answer(connection: socket.socket, operations: dict[str, Operation]) -> None:
    with connection:
        call = Call({}, [], connection, iter(()))
        try:
            if not _receive(call):
                return
            operation = operations.get(str(call.request.get("op")))
            if operation is None:
                raise UsageError(f"the lab knows no operation {call.request.get('op')!r}")
            answer: Request = {"result": operation(call)}
        except LabError as error:
            answer = {"error": str(error), "code": error.exit_code}
        except Exception as error:  # the lab goes on, and whoever asked is told
            answer = {"error": f"{type(error).__name__}: {error}", "code": 1}
        finally:
            call.close_descriptors()
        with contextlib.suppress(OSError):  # whoever asked has gone
            _send(connection, answer)


def _receive(call: Call) -> bool:
    """Read a request and what came with it into ``call``; False when whoever asked has gone."""
    data, descriptors, _, _ = socket.recv_fds(call.connection, _CHUNK, _MAX_DESCRIPTORS)
    call.descriptors += descriptors
    line = bytearray(data)
    while not line.endswith(b"\n"):
        more = call.connection.recv(_CHUNK)
        if not more:
            return False
        line += more
        if len(line) > _LONGEST_REQUEST:
            raise UsageError(f"a request has at most {_LONGEST_REQUEST} bytes")
    call.request = json.loads(line)
    call._lines = iter(call.connection.makefile("rb"))
    return True


class Connection:
    """The client's end: one request, then its answers, each within ``patience`` seconds (None: however
    long it takes)."""

    def __init__(self, path: Path, timeout: float | None = None) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout)
        try:
            self._socket.connect(str(path))
        except OSError as error:
            self._socket.close()
            raise LabError(f"there is no lab named {path.stem}: see `dcnlab ps`") from error

    def call(
        self,
        op: str,
        progress: Callable[[Any], None] | None = None,
        descriptors: tuple[int, ...] = (),
        **arguments: Any,
    ) -> Any:
        """Ask and wait for the answer; raises LabError or UsageError with the lab's text."""
        line = json.dumps({"op": op, **arguments}).encode() + b"\n"
        for answer in self._answers(line, descriptors):
            if "progress" in answer:
                if progress is not None:
                    progress(answer["progress"])
            elif "error" in answer:
                raise (UsageError if answer["code"] == 2 else LabError)(answer["error"])
            else:
                return answer["result"]
        raise LabError("the lab ended before it answered")

    def _answers(self, line: bytes, descriptors: tuple[int, ...]) -> Iterator[Request]:
        """What the lab says to a request, until it hangs up."""
        with contextlib.suppress(ConnectionError):  # it may have answered before it hung up
            sent = socket.send_fds(self._socket, [line], list(descriptors))
            if sent < len(line):
                self._socket.sendall(line[sent:])
        with self._socket.makefile("rb") as lines:
            while text := self._next(lines):
                yield json.loads(text)

    @staticmethod
    def _next(lines: BinaryIO) -> bytes:
        """The next line; nothing at the end, an orderly one or not."""
        try:
            return lines.readline()
        except ConnectionError:
            return b""
        except TimeoutError:
            raise LabError("the lab does not answer yet") from None

    def signal(self, number: int) -> None:
        """Pass a signal to the program that the lab runs for this connection, if that still runs."""
        with contextlib.suppress(ConnectionError):
            _send(self._socket, {"signal": number})

    def close(self) -> None:
        """Hang up."""
        self._socket.close()


def _send(connection: socket.socket, value: Request) -> None:
    connection.sendall(json.dumps(value).encode() + b"\n")
