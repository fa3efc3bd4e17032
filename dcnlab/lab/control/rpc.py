"""The control socket's protocol: one request per connection, JSON lines, descriptors beside.

The client sends ``{"op": ..., ...}`` in one line, with its standard descriptors attached
where the operation runs a program.  The lab answers any number of ``{"progress": ...}``
lines and at last ``{"result": ...}`` or ``{"error": "...", "code": 1|2}``.  While a
program runs the client may send ``{"signal": 2}`` lines, while a measurement runs ``{"stop": true}``.

The lab logs every request with level DEBUG, and unexpected errors with their traceback.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dcnlab.lab.control import holders
from dcnlab.lab.errors import LabError, UsageError
from hostagent.linux.channel import Channel, ChannelError, encode
from hostagent.linux.channel import Message as Request

if TYPE_CHECKING:
    import logging

    from dcnlab.lab.contract.operation import Operation

_LONGEST_REQUEST = 1 << 26
_CHUNK = 1 << 16
_MAX_DESCRIPTORS = 3
_POLL_INTERVAL = 0.05
_LONGEST_SHOWN = 200
#: Seconds until a client first looks whether the session is stopped, between two looks, and that it tries to
#: connect while others wait.
_SOON, _LOOK, _CROWDED = 0.3, 1.0, 10.0

#: Errors of a lab that the program does not word.
_UNEXPECTED = re.compile(r"\w+(Error|Exception): |a lab has no operation |a request for |.* cannot be loaded: ")

A = TypeVar("A")


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


@contextlib.contextmanager
def without_client(request: Request, descriptors: Sequence[int] = ()) -> Iterator[Call]:
    """A request of this process itself: nobody hears its progress, and its client stays until the answer."""
    near, far = socket.socketpair()
    with far, near:
        yield Call(request, list(descriptors), Channel(far))


#: The JSON value that answers a request.
Answering = Callable[[Call], Any]
#: Called by the client for every report of an operation about its progress.
Progress = Callable[[Any], None]


def serve(listener: socket.socket, answering: Answering, stop: threading.Event) -> None:
    """Answer requests, each in a thread of its own, until ``stop`` is set; answers that are almost
    ready then are still sent."""
    listener.settimeout(_POLL_INTERVAL)
    threads: list[threading.Thread] = []
    while not stop.is_set():
        threads = [thread for thread in threads if thread.is_alive()]
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            continue
        except OSError as error:  # files are short: later requests are answered
            _log().warning("a request was not accepted: %s", error)
            stop.wait(_POLL_INTERVAL)
            continue
        connection.setblocking(True)
        thread = threading.Thread(target=_answer, args=(connection, answering), daemon=True)
        thread.start()
        threads.append(thread)
    for thread in threads:
        thread.join(_POLL_INTERVAL)


def _answer(connection: socket.socket, answering: Answering) -> None:
    with connection:
        call = Call({}, [], Channel(connection, _LONGEST_REQUEST))
        try:
            if not _receive(call):
                return
            answer: Request = {"result": _perform(answering, call)}
        except LabError as error:
            _log().info("%s: %s", _shown(call.request), error)
            answer = {"error": str(error), "code": error.exit_code}
        except Exception as error:  # the lab goes on; the client gets the error
            _log().exception("%s failed", _shown(call.request))
            answer = {"error": _unexpected(error), "code": 1}
        finally:
            call.close_descriptors()
        with contextlib.suppress(OSError):  # the client has disconnected
            call.channel.send(answer)


def _log() -> logging.Logger:
    import logging

    return logging.getLogger(__name__)


def _unexpected(error: Exception) -> str:
    """Return one line for an error of the program; it says so where the program was replaced meanwhile."""
    from dcnlab.lab.control import upgrade  # clients do without these
    from topos import plugins

    text = plugins.described(error)
    return f"{upgrade.NOTE} ({text})" if upgrade.all_replaced() else text


def _perform(answering: Answering, call: Call) -> Any:
    """The answer to a request."""
    begun = time.perf_counter()
    result = answering(call)
    _log().debug("%s took %.1f ms", _shown(call.request), 1000 * (time.perf_counter() - begun))
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
    call.request, call.pending = received[0], received[1:]
    return True


class Disconnected(LabError):
    """The lab has disconnected before it answered: it has ended, or the client has left."""


class Absent(LabError):
    """There is no such lab: it has ended, or never was."""


class Unanswered(LabError):
    """The lab has not answered in time; its guard, where one was found."""

    def __init__(self, text: str, guard: int) -> None:
        super().__init__(text)
        self.guard = guard


#: Operations for which the session asks the guard, which is outside the lab.
_BY_GUARD = frozenset({"attach", "detach"})


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
        #: Seconds that the request gives the lab between two answers; None: as long as it takes.
        self._limit: float | None = None
        #: The processes without which nobody answers.
        self._needed: tuple[str, ...] = ("session",)
        self._unsent: deque[Request] = deque()
        self._lab, self._timeout = path.stem, timeout
        try:
            self._connect(str(path))
        except OSError as error:
            self._channel.close()
            raise Absent(f"there is no lab named {path.stem}: see `dcnlab ps`") from error
        self._guard = self.peer

    def _connect(self, path: str) -> None:
        """Connect; LabError where many clients wait already, and nobody answers them."""
        connection, end = self._channel.socket, time.monotonic() + (self._timeout or _CROWDED)
        connection.setblocking(False)
        while True:
            try:
                connection.connect(path)
            except BlockingIOError:
                guard = holders.guard_at(path)
                self._look_for_stop(guard)
                if time.monotonic() > end:
                    connection.close()
                    text = f"{self._lab} does not answer: too many requests wait"
                    raise Unanswered(text, guard) from None
                time.sleep(_POLL_INTERVAL)
            else:
                connection.setblocking(True)
                return

    def limit(self, seconds: float) -> None:
        """Give the lab so many seconds between two answers."""
        self._limit = seconds

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
        if "logging" in sys.modules:  # else nobody would see it, and a client is quicker without
            _log().debug("request %s", _shown({"op": op, **arguments}))
        if op in _BY_GUARD:
            self._needed = ("session", "guard")
        for answer in self._answers(encode({"op": op, **arguments}), descriptors):
            if "progress" in answer:
                if progress is not None:
                    progress(answer["progress"])
            elif "error" in answer:
                raise self._told(answer)
            else:
                return answer["result"]
        raise Disconnected("the lab ended before it answered")

    def perform(
        self, wanted: Operation[A], progress: Progress | None = None, descriptors: tuple[int, ...] = ()
    ) -> A:
        """Have the lab perform an operation, and wait for its answer; errors as those of :meth:`call`."""
        request, self._limit = wanted.request(), wanted.limit
        answer = self.call(request.pop("op"), progress, descriptors, **request)
        try:
            return wanted.read(answer)
        except (AttributeError, KeyError, TypeError, ValueError) as error:  # other fields than those of today
            from dcnlab.lab.control import upgrade

            if upgrade.all_replaced(since=holders.began(self._guard)):
                raise LabError(upgrade.NOTE) from error
            raise

    def stream(self, op: str, **arguments: Any) -> Iterator[Any]:
        """Send a request; the reports of its progress, one by one, until it ends."""
        for answer in self._answers(encode({"op": op, **arguments}), ()):
            if "error" in answer:
                raise self._told(answer)
            if "result" in answer:
                return
            yield answer["progress"]

    def _told(self, answer: Request) -> LabError:
        """The error of a lab: one that nobody expects may come of this being another program than the lab's."""
        text = answer["error"]
        if _UNEXPECTED.match(text):
            from dcnlab.lab.control import upgrade

            if upgrade.all_replaced(since=holders.began(self._guard)):
                text = f"{upgrade.NOTE} ({text})"
        return (UsageError if answer["code"] == 2 else LabError)(text)

    def _answers(self, line: bytes, descriptors: tuple[int, ...]) -> Iterator[Request]:
        """The lab's answers to a request, until it disconnects."""
        connection = self._channel.socket
        if descriptors:  # one that is stopped would keep them, and who reads the other ends would wait
            self._look_for_stop(self.peer)
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
        """Wait for an answer; always True.  LabError after the time-out, or the limit of the request;
        StoppedError if nobody can answer."""
        watched, begun = select.poll(), time.monotonic()
        watched.register(self._channel.socket, select.POLLIN)
        limit = min(one for one in (self._timeout, self._limit, float("inf")) if one is not None)
        end = begun + limit
        look = _SOON
        while not watched.poll(1000 * max(0.0, min(look, end - time.monotonic()))):
            self._look_for_stop(self.peer)
            if time.monotonic() >= end:
                guard = self.peer
                self.close()
                text = f"{self._lab} has not answered for {limit:g} s: see `dcnlab doctor {self._lab}`"
                raise Unanswered(text, guard)
            look = _LOOK
        return True

    def _look_for_stop(self, guard: int) -> None:
        """Raise StoppedError when a guard's session is stopped, or the guard where the request needs it."""
        if (holder := holders.stopped(guard, *self._needed)) is not None:
            self.close()
            raise StoppedError(holder.said(self._lab), guard)

    def signal(self, number: int) -> None:
        """Pass a signal to the program that the lab runs for this connection, if that still runs."""
        with contextlib.suppress(OSError):  # it has ended
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
