"""The lab's side of the controller: its process, its control channel, and its events.

listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
with ControllerProcess.spawn("bcube:4,1", "brp", [listener]) as controller:
    ...                         # start Open vSwitch, point it at the listener
    controller.wait_ready(30)   # every switch has acknowledged its whole table
    controller.converge({17})   # all links that are down; waits until the tables follow
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

from hostagent import process_exit
from hostagent.channel import Channel, Message

_log = logging.getLogger(__name__)

#: Events that are kept: those of one change of the tables of the largest labs.
_KEPT = 1 << 13


class ControllerError(RuntimeError):
    """The controller refused, failed or did not answer in time; one line for the user."""


class ControllerProcess:
    """A running controller; events arrive on a reader thread, and the last ones are kept.

    ``on_event`` is called for each on that thread, and must not block; ``observers`` may be more of them.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        control: socket.socket,
        on_event: Callable[[Message], None] | None = None,
    ) -> None:
        self.process = process
        self._control = Channel(control)
        #: Called with each event from now on, on the reader thread; they must not block.
        self.observers: list[Callable[[Message], None]] = [on_event] if on_event is not None else []
        self._events: deque[Message] = deque(maxlen=_KEPT)
        self._received = 0
        self._changed = threading.Condition()
        self._sending = threading.Lock()
        self._ended = self._closing = False
        self._requests = itertools.count(1)
        self._reader = threading.Thread(target=self._read, name="controller events", daemon=True)
        self._reader.start()

    @classmethod
    def spawn(
        cls,
        topology: str,
        scheme: str,
        listeners: Sequence[socket.socket],
        *,
        backend: str = "os-ken",
        custom: Sequence[str] = (),
        on_event: Callable[[Message], None] | None = None,
        log: IO[bytes] | None = None,
        applications: Sequence[str] = (),
        tables: bool = True,
        rest: socket.socket | None = None,
        resume: Sequence[int] | None = None,
        switches: Sequence[int] | None = None,
        sockets: Path | None = None,
        ordered: bool = False,
    ) -> ControllerProcess:
        """Start a controller that accepts switches on ``listeners``; returns at once.

        ``listeners`` are listening TCP sockets, one per network namespace; the caller may close its copies.
        ``log`` takes the process's standard output and error; without it both are inherited.
        ``applications`` (files or modules) run beside ours, or with ``tables`` False instead of it; they
        serve their REST interface, if they have one, on the listening socket ``rest``.
        With ``resume``, the links that are down, the switches keep of their tables what is right.
        ``switches`` are the nodes that it controls; None: all switches of the network.
        ``sockets`` is the folder of their management sockets; without it all switches hash flows alike.
        ``ordered``: after a change of links, switches take new tables in an order without loops.
        """
        ours, theirs = socket.socketpair()
        handed = [listener.fileno() for listener in listeners]
        command = [sys.executable, "-P", "-m", "controller", "--topology", topology, "--scheme", scheme]
        command += ["--backend", backend, "--control-fd", str(theirs.fileno())]
        command += [f"--custom={path}" for path in custom]
        command += [f"--listen-fd={descriptor}" for descriptor in handed]
        command += [f"--application={name}" for name in applications]
        command += [] if tables else ["--no-tables"]
        if rest is not None:
            handed.append(rest.fileno())
            command.append(f"--rest-fd={rest.fileno()}")
        if resume is not None:
            command.append(f"--resume={','.join(map(str, resume))}")
        if switches is not None:
            command.append(f"--switches={','.join(map(str, switches))}")
        if sockets is not None:
            command.append(f"--sockets={sockets}")
        command += ["--ordered"] if ordered else []
        # It needs no thread pool of numpy's, which takes processor time when it starts.
        environment = {"OPENBLAS_NUM_THREADS": "1", **os.environ}
        with theirs:
            process = subprocess.Popen(
                command,
                env=environment,
                pass_fds=(theirs.fileno(), *handed),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        return cls(process, ours, on_event)

    def __enter__(self) -> ControllerProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- events ---------------------------------------------------------------

    @property
    def events(self) -> tuple[Message, ...]:
        """The events that are kept, oldest first."""
        return self.events_since(0)

    @property
    def received(self) -> int:
        """How many events have arrived so far."""
        return self._received

    def events_since(self, number: int) -> tuple[Message, ...]:
        """The events after the first ``number``, as far as they are kept, oldest first."""
        with self._changed:
            first = max(0, number - (self._received - len(self._events)))
            return tuple(itertools.islice(self._events, first, None))

    def wait_for(
        self, matches: Callable[[Message], bool], timeout: float, after: int = 0, what: str = "answer"
    ) -> Message:
        """The first event from number ``after`` on that ``matches``; waits up to ``timeout`` seconds.

        Raises ControllerError on time-out, when the controller ends, and on its first error.
        """
        deadline = time.monotonic() + timeout
        for message in self._events_from(after, lambda: deadline - time.monotonic()):
            if matches(message):
                return message
        raise ControllerError(f"no {what} from the controller within {timeout:g} s")

    def wait_ready(self, stall: float) -> Message:
        """Wait until every switch has acknowledged its whole table.

        Raises ControllerError when the controller ends, on its first error, and when for ``stall`` seconds
        it has compiled no table and no switch has acknowledged one.
        """
        installed = 0
        for message in self._events_from(0, lambda: stall):
            if message["event"] == "ready":
                return message
            installed += message["event"] == "installed"
        raise ControllerError(f"{installed} switches have their tables, and no progress for {stall:g} s")

    def wait_installed(self, switches: Iterable[str], after: int, stall: float) -> None:
        """Wait until, after the first ``after`` events, each of the switches has acknowledged its whole table.

        Raises ControllerError as :meth:`wait_ready` does.
        """
        waiting = set(switches)
        for message in self._events_from(after, lambda: stall):
            if message["event"] == "installed":
                waiting.discard(message["switch"])
            if not waiting:
                return
        raise ControllerError(f"no progress of {', '.join(sorted(waiting))} for {stall:g} s")

    def _events_from(self, after: int, timeout: Callable[[], float]) -> Iterator[Message]:
        """The events from number ``after`` on; the iteration ends when none comes for ``timeout()`` seconds.

        Raises ControllerError when the controller ends, and after its first error.
        """
        number = after
        while True:
            with self._changed:
                while self._received <= number and not self._ended:
                    if not self._changed.wait(timeout()):
                        return
                if self._received <= number:
                    raise self._end()
                number, newer = self._received, self.events_since(number)
            for message in newer:
                yield message
                if message["event"] == "error":
                    raise ControllerError(message["text"])

    # --- requests -------------------------------------------------------------

    def links(self, down: Iterable[int]) -> int:
        """Send the numbers of all links that are down.

        The controller answers by a ``converged`` event whose ``request`` is the number returned here.
        """
        request = next(self._requests)
        self.send({"op": "links", "down": sorted(down), "request": request})
        return request

    def converge(self, down: Iterable[int], timeout: float = 10.0) -> Message:
        """Send :meth:`links` and wait until the tables follow; returns the ``converged`` event."""
        before, request = self._received, self.links(down)
        return self.wait_for(
            lambda message: message.get("request") == request, timeout, before, "converged tables"
        )

    def stats(self, timeout: float = 5.0) -> Message:
        """The counters: connected switches, flow messages, packet-ins, ARP replies."""
        before = self._received
        self.send({"op": "stats"})
        return self.wait_for(lambda message: message["event"] == "stats", timeout, before, "counters")

    def close(self, timeout: float = 5.0) -> None:
        """End the controller: it exits when its control channel closes."""
        # A process that has ended by itself is reported as such, even if the reader has not noticed yet.
        self._closing = self.process.poll() is None
        with contextlib.suppress(OSError):  # it may have ended already
            self._control.socket.shutdown(socket.SHUT_RDWR)
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._reader.join()
        self._control.close()

    def send(self, message: Message) -> None:
        """Send one request; ControllerError when the controller has ended."""
        try:
            with self._sending:  # a long request goes in pieces; no other may come between them
                self._control.send(message)
        except OSError as error:
            raise self._end() from error

    def _end(self) -> ControllerError:
        """The error for a controller that has closed its channel; waits shortly for the end of its process."""
        return ControllerError(f"the controller has ended{process_exit.reason(self.process)}")

    def _read(self) -> None:
        for message in self._control.messages():
            with self._changed:
                self._events.append(message)
                self._received += 1
                self._changed.notify_all()
            if message["event"] == "error":
                _log.error("controller: %s", message["text"])
            self._notify(message)
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        if not self._closing:
            _log.error("controller: its process has ended")
            reason = f"its process has ended{process_exit.reason(self.process)}"
            self._notify({"event": "process-ended", "process": "controller", "reason": reason})

    def _notify(self, message: Message) -> None:
        for observer in tuple(self.observers):
            observer(message)
