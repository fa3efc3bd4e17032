"""A machine behind a Unix socket: `dcnlab machines serve` listens there, and ssh can forward it.

A connection is for one part.  The coordinator sends (number, method, arguments, options) and reads (number,
answer, error), in any order.  The part ends with its connection.  Who may connect may run programs on the
machine, as with Dask; the socket is its owner's.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import socket
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any

from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.machines.transport import this_machine
from dcnlab.lab.machines.transport.contract import Worker

#: What is asked for before there is a part: the machine itself, and a part with these arguments.
_DESCRIBE, _SERVE = "describe", "serve"
_ANSWER = 120.0


class UnixSockets:
    """The machines behind these sockets, in this order."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = paths

    def workers(self) -> list[Worker]:
        """The machines; LabError when one does not answer."""
        return [_described(number, path) for number, path in enumerate(self._paths)]

    def worker_again(self, before: Worker) -> Worker | None:
        """The machine behind the same socket, if somebody listens there again."""
        with contextlib.suppress(LabError):
            return _described(self._paths.index(before.worker), before.worker)
        return None

    def serve(self, worker: Worker, *arguments: Any, **options: Any) -> _Remote:
        """A server on a machine, which ends with its connection."""
        server = _Remote(worker.worker)
        server.call(_SERVE, *arguments, **options).result(_ANSWER)
        return server

    def close(self) -> None:
        """Each server has a connection of its own, which is closed already."""


def _described(number: int, path: str) -> Worker:
    with contextlib.closing(_Remote(path)) as remote:
        try:
            address, has = remote.call(_DESCRIBE).result(_ANSWER)
        except (TimeoutError, OSError) as error:
            raise LabError(f"machines: the server at {path} does not answer") from error
    return Worker.described(number, path, address, has)


class _Remote:
    """A connection to the server of a machine; LabError when nobody listens."""

    def __init__(self, path: str) -> None:
        try:
            self._connection = Client(path, "AF_UNIX")
        except OSError as error:
            begin = "start `dcnlab machines serve` on that machine"
            raise LabError(f"machines: no server listens at {path} ({error.strerror}): {begin}") from error
        self._numbers = itertools.count()
        self._waiting: dict[int, Future[Any]] = {}
        self._sending = threading.Lock()
        self._ended = False
        threading.Thread(target=self._read, daemon=True, name="machine").start()

    def call(self, method: str, *arguments: Any, **options: Any) -> Future[Any]:
        """Call a method; OSError, here or from the result, when the connection has ended."""
        answer = Future[Any]()
        with self._sending:
            if self._ended:
                raise ConnectionError("the connection has ended")
            number = next(self._numbers)
            self._waiting[number] = answer
            self._connection.send((number, method, arguments, options))
        return answer

    def close(self) -> None:
        """End the connection, and so the part.  Its thread closes it: who still reads from a descriptor
        that was closed takes what comes on another connection, which has its number then."""
        with self._sending, contextlib.suppress(OSError):  # the other end has gone
            if not self._ended:
                with socket.socket(fileno=os.dup(self._connection.fileno())) as same:
                    same.shutdown(socket.SHUT_RDWR)

    def _read(self) -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                number, answer, error = self._connection.recv()
                waiting = self._waiting.pop(number)
                if error is None:
                    waiting.set_result(answer)
                else:
                    waiting.set_exception(error)
        with self._sending:
            self._ended = True
            self._connection.close()
        for waiting in self._waiting.values():
            waiting.set_exception(ConnectionError("the connection has ended"))


def serve(path: Path, address: str) -> None:
    """Serve parts of labs on this machine, which others reach at ``address``, until this process ends."""
    listener = _listen(path)
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True, name="methods").start()
    try:
        while True:
            session = _Session(listener.accept(), address, loop)
            threading.Thread(target=session.run, daemon=True, name="coordinator").start()
    finally:
        listener.close()  # removes the socket


def _listen(path: Path) -> Listener:
    """A socket for its owner only; UsageError when another server listens there."""
    with contextlib.suppress(OSError):
        Client(str(path), "AF_UNIX").close()
        raise UsageError(f"another server listens at {path}")
    mask = os.umask(0o177)
    try:
        if path.is_socket():
            path.unlink()  # of a server that was killed
        return Listener(str(path), "AF_UNIX", backlog=16)
    except OSError as error:
        raise UsageError(f"cannot listen at {path}: {error.strerror}") from error
    finally:
        os.umask(mask)


class _Session:
    """One connection of a coordinator, and its part."""

    def __init__(self, connection: Connection[Any, Any], address: str, loop: asyncio.AbstractEventLoop) -> None:
        self._connection, self._address, self._loop = connection, address, loop
        self._sending = threading.Lock()
        self._server: Any = None

    def run(self) -> None:
        """Answer until the coordinator has gone; then the part ends."""
        try:
            while True:
                number, method, arguments, options = self._connection.recv()
                if method == _DESCRIBE:
                    self._send(number, (self._address, this_machine.describe(self._address)))
                elif method == _SERVE:
                    self._begin(number, arguments, options)
                else:
                    self._call(number, method, arguments)
        except (EOFError, OSError):
            pass
        finally:
            with self._sending:
                self._connection.close()
            if self._server is not None:
                self._server.close()

    def _begin(self, number: int, arguments: Sequence[Any], options: dict[str, Any]) -> None:
        from dcnlab.lab.machines.machine_server import MachineServer  # not needed by a server without a lab

        try:
            self._server = MachineServer(*arguments, **options)
        except Exception as error:  # the coordinator shows it
            self._send(number, None, error)
        else:
            self._send(number)

    def _call(self, number: int, method: str, arguments: Sequence[Any]) -> None:
        def answer(done: Future[Any]) -> None:
            if error := done.exception():
                self._send(number, None, error)
            else:
                self._send(number, done.result())

        coroutine = getattr(self._server, method)(*arguments)
        asyncio.run_coroutine_threadsafe(coroutine, self._loop).add_done_callback(answer)

    def _send(self, number: int, answer: Any = None, error: BaseException | None = None) -> None:
        with self._sending, contextlib.suppress(OSError):  # the coordinator has gone
            self._connection.send((number, answer, error))
