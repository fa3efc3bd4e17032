"""Answers of switches, corrected by the lab: at the switches' own sockets, and for foreign controllers.

``NAME.mgmt``, where ``ovs-ofctl`` speaks to a switch, becomes a socket of this process, which passes on what is
said there; the switch's own is ``NAME.switch`` from then on.  Foreign controllers have the answers corrected
that switches give them (:mod:`controller.conversation`).  Only labs that need this module import it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from controller import conversation
from controller.checksums import Messages
from controller.conversation import Conversation
from dcnlab.lab.emulation.switches import statistics
from dcnlab.lab.emulation.switches.forwarder import pump_both
from dcnlab.lab.emulation.switches.shards import ROOT, Shard

#: Seconds between two looks whether a switch has a new socket; for it to answer.
_LOOK, _TIMEOUT = 1.0, 5.0
_HEADER, _FLAGS_AT, _MORE = struct.Struct("!BBHI"), 10, 1
_HELLO, _ERROR = 0, 1


class Kernel(Protocol):
    """The counters of a switch fast path."""

    def entry_counts(
        self, bridge: str, table: int, priority: int, match: bytes, removed: bool
    ) -> tuple[int, int]:
        """See :meth:`statistics.Known.counts`."""

    def counts(self, bridge: str) -> tuple[int, int]:
        """Packets and bytes that the kernel has forwarded for a switch."""


class Answering:
    """Corrects the answers of a lab's switches."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self.shards = shards
        #: The switch fast path, once it runs; the rate of a port's link in bit/s, 0 for none.
        self.kernel: Kernel | None = None
        self.rate: Callable[[str, int], float] = lambda bridge, port: 0.0
        self._server: _Server | None = None
        self._interposed = False

    def start(self) -> _Server:
        """Serve foreign controllers; again: do nothing."""
        if self._server is None:
            self._server = _Server(self)
        return self._server

    def serve(self, connection: socket.socket) -> None:
        """Serve a foreign controller by a connection that exists."""
        self.start().serve(connection)

    def interpose(self) -> None:
        """Correct what is said at the switches' own sockets from now on; again: do nothing."""
        if not self._interposed and self.shards:
            self._interposed = True
            self.start().interpose()


@dataclass(frozen=True)
class _Known:
    """What the lab knows of one switch."""

    bridge: str
    kernel: Kernel | None
    rate: Callable[[str, int], float]

    def counts(self, table: int, priority: int, match: bytes, removed: bool) -> tuple[int, int]:
        if self.kernel is None:
            return 0, 0
        return self.kernel.entry_counts(self.bridge, table, priority, match, removed)

    def total(self) -> int:
        return self.kernel.counts(self.bridge)[0] if self.kernel is not None else 0

    def speed(self, port: int) -> int:
        return round(self.rate(self.bridge, port) / 1000)


class _Server:
    """The server of a lab's :class:`Answering`."""

    def __init__(self, answering: Answering) -> None:
        self._answering = answering
        self._folders = {bridge.name: one.rundir for one in answering.shards for bridge in one.bridges}
        self._names = {bridge.dpid: bridge.name for one in answering.shards for bridge in one.bridges}
        self._loop = asyncio.new_event_loop()
        self._listeners: dict[str, tuple[int, asyncio.Server]] = {}
        #: When files of each shard had come last, as far as all of them were seen.
        self._seen: dict[int, float] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        threading.Thread(target=self._loop.run_forever, name="answers", daemon=True).start()
        listener = socket.socket(socket.AF_UNIX)
        ROOT.mkdir(parents=True, exist_ok=True)
        listener.bind(str(ROOT / conversation.SOCKET))
        self._await(self._serve_controllers(listener))

    def serve(self, connection: socket.socket) -> None:
        """Serve a foreign controller by a connection that exists."""
        self._loop.call_soon_threadsafe(lambda: self._keep(self._serve_connection(connection)))

    def interpose(self) -> None:
        """Stand before the switches' own sockets."""
        self._await(self._interpose())

    def _await(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- foreign controllers ---------------------------------------------------

    async def _serve_controllers(self, listener: socket.socket) -> None:
        await asyncio.start_unix_server(self._answer, sock=listener)

    async def _serve_connection(self, connection: socket.socket) -> None:
        await self._answer(*await asyncio.open_unix_connection(sock=connection))

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readexactly(conversation.QUESTION.size)
                switch, asked, answered = conversation.QUESTION.unpack(head)
                request, answer = await reader.readexactly(asked), await reader.readexactly(answered)
                name = self._names.get(switch)
                writer.write(answer if name is None else self._corrected(name, request, answer))
                await writer.drain()
        writer.close()

    def _corrected(self, name: str, request: bytes, answer: bytes) -> bytes:
        kernel = self._answering.kernel
        known = _Known(name, kernel, self._answering.rate)
        try:
            flows = _flows(self._folders[name], name, request) if request and kernel is not None else []
        except OSError:  # the switch has ended
            return answer
        return statistics.corrected(answer, known, flows)

    # --- the switches' own sockets ----------------------------------------------

    async def _interpose(self) -> None:
        await self._renew()
        self._keep(self._watch())

    async def _watch(self) -> None:
        """Stand before the sockets of a daemon that was started again, too."""
        while True:
            await asyncio.sleep(_LOOK)
            await self._renew()

    async def _renew(self) -> None:
        """Look where files have come since the last look: a lab may have thousands of switches."""
        for shard in self._answering.shards:
            with contextlib.suppress(OSError):  # the daemon does not run
                changed = shard.rundir.stat().st_mtime
                if changed == self._seen.get(shard.index):
                    continue
                for bridge in shard.bridges:
                    await self._renew_one(bridge.name, shard.rundir / f"{bridge.name}.mgmt")
                if time.time() - changed > _LOOK:  # else it may change again at what counts as the same time
                    self._seen[shard.index] = changed

    async def _renew_one(self, name: str, path: Path) -> None:
        number, former = self._listeners.get(name, (0, None))
        with contextlib.suppress(OSError):
            if path.stat().st_ino != number:
                if former is not None:
                    former.close()
                self._listeners[name] = await self._stand_before(name, path)

    async def _stand_before(self, name: str, path: Path) -> tuple[int, asyncio.Server]:
        """Take the place of a switch's socket: in one step, so that nobody finds none."""
        own, listener = path.with_suffix(".new"), socket.socket(socket.AF_UNIX)
        own.unlink(missing_ok=True)
        listener.bind(str(own))
        behind(path).unlink(missing_ok=True)
        os.link(path, behind(path))
        server = await asyncio.start_unix_server(self._relay(name, behind(path)), sock=listener)
        number = own.stat().st_ino
        os.rename(own, path)
        return number, server

    def _relay(
        self, name: str, path: Path
    ) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]:
        async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                far_reader, far_writer = await asyncio.open_unix_connection(path)
            except OSError:  # the daemon has ended
                writer.close()
                return
            told = Conversation(lambda _, request, answer: self._corrected(name, request, answer))
            asked, answered = Messages(told.asked), Messages(told.answered)
            await pump_both((reader, writer, answered), (far_reader, far_writer, asked))

        return relay


def behind(path: Path) -> Path:
    """Where a switch itself listens when the lab stands before its socket ``path``."""
    return path.with_suffix(".switch")


def _flows(folder: Path, name: str, request: bytes) -> list[bytes]:
    """The switch's own answers about the entries that a request for their aggregate means; OSError."""
    path, version = folder / f"{name}.mgmt", request[0]
    with socket.socket(socket.AF_UNIX) as switch:
        switch.settimeout(_TIMEOUT)
        switch.connect(str(behind(path) if behind(path).exists() else path))
        number = (conversation.FLOW).to_bytes(2, "big")
        switch.sendall(_HEADER.pack(version, _HELLO, _HEADER.size, 0) + request[:8] + number + request[10:])
        return list(_answers(switch, conversation.statistics_request(version) + 1))


def _answers(switch: socket.socket, wanted: int) -> Iterator[bytes]:
    """The parts of an answer."""
    with switch.makefile("rb") as stream:
        while len(head := stream.read(_HEADER.size)) == _HEADER.size:
            _, kind, size, _ = _HEADER.unpack(head)
            message = head + stream.read(size - _HEADER.size)
            if kind == _ERROR:
                return
            if kind == wanted:
                yield message
                if not message[_FLAGS_AT + 1] & _MORE:
                    return
