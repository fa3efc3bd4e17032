"""A part of a lab as the coordinator sees it: where it runs, and requests to it."""

from __future__ import annotations

import contextlib
import logging
import os
import select
import termios
import threading
import time
import tty
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from dcnlab.lab.contract.machine import MachineLost, MachineUnreachable, Observation
from dcnlab.lab.contract.part import Failure, Item, Output, PartLaunched, Report, Result
from dcnlab.lab.control.rpc import Call, Progress
from dcnlab.lab.errors import LabError
from dcnlab.lab.machines.contact import SILENCE
from dcnlab.lab.machines.transport.contract import Answer, Server, Transport, Worker
from dcnlab.lab.operations.own_links import OwnLinks
from dcnlab.lab.options.local_part import LocalPart

_log = logging.getLogger(__name__)

_CHUNK = 1 << 16
#: Seconds between two looks at whether a machine is lost, while it answers.
_LOOK = 0.5
#: Seconds between two looks at whether a program that may read input has ended, and at its terminal's size.
_INPUT_LOOK = 0.2
#: How often the clock of a machine is asked for: the shortest round trip counts.
_CLOCKS = 10
#: Requests to a machine at once that must not wait for a connection: the watch of its links, a measurement on
#: it, and a change of links.
_CONNECTIONS = 4


@dataclass(frozen=True)
class Asking:
    """An operation of a part that exchanges messages: it ends when it is told to ``leave``."""

    send: Callable[[Mapping[str, Any]], None]
    leave: Callable[[], None]
    result: Future[Any] = field(default_factory=Future)


class RemotePart:
    """The part on one machine; every method raises MachineLost when that does not answer any more, and
    MachineUnreachable while it is silent."""

    def __init__(self, transport: Transport, worker: Worker, part: LocalPart) -> None:
        self.worker, self.part = worker, part
        self.name = worker.machine.name
        self._transport = transport
        self._server: Server | None = None
        #: Why it is not there any more; empty while it is.
        self.lost = ""
        #: Seconds of its launch, and of each stage of it.
        self.launch_s = 0.0
        self.seconds: dict[str, float] = {}
        #: Whether it owes an answer for longer than :data:`contact.SILENCE`.
        self.silent = False

    def __str__(self) -> str:
        return f"{self.name} ({self.worker.address})"

    def create(
        self, topology: str, scheme: str, name: str, custom: Sequence[str], options: Mapping[str, Any]
    ) -> None:
        """Create the server of the part on the machine."""
        arguments = topology, scheme, name, self.part, list(custom)
        self._server = self._asked(lambda: self._transport.serve(self.worker, *arguments, **options))

    def launch(self, again: bool = False) -> None:
        """Launch it; LabError with its own error.  ``again``: what may be left there of a
        part that was lost ends first."""
        launched: PartLaunched | Failure = self._do("launch", again)
        if isinstance(launched, Failure):
            raise launched.error(f"{self}: ")
        self.launch_s, self.seconds = launched.launch_s, dict(launched.seconds)

    def release(self) -> None:
        """Need it no longer: its worker, if there is one, ends it."""
        if self._server is not None:
            self._server.close()
        self._server = None

    def end(self) -> None:
        """End it."""
        self._do("stop")

    def ahead(self) -> float:
        """Measure how many seconds the machine's monotonic clock is ahead of ours, within half a round trip."""
        gaps = []
        for _ in range(_CLOCKS):
            begun = time.monotonic()
            there = float(self._do("clock"))
            ended = time.monotonic()
            gaps.append((ended - begun, there - (begun + ended) / 2))
        return min(gaps)[1]

    def ask(self, op: str, progress: Progress | None = None, **arguments: Any) -> Any:
        """Call an operation of the part."""
        number, first = self._do("ask", {"op": op, **arguments})
        return self._follow(number, progress, lambda _, __: None, first)

    def open_connections(self) -> None:
        """Open connections to the machine for several requests at once: opening one later, with its TLS
        handshakes, would take long under load."""
        with contextlib.suppress(LabError), ThreadPoolExecutor(_CONNECTIONS) as pool:
            list(pool.map(lambda _: self._do("clock"), range(_CONNECTIONS)))

    def observation(self) -> Observation:
        """What is observed of links there."""
        return OwnLinks.read(self.ask(**OwnLinks().request()))

    def await_change(
        self, known: Observation, timeout: float, on_contact: Callable[[bool], None]
    ) -> Observation:
        """Return what is observed of links there, once it is not what is ``known``, or after so many seconds.

        ``on_contact`` is called with False when the machine does not answer for long, and with True when it
        does again."""
        request = OwnLinks(known, timeout).request()

        def patient(method: str, *arguments: Any) -> Any:
            return self._asked(lambda: self._awaited(self._call(method, *arguments), on_contact))

        number, items = patient("ask", request)
        while True:
            for item in items:
                if isinstance(item, Failure):
                    raise item.error()
                if isinstance(item, Result):
                    return OwnLinks.read(item.value)
            items = patient("fetch", number)

    def _awaited(self, future: Answer, on_contact: Callable[[bool], None]) -> Any:
        begun = time.monotonic()
        while True:
            try:
                value = future.result(timeout=_LOOK)
            except TimeoutError:
                if not self.silent and time.monotonic() > begun + SILENCE:
                    self.silent = True
                    on_contact(False)
                continue
            if self.silent:
                self.silent = False
                on_contact(True)
            return value

    @contextlib.contextmanager
    def asking(self, hear: Progress, **arguments: Any) -> Iterator[Asking]:
        """Have the part serve an operation that exchanges messages, while the block lasts."""
        number = self._do("begin", arguments, 0)
        asking = Asking(
            lambda message: self._do("message", number, dict(message)), lambda: self._do("leave", number)
        )

        def follow() -> None:
            try:
                asking.result.set_result(self._follow(number, hear, lambda _, __: None))
            except Exception as error:  # it is raised where somebody waits
                asking.result.set_exception(error)

        threading.Thread(target=follow, daemon=True).start()
        try:
            yield asking
        finally:
            asking.leave()

    def serve(
        self,
        call: Call,
        on_output_end: Callable[[int], None] = lambda _: None,
    ) -> Any:
        """Have the part answer a request, with the client's descriptors and what the client sends meanwhile.

        ``on_output_end`` is called with the number of a descriptor to which nothing more will be written."""
        descriptors = list(call.descriptors)
        terminal = _raw(descriptors[0]) if call.request.get("terminal") else None
        number = self._do("begin", dict(call.request), len(descriptors), terminal)
        ended = threading.Event()
        threading.Thread(target=self._pass_messages, args=(call, number, ended), daemon=True).start()
        if descriptors:
            arguments = (os.dup(descriptors[0]), number, ended, terminal and terminal[1])
            threading.Thread(target=self._pass_input, args=arguments, daemon=True).start()
        closed: set[int] = set()

        def write(descriptor: int, data: bytes) -> None:
            if not data:
                on_output_end(descriptor)
            try:
                while data and descriptor not in closed:
                    data = data[os.write(descriptors[descriptor], data) :]
            except OSError:  # nobody reads it any more
                closed.add(descriptor)
                self._do("message", number, {"closed": descriptor})

        try:
            return self._follow(number, call.progress, write)
        finally:
            ended.set()

    def _follow(
        self,
        number: int,
        progress: Progress | None,
        write: Callable[[int, bytes], None],
        first: Sequence[Item] = (),
    ) -> Any:
        """The answer to a request of which this has come ``first``.  It is fetched to its end: the part keeps
        what nobody fetches."""
        items = first
        while True:
            for item in items:
                if isinstance(item, Report):
                    if progress is not None and not _reported(progress, item.value):
                        progress = None
                        self._do("leave", number)
                elif isinstance(item, Output):
                    write(item.descriptor, item.data)
                elif isinstance(item, Failure):
                    raise self._named(item.error())
                else:
                    return item.value
            items = self._do("fetch", number)

    def _named(self, error: LabError) -> LabError:
        """An error of the part; which part it is where that has ended."""
        return self._gone(error) if isinstance(error, MachineLost) else error

    def _gone(self, error: Exception) -> MachineLost:
        text = " ".join(str(error).split()) or type(error).__name__
        return MachineLost(f"{self} does not answer: {text}")

    def _pass_messages(self, call: Call, number: int, ended: threading.Event) -> None:
        with contextlib.suppress(LabError):  # of a machine that does not answer: the call itself raises it
            for message in call.messages():
                self._do("message", number, message)
            if not ended.is_set():
                self._do("leave", number)

    def _pass_input(
        self, descriptor: int, number: int, ended: threading.Event, size: tuple[int, int] | None
    ) -> None:
        try:
            self._relay_input(descriptor, number, ended, size)
        except (OSError, termios.error):
            pass  # the client has gone
        except LabError as error:  # a program without input might wait for ever
            _log.warning("input of request %s: %s", number, error)
            with contextlib.suppress(LabError):
                self._do("leave", number)

    def _relay_input(
        self, descriptor: int, number: int, ended: threading.Event, size: tuple[int, int] | None
    ) -> None:
        with os.fdopen(descriptor, "rb", buffering=0) as stream:
            while not ended.is_set():
                if size is not None and size != (size := termios.tcgetwinsize(stream)):
                    self._insist("message", number, {"size": size})
                if select.select([stream], [], [], _INPUT_LOOK)[0]:
                    data = _read(stream)
                    self._insist("feed", number, data)
                    if not data:
                        return

    def _do(self, method: str, *arguments: Any) -> Any:
        self._check()
        return self._asked(lambda: self._result(self._call(method, *arguments)))

    def _call(self, method: str, *arguments: Any) -> Answer:
        if self._server is None:
            raise MachineLost(self.lost or f"{self}: no part runs there")
        return self._server.call(method, *arguments)

    def _insist(self, method: str, *arguments: Any) -> None:
        """Call as :meth:`_do` does, but wait while the machine does not answer: no input may be lost."""

        def insist() -> None:
            while self.silent and not self.lost:
                time.sleep(_LOOK)
            self._insist_on(self._call(method, *arguments))

        self._asked(insist)

    def _insist_on(self, future: Answer) -> None:
        while not self.lost:
            with contextlib.suppress(TimeoutError):
                future.result(timeout=_LOOK)
                return
        raise MachineLost(self.lost)

    def _result(self, future: Answer) -> Any:
        """What a server answers; Dask tries for a while to reach a machine that is lost, this does not."""
        while True:
            try:
                return future.result(timeout=_LOOK)
            except TimeoutError:
                self._check()

    @property
    def problem(self) -> str:
        """Why it cannot be asked; empty if it can."""
        silent = f"{self} does not answer at present" if self.silent else ""
        return self.lost or silent

    def _check(self) -> None:
        """Raise MachineUnreachable when the machine does not answer."""
        if self.problem:
            raise MachineLost(self.lost) if self.lost else MachineUnreachable(self.problem)

    def _asked(self, ask: Callable[[], Any]) -> Any:
        """What a transport answers; MachineLost, in one line, for its errors."""
        try:
            return ask()
        except LabError:
            raise
        except Exception as error:  # Dask raises many kinds when a worker has gone
            raise self._gone(error) from error


def _read(stream: BinaryIO) -> bytes:
    """What has come; nothing where the other end has broken the connection, which is an end too."""
    try:
        return stream.read(_CHUNK)
    except OSError:
        return b""


def _reported(progress: Progress, value: Any) -> bool:
    """Report progress; False when the client has gone."""
    try:
        progress(value)
    except OSError:
        return False
    return True


def _raw(terminal: int) -> tuple[list[Any], tuple[int, int]]:
    """Have a client's terminal pass on all as it comes; return its settings before, and its size.

    The program has another terminal, on its machine."""
    settings: list[Any] = termios.tcgetattr(terminal)
    tty.setraw(terminal, termios.TCSANOW)
    return settings, termios.tcgetwinsize(terminal)
