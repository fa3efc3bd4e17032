"""A part of a lab on its machine: what launches it and passes requests on to it.

A request is one of the control socket (:mod:`dcnlab.lab.control.rpc`), with its descriptors as streams: what a
program reads is fed, what it writes is fetched.  The methods are coroutines: many requests run at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import queue
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from dcnlab.lab.client import Lab
from dcnlab.lab.contract.machine import MachineLost
from dcnlab.lab.contract.part import GONE, Failure, Item, Output, PartLaunched, Report, Result
from dcnlab.lab.control import runtime
from dcnlab.lab.control.rpc import Connection, Disconnected
from dcnlab.lab.control.stopping import end
from dcnlab.lab.emulation.images import engines
from dcnlab.lab.errors import LabError
from dcnlab.lab.machines.contact import Contact
from dcnlab.lab.options.local_part import LocalPart
from dcnlab.lab.program import Program
from hostagent.linux.channel import Message as Request
from topos import plugins

#: Seconds that a fetch waits for something to come.
_WAIT = 2.0
_CHUNK = 1 << 16
#: Seconds that a terminal is read after its program has ended: others may have it open for ever.
_HELD = 0.5
#: Calls at once.  Each fetch takes a thread for some seconds, and input that a program does not read takes one
#: until it ends, so asyncio's own threads, four and one per processor, are too few.
_THREADS = 256
#: Items of a request that wait until they are fetched; a program that writes faster waits.
_MOST_ITEMS = 256

T = TypeVar("T")


class MachineServer:
    """The part of one lab on this machine; it ends with this object."""

    def __init__(
        self,
        topology: str,
        scheme: str,
        name: str,
        part: LocalPart,
        custom: Sequence[str],
        **options: Any,
    ) -> None:
        self._requests: dict[int, _Asked] = {}
        self._numbers = itertools.count()
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="part")
        plugins.load(custom)
        self._lab = Lab.of_part(part, topology, scheme, name, **options)
        self._contact = Contact(self._lab.path, part.peers)

    async def launch(self, again: bool) -> PartLaunched | Failure:
        """Launch the part.  ``again``: first end what may be left of a part that was lost."""
        try:
            if again:
                await self._in_thread(end, self._lab.path)
            await self._in_thread(self._lab.start)
            self._contact.begin(self._lab.guard_pid)
        except LabError as error:
            return Failure(str(error), error.exit_code)
        return PartLaunched(self._lab.stages, self._lab.launch_s or 0.0)

    async def begin(
        self, request: Mapping[str, Any], descriptors: int, settings: Sequence[Any] | None = None
    ) -> int:
        """Begin a request with so many descriptors, or with a terminal of these settings; its number."""
        self._contact.note(request)
        number = next(self._numbers)
        self._requests[number] = _Asked(self._lab, dict(request), descriptors, settings)
        return number

    async def ask(self, request: Mapping[str, Any]) -> tuple[int, list[Item]]:
        """Begin a request without descriptors: its number, and what has come for it first.  One message in the
        place of two: under load each waits for the processors of several processes."""
        number = await self.begin(request, 0)
        return number, await self.fetch(number)

    async def fetch(self, number: int) -> list[Item]:
        """What has come for a request since the last fetch; empty after some seconds without anything."""
        self._contact.note()
        items = await self._in_thread(self._requests[number].items)
        if any(isinstance(item, Result | Failure) for item in items):
            del self._requests[number]
        return items

    async def feed(self, number: int, data: bytes) -> None:
        """Standard input of a request's program; no bytes: its end."""
        if number in self._requests:
            await self._in_thread(self._requests[number].feed, data)

    async def message(self, number: int, message: Mapping[str, Any]) -> None:
        """A message of the client while its request is answered, such as a signal or the wish to stop."""
        if number in self._requests:
            await self._in_thread(self._requests[number].message, message)

    async def leave(self, number: int) -> None:
        """The client has gone."""
        if number in self._requests:
            self._requests[number].leave()

    async def clock(self) -> float:
        """The machine's monotonic clock, in seconds."""
        return time.monotonic()

    async def stop(self) -> None:
        """End the part; returns when nothing of it is left."""
        self._contact.end()
        await self._in_thread(_stop, self._lab)

    async def _in_thread(self, function: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, function, *arguments)

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Nobody needs the part any more: it ends, in a thread of its own."""
        if (threads := getattr(self, "_threads", None)) is not None:
            threads.shutdown(wait=False)
        if (contact := getattr(self, "_contact", None)) is not None:
            contact.end()
        if (lab := getattr(self, "_lab", None)) is not None:
            threading.Thread(target=_end, args=(lab,)).start()


def _end(lab: Lab) -> None:
    with contextlib.suppress(LabError, AssertionError):  # it has ended, or was never launched
        _stop(lab)


def _stop(lab: Lab) -> None:
    try:
        lab.stop()
    finally:
        runtime.in_use(lab.path)  # removes the socket of a guard that was killed


class _Asked:
    """One request to the part's control socket."""

    def __init__(self, lab: Lab, request: Request, descriptors: int, settings: Sequence[Any] | None) -> None:
        self._items: queue.Queue[Item] = queue.Queue(_MOST_ITEMS)
        #: The outputs that nobody reads any more.
        self._closed: set[int] = set()
        self._closing = threading.Lock()
        self._left = False
        self._path = lab.path
        try:
            self.connection = Connection(lab.path)
        except LabError as error:
            raise MachineLost(str(error)) from error
        #: Where input is written; with a terminal its near end.
        self._input, self._terminal = -1, settings is not None
        theirs, outputs = self._open_terminal(settings) if settings else self._open_pipes(descriptors)
        readers = [threading.Thread(target=self._read, args=each, daemon=True) for each in outputs]
        for reader in readers:
            reader.start()
        arguments = (request, theirs, readers)
        threading.Thread(target=self._follow, args=arguments, daemon=True).start()

    def _open_pipes(self, descriptors: int) -> tuple[tuple[int, ...], list[tuple[int, int]]]:
        """Open pipes; return the program's ends, and (descriptor's number, our end) of each of its outputs."""
        theirs, outputs = [], []
        if descriptors:
            source, self._input = os.pipe()
            theirs.append(source)
        for number in range(1, descriptors):
            ours, writes = os.pipe()
            theirs.append(writes)
            outputs.append((number, ours))
        return tuple(theirs), outputs

    def _open_terminal(self, settings: Sequence[Any]) -> tuple[tuple[int, ...], list[tuple[int, int]]]:
        """Open a terminal instead of pipes, for input and both outputs; return the same."""
        near, far = os.openpty()
        attributes, size = settings
        termios.tcsetattr(far, termios.TCSANOW, list(attributes))
        termios.tcsetwinsize(far, tuple(size))
        self._input = os.dup(near)
        return (far, os.dup(far), os.dup(far)), [(1, near)]

    def items(self) -> list[Item]:
        """Return what has come; wait a while for the first."""
        items: list[Item] = []
        with contextlib.suppress(queue.Empty):
            items.append(self._items.get(timeout=_WAIT))
            while len(items) < _MOST_ITEMS:
                items.append(self._items.get_nowait())
        return items

    def feed(self, data: bytes) -> None:
        """Write to the program's standard input; no bytes: close it."""
        if data:
            with contextlib.suppress(OSError):
                while data and self._input >= 0:
                    data = data[os.write(self._input, data) :]
                return
        with self._closing:  # the client's end and the program's may come together
            if self._input >= 0:
                os.close(self._input)
            self._input = -1

    def leave(self) -> None:
        """The client has gone: end the request."""
        self._left = True
        self.connection.leave()

    def message(self, message: Mapping[str, Any]) -> None:
        """Pass a message of the client on."""
        if "signal" in message:
            self.connection.signal(int(message["signal"]))
        elif message.get("stop"):
            self.connection.stop()
        elif "size" in message and self._terminal:
            with contextlib.suppress(OSError, termios.error):  # it has been closed
                termios.tcsetwinsize(self._input, tuple(message["size"]))
        elif "closed" in message:
            self._closed.add(int(message["closed"]))
        else:
            self.connection.tell(dict(message))

    def _follow(self, request: Request, descriptors: tuple[int, ...], readers: list[threading.Thread]) -> None:
        def progress(value: Any) -> None:
            self._items.put(Report(value))

        last: Item
        try:
            last = Result(self._call(request, descriptors, progress))
        except Disconnected as error:  # of a part that is being killed, its socket may answer for a moment
            last = Failure(str(error), error.exit_code if self._left else GONE)
        except LabError as error:
            last = Failure(str(error), error.exit_code if runtime.in_use(self._path) else GONE)
        except Exception as error:  # of a connection that was closed
            last = Failure(f"{type(error).__name__}: {error}", 1)
        for reader in readers:  # everything that the program wrote comes before its end
            reader.join(_HELD if self._terminal else None)
        self._closed.update(range(3))
        self.feed(b"")
        self.connection.close()
        self._items.put(last)

    def _call(self, request: Request, descriptors: tuple[int, ...], progress: Any) -> Any:
        """The part's answer; it has the descriptors from the request on, and this process has them no more."""
        op = request.pop("op")
        closing = threading.Event()

        def close() -> None:
            if not closing.is_set():
                closing.set()
                for descriptor in descriptors:
                    os.close(descriptor)

        def first(value: Any) -> None:
            close()
            progress(value)

        try:
            return self.connection.call(op, first, descriptors, **_with_layout(request))
        finally:
            close()

    def _read(self, number: int, descriptor: int) -> None:
        with os.fdopen(descriptor, "rb", buffering=0) as stream, contextlib.suppress(OSError):
            while data := stream.read(_CHUNK):  # a terminal that nobody has open any more is an error
                if number in self._closed:
                    return  # the program gets SIGPIPE, as on one machine
                self._items.put(Output(number, data))
        self._items.put(Output(number, b""))


def _with_layout(request: Request) -> Request:
    """Return the request, with an image that the part can read where it was a container engine's."""
    program = request.get("program")
    if not isinstance(program, dict) or not program.get("image"):
        return request
    return {**request, "program": engines.of_program(Program.from_json(program)).to_json()}
