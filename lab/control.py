"""The control socket's protocol: one request per connection, JSON lines, descriptors beside.

The client sends ``{"op": ..., ...}`` in one line, with its standard descriptors attached
where the operation runs a program.  The lab answers any number of ``{"progress": ...}``
lines and at last ``{"result": ...}`` or ``{"error": "...", "code": 1|2}``.  While a
program runs the client may send ``{"signal": 2}`` lines.
"""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.errors import LabError, UsageError

_LONGEST_REQUEST = 1 << 20
_MOST_DESCRIPTORS = 3
_BREATH = 0.05

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
    listener.settimeout(_BREATH)
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
        thread.join(_BREATH)


def _answer(connection: socket.socket, operations: dict[str, Operation]) -> None:
    with connection:
        try:
            call = _receive(connection)
            if call is None:
                return
            operation = operations.get(str(call.request.get("op")))
            if operation is None:
                raise UsageError(f"the lab knows no operation {call.request.get('op')!r}")
            try:
                answer: Request = {"result": operation(call)}
            finally:
                call.close_descriptors()
        except LabError as error:
            answer = {"error": str(error), "code": error.exit_code}
        except Exception as error:  # the lab goes on, and whoever asked is told
            answer = {"error": f"{type(error).__name__}: {error}", "code": 1}
        try:
            _send(connection, answer)
        except OSError:
            return


def _receive(connection: socket.socket) -> Call | None:
    data, descriptors, _, _ = socket.recv_fds(connection, _LONGEST_REQUEST, _MOST_DESCRIPTORS)
    while data and not data.endswith(b"\n"):
        more = connection.recv(_LONGEST_REQUEST)
        if not more or len(data) > _LONGEST_REQUEST:
            return None
        data += more
    if not data:
        return None
    return Call(json.loads(data), list(descriptors), connection, iter(connection.makefile("rb")))


class Connection:
    """The client's end: one request, then its answers."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.connect(str(path))
        except OSError as error:
            self._socket.close()
            raise LabError(f"no lab answers at {path}: see `dcnlab ps`") from error

    def call(
        self,
        op: str,
        progress: Callable[[Any], None] | None = None,
        descriptors: tuple[int, ...] = (),
        **arguments: Any,
    ) -> Any:
        """Ask and wait for the answer; raises LabError or UsageError with the lab's text."""
        line = json.dumps({"op": op, **arguments}).encode() + b"\n"
        socket.send_fds(self._socket, [line], list(descriptors))
        with self._socket.makefile("rb") as answers:
            for text in answers:
                answer = json.loads(text)
                if "progress" in answer:
                    if progress is not None:
                        progress(answer["progress"])
                elif "error" in answer:
                    raise (UsageError if answer["code"] == 2 else LabError)(answer["error"])
                else:
                    return answer["result"]
        raise LabError("the lab ended before it answered")

    def signal(self, number: int) -> None:
        """Pass a signal to the program that the lab runs for this connection."""
        _send(self._socket, {"signal": number})

    def close(self) -> None:
        """Hang up."""
        self._socket.close()


def _send(connection: socket.socket, value: Request) -> None:
    connection.sendall(json.dumps(value).encode() + b"\n")
