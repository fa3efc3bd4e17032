"""Terminals in nodes, for pages: the program's output as a stream, what is typed as requests.

A program starts when its output is first read, and ends with the stream: nothing runs on without a page.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import secrets
import termios
import threading
from collections.abc import AsyncGenerator, AsyncIterator

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from dcnlab.lab.api.endpoint import INTEGER, NODE, TEXT, endpoint
from dcnlab.lab.api.resources import Resources, json_object
from dcnlab.lab.client import Lab
from dcnlab.lab.control.rpc import Connection
from dcnlab.lab.errors import LabError, UsageError

#: Terminals of one server; bytes of one request, and of one message; seconds between signs of life.
_MOST, _LARGEST, _CHUNK, _QUIET = 16, 1 << 16, 1 << 15, 15.0
_TERMINAL = {**TEXT, "description": "The identifier that `POST nodes/h0/terminal` returned."}


#: bash where there is one; an image of a host may have only sh.
_SHELL = ["sh", "-c", "command -v bash >/dev/null && exec bash; exec sh"]


class _Terminal:
    """A pseudo-terminal in a node."""

    def __init__(self, lab: Lab, node: str) -> None:
        self._lab, self._node = lab, node
        self._near, self._far = os.openpty()
        os.set_blocking(self._near, False)
        self._connection: Connection | None = None
        self._lock, self._ready = threading.Lock(), asyncio.Event()

    def start(self) -> None:
        """Run a shell in the node; UsageError for a terminal that was started before."""
        with self._lock:
            if self._connection is not None:
                raise UsageError("this terminal was opened before: open another one")
            self._connection = Connection(self._lab.path)
        threading.Thread(target=self._run, args=(self._connection,), daemon=True, name="terminal").start()

    def _run(self, connection: Connection) -> None:
        ends = (self._far, self._far, self._far)
        with contextlib.suppress(LabError, OSError):
            connection.call("exec", None, ends, node=self._node, words=_SHELL, terminal="xterm-256color")
        with self._lock:
            os.close(self._far)  # the last one: reading ends
            self._far = -1

    def type(self, data: bytes) -> None:
        """Give the program what was typed."""
        with contextlib.suppress(OSError):  # nobody reads, or it is closed
            os.write(self._near, data)

    def resize(self, rows: int, columns: int) -> None:
        """Change the size of the terminal."""
        with contextlib.suppress(termios.error):  # it is closed
            termios.tcsetwinsize(self._near, (rows, columns))

    async def output(self) -> AsyncGenerator[str]:
        """Server-sent events with the output in base64, until the program has ended."""
        loop, near = asyncio.get_running_loop(), self._near
        loop.add_reader(near, self._ready.set)
        try:
            yield ":\n\n"
            while True:
                try:
                    await asyncio.wait_for(self._ready.wait(), _QUIET)
                    data = os.read(self._near, _CHUNK)
                except TimeoutError:
                    yield ":\n\n"
                except BlockingIOError:
                    self._ready.clear()
                except OSError:  # the program has ended, or the terminal is closed
                    break
                else:
                    yield f"data: {base64.b64encode(data).decode()}\n\n"
            yield "event: end\ndata: {}\n\n"
        finally:
            loop.remove_reader(near)
            self.close()

    def close(self) -> None:
        """Close the terminal; its program gets SIGHUP from the kernel.  Called in the server's loop."""
        with self._lock:
            if self._near >= 0:
                os.close(self._near)
            if self._connection is None and self._far >= 0:
                os.close(self._far)
                self._far = -1
            self._near = -1
        self._ready.set()


class Terminals:
    """The terminals of one server."""

    def __init__(self, lab: Lab, resources: Resources) -> None:
        self._lab, self._resources = lab, resources
        self._open: dict[str, _Terminal] = {}

    def close(self) -> None:
        """End all terminals: the server ends."""
        for terminal in [*self._open.values()]:
            terminal.close()

    @endpoint(
        "POST", "/nodes/{node}/terminal", parameters={"node": NODE}, returns="`terminal`: its identifier."
    )
    def make(self, request: Request) -> Response:
        """Open a terminal in a node; its shell runs while the stream of its output is read."""
        if len(self._open) >= _MOST:
            raise UsageError(f"{_MOST} terminals are open: close one")
        name, identifier = self._resources.name(request), secrets.token_urlsafe(9)
        self._open[identifier] = _Terminal(self._lab, name)
        return JSONResponse({"terminal": identifier})

    @endpoint(
        "GET", "/terminals/{terminal}", parameters={"terminal": _TERMINAL},
        returns="Server-sent events: output in base64; one of the type `end` when the shell has ended.",
        media_type="text/event-stream",
    )  # fmt: skip
    async def output(self, request: Request) -> Response:
        """The output of a terminal as a stream; the shell ends with it."""
        terminal = self._terminal(request)
        await run_in_threadpool(terminal.start)
        return StreamingResponse(self._until_closed(request, terminal), media_type="text/event-stream")

    async def _until_closed(self, request: Request, terminal: _Terminal) -> AsyncIterator[str]:
        try:
            async with contextlib.aclosing(terminal.output()) as messages:
                async for message in messages:
                    yield message
        finally:
            terminal.close()
            self._open.pop(request.path_params["terminal"], None)

    @endpoint(
        "POST", "/terminals/{terminal}/input", parameters={"terminal": _TERMINAL}, body=TEXT,
        body_type="text/plain", returns="`written`: bytes.",
    )  # fmt: skip
    async def write(self, request: Request) -> Response:
        """Type the bytes of the body into a terminal."""
        data, terminal = await request.body(), self._terminal(request)
        if len(data) > _LARGEST:
            raise UsageError(f"the body is larger than {_LARGEST} bytes")
        terminal.type(data)
        return JSONResponse({"written": len(data)})

    @endpoint(
        "POST", "/terminals/{terminal}/size", parameters={"terminal": _TERMINAL},
        body={"type": "object", "properties": {"rows": INTEGER, "columns": INTEGER}}, returns="The size.",
    )  # fmt: skip
    async def resize(self, request: Request) -> Response:
        """Change the number of rows and columns of a terminal."""
        values, terminal = json_object(await request.body()), self._terminal(request)
        size = values.get("rows"), values.get("columns")
        if not all(isinstance(one, int) and 0 < one < 1000 for one in size):
            raise UsageError("rows and columns must be whole numbers from 1 to 999")
        terminal.resize(int(values["rows"]), int(values["columns"]))
        return JSONResponse(values)

    def _terminal(self, request: Request) -> _Terminal:
        terminal = self._open.get(request.path_params["terminal"])
        if terminal is None:
            raise UsageError("there is no such terminal, or it was closed")
        return terminal
