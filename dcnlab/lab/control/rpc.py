"""The control socket's protocol: one request per connection, JSON lines, descriptors beside.

The client sends ``{"op": ..., ...}`` in one line, with its standard descriptors attached
where the operation runs a program.  The lab answers any number of ``{"progress": ...}``
lines and at last ``{"result": ...}`` or ``{"error": "...", "code": 1|2}``.  While a
program runs the client may send ``{"signal": 2}`` lines, while a measurement runs ``{"stop": true}``.

The lab logs every request with level DEBUG, and unexpected errors with their traceback.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dcnlab.lab.control import holders
from dcnlab.lab.control.request import checked
from dcnlab.lab.errors import LabError, UsageError
from hostagent.channel import Channel, ChannelError, encode
from hostagent.channel import Message as Request

_LONGEST_REQUEST = 1 << 26
_CHUNK = 1 << 16
_MAX_DESCRIPTORS = 3
_POLL_INTERVAL = 0.05
_LONGEST_SHOWN = 200
#: Seconds until a client first looks whether the session is stopped, between two looks, and that it tries to
#: connect while others wait.
_SOON, _LOOK, _CROWDED = 0.3, 1.0, 10.0

_log = logging.getLogger(__name__)


@dataclass
class Call:
    """One request as the lab sees it: its fields, its descriptors and the channel back."""

    request: Request
    descriptors: list[int]
    channel: Channel
    #: What the client has sent with the request: its socket says nothing of it any more.
    pending: list[Request] = field(repr=False, default_factory=list)
    #: Several threads may report progress.
    _sending: threading.Lock = field(repr=False, default_factory=threading.Lock)

    def progress(self, value: object) -> None:
        """Report to the client how far the operation is."""
        with self._sending:
            self.channel.send({"progress": value})

    def close_descriptors(self) -> None:
        """Close the client's descriptors: a pipe has its end only when nobody holds it open."""
        while self.descriptors:
            os.close(self.descriptors.pop())

    def messages(self) -> Iterator[Request]:
        """What the client sends while the operation runs, until it disconnects."""
        while self.pending:
            yield self.pending.pop(0)
        yield from self.channel.messages()


Operation = Callable[[Call], Any]
#: Called by the client for every report of an operation about its progress.
Progress = Callable[[Any], None]


def serve(listener: socket.socket, operations: dict[str, Operation], stop: threading.Event) -> None:
    """Answer requests, each in a thread of its own, until ``stop`` is set; answers that are almost
    ready then are still sent."""
    listener.settimeout(_POLL_INTERVAL)
    answering: list[threading.Thread] = []
    while not stop.is_set():
        answering = [thread for thread in answering if thread.is_alive()]
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            continue
        except OSError as error:  # files are short: later requests are answered
            _log.warning("a request was not accepted: %s", error)
            stop.wait(_POLL_INTERVAL)
            continue
        connection.setblocking(True)
        thread = threading.Thread(target=_answer, args=(connection, operations), daemon=True)
        thread.start()
        answering.append(thread)
    for thread in answering:
        thread.join(_POLL_INTERVAL)


def _answer(connection: socket.socket, operations: dict[str, Operation]) -> None:
    with connection:
        call = Call({}, [], Channel(connection, _LONGEST_REQUEST))
        try:
            if not _receive(call):
                return
            answer: Request = {"result": _perform(operations, call)}
        except LabError as error:
            _log.info("%s: %s", _shown(call.request), error)
            answer = {"error": str(error), "code": error.exit_code}
        except Exception as error:  # the lab goes on; the client gets the error
            _log.exception("%s failed", _shown(call.request))
            answer = {"error": _unexpected(error), "code": 1}
        finally:
            call.close_descriptors()
        with contextlib.suppress(OSError):  # the client has disconnected
            call.channel.send(answer)


def _unexpected(error: Exception) -> str:
    """One line for an error of the program; where that was replaced meanwhile, it says so."""
    from dcnlab.lab.control import upgrade  # clients do without these
    from topos import plugins

    text = plugins.described(error)
    return f"{upgrade.NOTE} ({text})" if upgrade.all_replaced() else text


def _perform(operations: dict[str, Operation], call: Call) -> Any:
    """The result of the operation that a request names."""
    operation = operations.get(str(call.request.get("op")))
    if operation is None:
        raise UsageError(f"a lab has no operation {call.request.get('op')!r}")
    begun = time.perf_counter()
    result = operation(call)
    _log.debug("%s took %.1f ms", _shown(call.request), 1000 * (time.perf_counter() - begun))
    return result


def _shown(request: Request) -> str:
    """A request as the log shows it: the operation and its arguments, cut short if they are long."""
    arguments = ", ".join(f"{name}={value!r}" for name, value in request.items() if name != "op")
    return f"{request.get('op')}({arguments[:_LONGEST_SHOWN]})"


def _receive(call: Call) -> bool:
    """Read a request and its descriptors into ``call``; False when the client has disconnected."""
    data, descriptors, _, _ = socket.recv_fds(call.channel.socket, _CHUNK, _MAX_DESCRIPTORS)
    call.descriptors += descriptors
    try:
        received: list[Request] | None = call.channel.feed(data)
        while data and received == []:  # a part of the line
            received = call.channel.receive()
    except ChannelError as error:
        raise UsageError(str(error)) from error
    if not received:
        return False
    call.request, call.pending = checked(received[0]), received[1:]
    return True


class Disconnected(LabError):
    """The lab has disconnected before it answered: it has ended, or the client has left."""


class StoppedError(LabError):
    """The lab's session was stopped by a signal, so that nobody answers."""

    def __init__(self, text: str, guard: int) -> None:
        super().__init__(text)
        self.guard = guard


class Connection:
    """The client's end: one request, then its answers, each within ``timeout`` seconds.

    None: as long as the lab's session is not stopped, which raises StoppedError.
    """

    def __init__(self, path: Path, timeout: float | None = None) -> None:
        self._channel = Channel(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        #: Whether the request has been sent, and what threads and signal handlers send, which comes after it.
        #: None of them waits for that: a handler may have interrupted the thread that sends the request.
        self._asked = False
        self._unsent: deque[Request] = deque()
        self._lab, self._timeout = path.stem, timeout
        try:
            self._connect(str(path))
        except OSError as error:
            self._channel.close()
            raise LabError(f"there is no lab named {path.stem}: see `dcnlab ps`") from error

    def _connect(self, path: str) -> None:
        """Connect; LabError where many clients wait already, and nobody answers them."""
        connection, end = self._channel.socket, time.monotonic() + (self._timeout or _CROWDED)
        connection.setblocking(False)
        while True:
            try:
                connection.connect(path)
            except BlockingIOError:
                self._look_for_stop(holders.guard_at(path))
                if time.monotonic() > end:
                    connection.close()
                    raise LabError(f"{self._lab} does not answer: too many requests wait") from None
                time.sleep(_POLL_INTERVAL)
            else:
                connection.setblocking(True)
                return

    @property
    def peer(self) -> int:
        """The process that listens: the lab's guard."""
        return holders.peer(self._channel.socket)

    def call(
        self,
        op: str,
        progress: Progress | None = None,
        descriptors: tuple[int, ...] = (),
        **arguments: Any,
    ) -> Any:
        """Send a request and wait for the answer; raises LabError or UsageError with the lab's text, and
        Disconnected when there is none."""
        _log.debug("request %s", _shown({"op": op, **arguments}))
        for answer in self._answers(encode({"op": op, **arguments}), descriptors):
            if "progress" in answer:
                if progress is not None:
                    progress(answer["progress"])
            elif "error" in answer:
                raise (UsageError if answer["code"] == 2 else LabError)(answer["error"])
            else:
                return answer["result"]
        raise Disconnected("the lab ended before it answered")

    def stream(self, op: str, **arguments: Any) -> Iterator[Any]:
        """Send a request; the reports of its progress, one by one, until it ends."""
        for answer in self._answers(encode({"op": op, **arguments}), ()):
            if "error" in answer:
                raise (UsageError if answer["code"] == 2 else LabError)(answer["error"])
            if "result" in answer:
                return
            yield answer["progress"]

    def _answers(self, line: bytes, descriptors: tuple[int, ...]) -> Iterator[Request]:
        """The lab's answers to a request, until it disconnects."""
        connection = self._channel.socket
        try:
            with contextlib.suppress(ConnectionError):  # it may have answered before it disconnected
                sent = socket.send_fds(connection, [line], list(descriptors))
                if sent < len(line):
                    connection.sendall(line[sent:])
        finally:
            self._asked = True
        try:
            with contextlib.suppress(ConnectionError):
                self._send_rest()
            while self._await() and (received := self._channel.receive()) is not None:
                yield from received
        except ValueError:  # another thread has closed it
            return

    def _await(self) -> bool:
        """Wait for an answer; always True.  LabError after the time-out, StoppedError if nobody can answer."""
        watched, begun = select.poll(), time.monotonic()
        watched.register(self._channel.socket, select.POLLIN)
        end = float("inf") if self._timeout is None else begun + self._timeout
        look = _SOON
        while not watched.poll(1000 * max(0.0, min(look, end - time.monotonic()))):
            self._look_for_stop(self.peer)
            if time.monotonic() >= end:
                raise LabError("the lab does not answer yet")
            look = _LOOK
        return True

    def _look_for_stop(self, guard: int) -> None:
        """StoppedError when the session of a guard is stopped."""
        if (holder := holders.stopped(guard, "session")) is not None:
            self.close()
            raise StoppedError(holder.said(self._lab), guard)

    def signal(self, number: int) -> None:
        """Pass a signal to the program that the lab runs for this connection, if that still runs."""
        with contextlib.suppress(ConnectionError):
            self._send({"signal": number})

    def stop(self) -> None:
        """Ask the lab to end the measurement that runs for this connection."""
        with contextlib.suppress(OSError):  # it has ended
            self._send({"stop": True})

    def tell(self, message: Request) -> None:
        """Send a message to the measurement that runs for this connection, such as news of other machines."""
        with contextlib.suppress(OSError):  # it has ended
            self._send(message)

    def _send(self, message: Request) -> None:
        self._unsent.append(message)
        if self._asked:
            self._send_rest()

    def _send_rest(self) -> None:
        with contextlib.suppress(IndexError):  # another thread may send some of it meanwhile
            while True:
                self._channel.send(self._unsent.popleft())

    def leave(self) -> None:
        """Have the call that is under way in another thread end, as if the lab had."""
        with contextlib.suppress(OSError):
            self._channel.socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Disconnect."""
        self._channel.close()
