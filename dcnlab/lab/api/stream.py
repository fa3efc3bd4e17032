"""Events and state as server-sent events: read from the lab once, sent to every client.

One thread follows the lab's events while there are clients.  A second reads the state once per second while a
client wants it.  A client that is too slow misses messages, and learns how many events it missed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from dcnlab.lab.api.state import state
from dcnlab.lab.client import Lab
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.events.journal import Record
from dcnlab.lab.events.kinds import KINDS

#: Seconds between two states, and between two signs of life in a stream where nothing happens.
_STATE_INTERVAL = 1.0
_QUIET_INTERVAL = 15.0
#: Messages that wait for one client.
_WAITING = 2000
#: Greater than the number of any event.
_NEVER = 1 << 62

#: A message of a stream: its type, the event's number or 0, and its data.
Message = tuple[str, int, Any]
END: Message = ("end", 0, {})


@dataclass(eq=False)
class _Client:
    """One stream: what it wants, and what waits for it."""

    kinds: frozenset[str]
    state: bool
    waiting: asyncio.Queue[Message] = field(default_factory=lambda: asyncio.Queue(_WAITING))

    def put(self, message: Message) -> None:
        """Queue a message; the end always, others unless too many wait."""
        if message is END and self.waiting.full():
            self.waiting.get_nowait()
        with contextlib.suppress(asyncio.QueueFull):
            self.waiting.put_nowait(message)


class Broadcast:
    """The streams of one server."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._clients: set[_Client] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._following = False
        #: Whether the lab's events are followed, or the lab has ended: from then on no event is missed.
        self._followed = threading.Event()
        self._wanted = threading.Event()
        self._closed = threading.Event()
        #: Called when the server ends.
        self.closing: list[Callable[[], None]] = []

    def close(self) -> None:
        """End all streams: the server ends."""
        self._closed.set()
        self._wanted.set()
        self._send(END)
        for ended in self.closing:
            ended()

    async def respond(self, request: Request) -> Response:
        """The answer to a request for events: a list, or a stream."""
        query = request.query_params
        kinds = frozenset(query.getlist("kind"))
        if unknown := sorted(kinds - KINDS.keys()):
            raise UsageError(f"there is no kind of event {unknown[0]!r}: known are {', '.join(KINDS)}")
        after = _number(request.headers.get("last-event-id") or query.get("after", "0"))
        streaming = "text/event-stream" in request.headers.get("accept", "")
        if not streaming and not _flag(query.get("follow", "0")):
            found = await run_in_threadpool(self._since, after, kinds)
            return JSONResponse([record.to_json() for record in found])
        client = _Client(kinds, _flag(query.get("state", "0")))
        newest, earlier = await self._join(client, after)
        return StreamingResponse(self._messages(client, earlier, newest), media_type="text/event-stream")

    async def _join(self, client: _Client, after: int) -> tuple[int, list[Record]]:
        """Add a client to those that get messages; the number after which it wants events, and those of them
        that came before."""
        self._loop = asyncio.get_running_loop()
        self._clients.add(client)
        try:
            last = int((await run_in_threadpool(self._lab.ask, "events", after=_NEVER))["last"])
            self._start(last)
            await run_in_threadpool(self._followed.wait)
            if client.state:
                self._wanted.set()
            return min(after, last), await run_in_threadpool(self._since, after, client.kinds)
        except BaseException:
            self._clients.discard(client)
            raise

    def _start(self, last: int) -> None:
        """Start the threads, unless they run since another client came."""
        if not self._following:
            self._following = True
            self._followed.clear()
            threading.Thread(target=self._follow, args=(last,), daemon=True, name="events").start()
            threading.Thread(target=self._read_state, daemon=True, name="state").start()

    def _since(self, after: int, kinds: frozenset[str]) -> list[Record]:
        return list(self._lab.events(after=after, kinds=kinds))

    async def _messages(self, client: _Client, earlier: list[Record], newest: int) -> AsyncIterator[str]:
        """The text of a stream of the events after number ``newest``."""
        try:
            yield "retry: 1000\n\n"
            for record in earlier:
                newest = max(newest, record.number)
                yield _text(("", record.number, record.to_json()))
            while True:
                message = await _next(client)
                kind, number, _ = message
                if number and number <= newest:
                    continue
                newest = max(newest, number)
                yield _text(message)
                if kind == "end":
                    return
        finally:
            self._clients.discard(client)

    # --- the threads ----------------------------------------------------------

    def _follow(self, last: int) -> None:
        """Pass on the lab's events after number ``last`` until it ends."""
        with contextlib.suppress(LabError):
            for record in self._lab.events(follow=True, after=last - 1):  # the first one comes at once
                self._followed.set()
                if record.number > last:
                    self._send(("", record.number, record.to_json()))
        self._followed.set()
        self._following = False
        self._send(END)

    def _read_state(self) -> None:
        """Pass on the state once per second while a client wants it, until the lab ends."""
        while self._following and not self._closed.is_set():
            self._wanted.wait()
            if not any(client.state for client in tuple(self._clients)):
                self._wanted.clear()
                continue
            try:
                self._send(("state", 0, state(self._lab)))
            except LabError:
                return
            self._closed.wait(_STATE_INTERVAL)

    def _send(self, message: Message) -> None:
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the server has ended
                self._loop.call_soon_threadsafe(self._distribute, message)

    def _distribute(self, message: Message) -> None:
        kind, _, data = message
        for client in tuple(self._clients):
            if kind == "end" or (client.state if kind else not client.kinds or data["kind"] in client.kinds):
                client.put(message)


async def _next(client: _Client) -> Message:
    """The next message; one without data where nothing happens for a while."""
    try:
        return await asyncio.wait_for(client.waiting.get(), _QUIET_INTERVAL)
    except TimeoutError:
        return ("quiet", 0, None)


def _text(message: Message) -> str:
    """A message as the stream has it."""
    kind, number, data = message
    if kind == "quiet":
        return ":\n\n"
    head = (f"event: {kind}\n" if kind else "") + (f"id: {number}\n" if number else "")
    return f"{head}data: {json.dumps(data, separators=(',', ':'))}\n\n"


def _number(text: str) -> int:
    if not text.isdecimal():
        raise UsageError(f"after must be the number of an event, not {text!r}")
    return int(text)


def _flag(text: str) -> bool:
    return text.lower() in ("1", "true", "yes", "")
