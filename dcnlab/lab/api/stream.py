"""Events and state as server-sent events: read from the lab once, sent to every client.

One thread follows the lab's events from the first client on.  A second reads the state once per second while a
client wants it.  Each message becomes text once, for all clients, and so do the last events, which new clients
get.  A client that is too slow misses messages; the number of clients has a bound.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Self

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from dcnlab.lab.api.state import state
from dcnlab.lab.client import Lab
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.events.journal import SIZE, Record
from dcnlab.lab.events.kinds import KINDS, Dropped

#: Seconds between two states, and between two signs of life in a stream where nothing happens.
_STATE_INTERVAL = 1.0
_QUIET_INTERVAL = 15.0
#: Messages that wait for one client, and clients at a time.
_WAITING = 2000
STREAMS = 100
#: Events of the past that are sent at once.
_AT_ONCE = 500
#: Greater than the number of any event.
_NEVER = 1 << 62


@dataclass(frozen=True)
class Message:
    """A message of a stream: its type, the event's number or 0, the event's kind, and its text."""

    type: str
    number: int
    kind: str
    text: str

    @classmethod
    def of(cls, type: str, data: Any) -> Self:
        """A message of a type (empty: an event) with its data."""
        number, kind = (0, "") if type else (data["number"], data["kind"])
        head = (f"event: {type}\n" if type else "") + (f"id: {number}\n" if number else "")
        return cls(type, number, kind, f"{head}data: {json.dumps(data, separators=(',', ':'))}\n\n")


END = Message.of("end", {})
_QUIET = Message("quiet", 0, "", ":\n\n")


@dataclass(eq=False)
class _Client:
    """One stream: what it wants, and what waits for it."""

    kinds: frozenset[str]
    state: bool
    waiting: asyncio.Queue[Message] = field(default_factory=lambda: asyncio.Queue(_WAITING))

    def wants(self, message: Message) -> bool:
        """Whether a message is one of those that it gets."""
        if message.type:
            return message.type == "end" or self.state
        return not self.kinds or message.kind in self.kinds or message.kind == "dropped"

    def forget_waiting(self) -> None:
        """Drop what waits, but for the end."""
        waiting = [self.waiting.get_nowait() for _ in range(self.waiting.qsize())]
        if END in waiting:
            self.waiting.put_nowait(END)

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
        #: The last events, as many as the lab keeps.
        self._last: deque[Message] = deque(maxlen=SIZE)
        #: Done when the events of the past are known, or the lab has ended: from then on no event is missed.
        self._followed: Future[None] = Future()
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
            events = await run_in_threadpool(self._since, after, kinds)
            return JSONResponse([record.to_json() for record in events])
        client = _Client(kinds, _flag(query.get("state", "0")))
        newest, earlier = await self._join(client, after)
        return StreamingResponse(self._messages(client, earlier, newest), media_type="text/event-stream")

    async def _join(self, client: _Client, after: int) -> tuple[int, list[Message]]:
        """Add a client to those that get messages; the number after which it wants events, and those of them
        that came before.  LabError where there are too many clients."""
        if len(self._clients) >= STREAMS:
            raise LabError(f"{STREAMS} streams are open already: end one of them")
        self._clients.add(client)
        try:
            self._loop = asyncio.get_running_loop()
            if not self._following:
                self._following, self._followed = True, Future()
                await run_in_threadpool(self._start)
            await asyncio.shield(asyncio.wrap_future(self._followed))
        except BaseException:
            self._clients.discard(client)
            raise
        if client.state:
            self._wanted.set()
        client.forget_waiting()  # they are among the last
        earlier = [one for one in self._last if one.number > after and client.wants(one)]
        missed = self._last[0].number - 1 - after if self._last and self._last[0].kind != "dropped" else 0
        if missed > 0:
            gap = Record(after + missed, time.time(), time.monotonic(), Dropped(missed))
            earlier.insert(0, Message.of("", gap.to_json()))
        return max((one.number for one in self._last), default=0), earlier

    def _start(self) -> None:
        """Start the threads; LabError, also for those who wait, when the lab has ended."""
        try:
            last = int(self._lab.ask("events", after=_NEVER)["last"])
        except LabError as error:
            self._following = False
            self._followed.set_exception(error)
            raise
        threading.Thread(target=self._follow, args=(last,), daemon=True, name="events").start()
        threading.Thread(target=self._read_state, daemon=True, name="state").start()

    def _since(self, after: int, kinds: frozenset[str]) -> list[Record]:
        return list(self._lab.events(after=after, kinds=kinds))

    async def _messages(self, client: _Client, earlier: list[Message], newest: int) -> AsyncIterator[str]:
        """The text of a stream of the events after number ``newest``."""
        try:
            yield "retry: 1000\n\n"
            for start in range(0, len(earlier), _AT_ONCE):
                yield "".join(message.text for message in earlier[start : start + _AT_ONCE])
            while True:
                message = await _next(client)
                if message.number and message.number <= newest:
                    continue
                newest = max(newest, message.number)
                yield message.text
                if message is END:
                    return
        finally:
            self._clients.discard(client)

    # --- the threads ----------------------------------------------------------

    def _follow(self, last: int) -> None:
        """Pass on the lab's events until it ends; those up to number ``last`` are of the past."""
        with contextlib.suppress(LabError):
            for record in self._lab.events(follow=True):
                self._send(Message.of("", record.to_json()))
                if record.number == last:
                    self._call(self._note_followed)
        self._following = False
        self._call(self._note_followed)
        self._send(END)

    def _note_followed(self) -> None:
        if not self._followed.done():
            self._followed.set_result(None)

    def _read_state(self) -> None:
        """Pass on the state once per second while a client wants it, until the lab ends."""
        while self._following and not self._closed.is_set():
            self._wanted.wait()
            if not any(client.state for client in tuple(self._clients)):
                self._wanted.clear()
                continue
            try:
                self._send(Message.of("state", state(self._lab)))
            except LabError:
                return
            self._closed.wait(_STATE_INTERVAL)

    def _send(self, message: Message) -> None:
        self._call(self._distribute, message)

    def _call(self, action: Callable[..., None], *arguments: Message) -> None:
        """Have the server's thread do something; in the order of the calls."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the server has ended
                self._loop.call_soon_threadsafe(action, *arguments)

    def _distribute(self, message: Message) -> None:
        if message.number:
            self._last.append(message)
        for client in tuple(self._clients):
            if client.wants(message):
                client.put(message)


async def _next(client: _Client) -> Message:
    """The next message; one without data where nothing happens for a while."""
    try:
        return await asyncio.wait_for(client.waiting.get(), _QUIET_INTERVAL)
    except TimeoutError:
        return _QUIET


def _number(text: str) -> int:
    if not text.isdecimal():
        raise UsageError(f"after must be the number of an event, not {text!r}")
    return int(text)


def _flag(text: str) -> bool:
    return text.lower() in ("1", "true", "yes", "")
