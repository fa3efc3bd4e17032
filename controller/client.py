"""The lab's side of the controller: its process, its control channel, and its events.

listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
with ControllerProcess.spawn("bcube:4,1", "brp", [listener]) as controller:
    ...                         # start Open vSwitch, point it at the listener
    controller.wait_ready(30)   # every switch has acknowledged its whole table
    controller.converge({17})   # all links that are down; waits until the tables follow
"""

from __future__ import annotations

import itertools
import json
import logging
import os
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO

from controller.beside import NOTHING, Beside, LaterHost
from hostagent.linux.channel import Message
from hostagent.linux.child import Child

_log = logging.getLogger(__name__)

#: Events that are kept: those of one change of the tables of the largest labs.
_KEPT = 1 << 13


class ControllerError(RuntimeError):
    """The controller refused, failed or did not answer in time; one line for the user."""


class ControllerProcess(Child):
    """A running controller; events arrive on a reader thread, and the last ones are kept.

    ``on_event`` is its first observer.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        control: socket.socket,
        on_event: Callable[[Message], None] | None = None,
    ) -> None:
        super().__init__(process, control, "controller")
        if on_event is not None:
            self.observers.append(on_event)
        self._events: deque[Message] = deque(maxlen=_KEPT)
        self._received = 0
        self._requests = itertools.count(1)
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
        beside: Beside = NOTHING,
    ) -> ControllerProcess:
        """Start a controller that accepts switches on ``listeners``; returns at once.

        ``listeners`` are listening TCP sockets, one per network namespace; the caller may close its copies.
        ``log`` takes the process's standard output and error; without it both are inherited.
        ``applications`` (files or modules) run beside ours, or with ``tables`` False instead of it; they
        serve their REST interface, if they have one, on the listening socket ``rest``.
        With ``resume``, the links that are down, the switches keep of their tables what is right.
        ``switches`` are the nodes that it controls; None: all switches of the network.
        ``sockets`` is the folder of their management sockets; without it all switches hash flows alike.
        ``ordered``: the lab says which switches take new tables, and when; see :meth:`links`.
        ``beside``: what switches hold beside the scheme's entries.
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
        command += [f"--beside={json.dumps(beside.to_json())}"] if beside else []
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
                    raise self._failure()
                number, newer = self._received, self.events_since(number)
            for message in newer:
                yield message
                if message["event"] == "error":
                    raise ControllerError(message["text"])

    # --- requests -------------------------------------------------------------

    def links(self, down: Iterable[int], among: Iterable[int] | None = None, phase: int = 0) -> int:
        """Send the numbers of all links that are down; with ``among`` only these switches take new tables now,
        with ``phase`` they begin one of :mod:`controller.phases`.

        The controller answers by a ``converged`` event whose ``request`` is the number returned here.
        """
        request = next(self._requests)
        some: dict[str, object] = {} if among is None else {"among": sorted(among)}
        some |= {"phase": phase} if phase else {}
        self.send({"op": "links", "down": sorted(down), "request": request, **some})
        return request

    def converge(
        self, down: Iterable[int], timeout: float = 10.0, among: Iterable[int] | None = None, phase: int = 0
    ) -> Message:
        """Send :meth:`links` and wait until the tables follow; returns the ``converged`` event."""
        before, request = self._received, self.links(down, among, phase)
        return self._answer(request, timeout, before, "converged tables")

    def later_hosts(self, hosts: Iterable[LaterHost], timeout: float = 10.0) -> Message:
        """Say which hosts came later, and wait until the tables follow."""
        before, request = self._received, next(self._requests)
        self.send({"op": "hosts", "hosts": list(map(asdict, hosts)), "request": request})
        return self._answer(request, timeout, before, "converged tables")

    def _answer(self, request: int, timeout: float, after: int, what: str) -> Message:
        return self.wait_for(lambda message: message.get("request") == request, timeout, after, what)

    def await_reports(self, switches: Iterable[int], timeout: float = 10.0) -> None:
        """Wait until the controller has heard what switches report of changes of ports before this call.

        Open vSwitch answers one barrier in the turn in which it reads of a change; so there are two.
        """
        asked = sorted(switches)
        for _ in range(2):
            before, request = self._received, next(self._requests)
            self.send({"op": "reports", "switches": asked, "request": request})
            self._answer(request, timeout, before, "reports of switches")

    def stats(self, timeout: float = 5.0) -> Message:
        """The counters: connected switches, flow messages, packet-ins, ARP replies."""
        before = self._received
        self.send({"op": "stats"})
        return self.wait_for(lambda message: message["event"] == "stats", timeout, before, "counters")

    def _failure(self) -> ControllerError:
        return ControllerError(f"the controller has ended{self._how_it_ended()}")

    def _handle(self, message: Message) -> bool:
        with self._changed:
            self._events.append(message)
            self._received += 1
            self._changed.notify_all()
        if message["event"] == "error":
            _log.error("controller: %s", message["text"])
        return True

    def _notify(self, message: Message) -> None:
        if message["event"] == "process-ended":
            _log.error("controller: %s", message["reason"])
        super()._notify(message)
