"""The machines of a lab on which a measurement is made, as the coordinator sees them."""

from __future__ import annotations

import contextlib
import itertools
import queue
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from typing import Any

from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.instruments.flow_place import Place, Program
from dcnlab.lab.machines.remote_part import RemotePart, Served

_ENDED = "traffic: the machine's part has ended"


class RemotePlace(Place):
    """One machine, which serves a measurement by :mod:`dcnlab.lab.instruments.flow_relay`."""

    def __init__(self, part: RemotePart) -> None:
        self._part = part
        self._served: Served | None = None
        self._numbers = itertools.count()
        self._programs: dict[int, queue.Queue[dict[str, Any]]] = {}
        self._answers: dict[int, queue.Queue[dict[str, Any]]] = {}
        self._prepared: queue.Queue[BaseException | None] = queue.Queue()

    @contextlib.contextmanager
    def opened(self, **words: Any) -> Iterator[None]:
        """Have the machine serve, in a ``with`` block; ``words`` are the request's."""
        self.ahead = self._part.ahead()
        with self._part.serving(self._hear, **words) as served:
            self._served = served
            served.value.result()
            served.result.add_done_callback(self._end)
            yield

    def stop(self) -> None:
        """Have the machine end what it serves: those who wait for it get an error."""
        if self._served is not None:
            with contextlib.suppress(LabError):
                self._served.send({"stop": True})

    def has(self, server: int) -> bool:
        return server in self._part.part.nodes

    def ask(self, method: str, **words: Any) -> Any:
        number = next(self._numbers)
        answer = self._answers[number] = queue.Queue()
        self._say({"ask": number, "method": method, "words": words})
        found = answer.get()
        del self._answers[number]
        if "error" in found:
            raise (UsageError if found.get("code") == UsageError.exit_code else LabError)(found["error"])
        return found["value"]

    @contextlib.contextmanager
    def prepared(
        self, transport: str, cc: str, servers: Sequence[int], pair: tuple[int, int]
    ) -> Iterator[None]:
        words = {"transport": transport, "cc": cc, "servers": list(servers), "pair": list(pair)}
        self._say({"prepare": words})
        if (error := self._prepared.get()) is not None:
            raise error
        yield

    @contextlib.contextmanager
    def program(self, name: str) -> Iterator[Program]:
        number = next(self._numbers)
        lines = self._programs[number] = queue.Queue()
        self._say({"program": number, "name": name})
        try:
            yield _RemoteProgram(self, number, lines)
        finally:
            with contextlib.suppress(LabError):
                self._say({"program": number, "end": True})

    def say_line(self, number: int, line: str) -> None:
        """Give a program a line."""
        self._say({"program": number, "line": line})

    def _say(self, message: dict[str, Any]) -> None:
        assert self._served is not None
        if self._served.result.done():
            raise self._served.result.exception() or LabError(_ENDED)
        self._served.send(message)

    def _hear(self, value: dict[str, Any]) -> None:
        if "prepared" in value:
            self._prepared.put(None)
        elif "program" in value:
            self._programs[value["program"]].put(value)
        elif "answer" in value:
            self._answers[value["answer"]].put(value)

    def _end(self, ended: Future[Any]) -> None:
        """Tell all who wait why nothing comes any more."""
        error = ended.exception() or LabError(_ENDED)
        self._prepared.put(error)
        for lines in [*self._programs.values(), *self._answers.values()]:  # others may start meanwhile
            lines.put({"error": str(error)})


class _RemoteProgram(Program):
    def __init__(self, place: RemotePlace, number: int, lines: queue.Queue[dict[str, Any]]) -> None:
        self._place, self._number, self._lines = place, number, lines

    def write(self, line: str) -> None:
        self._place.say_line(self._number, line)

    def next(self) -> dict[str, Any]:
        found = self._lines.get()
        if "error" in found:
            raise LabError(found["error"])
        return dict(found["line"])
