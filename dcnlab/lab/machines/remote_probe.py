"""Probes on other machines, as a measurement has them (:mod:`dcnlab.lab.instruments.probe`)."""

from __future__ import annotations

import contextlib
import functools
import itertools
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any, get_type_hints

from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.instruments import plain, probe_server
from dcnlab.lab.instruments.probe import Context, P, Probe
from dcnlab.lab.machines.remote_part import Asking, RemotePart
from topos import plugins

_ENDED = "the machine's part has ended"


class RemoteMachine:
    """Another machine of a lab."""

    def __init__(self, part: RemotePart) -> None:
        self._part = part

    def runs(self, node: int) -> bool:
        """Whether it runs a node."""
        return node in self._part.part.nodes

    @contextlib.contextmanager
    def probe(self, kind: type[P], context: Context) -> Iterator[P]:
        """A probe there.  When the machine does not answer any more, the measurement is stopped; the error is
        raised at the next question, and at the end."""
        serves, answers, left = Future[None](), _Answers(context), threading.Event()
        words = {"module": kind.__module__, "probe": kind.__name__, "custom": plugins.loaded()}

        def hear(value: dict[str, Any]) -> None:
            if "serves" in value:
                serves.set_result(None)
            else:
                answers.hear(value)

        def end(found: Future[Any]) -> None:
            if not serves.done():
                serves.set_exception(found.exception() or LabError(_ENDED))
            answers.end(found)
            if not left.is_set():
                context.stop()

        with self._part.asking("probe", hear, **words) as asking:
            asking.result.add_done_callback(end)
            serves.result()
            context.on_stop(lambda left: _tell(asking, left))
            remote: P = _proxy(kind)(functools.partial(answers.ask, asking))
            remote.ahead = self._part.ahead()
            setattr(remote, "runs", self.runs)  # noqa: B010
            try:
                yield remote
            finally:
                left.set()


def _tell(asking: Asking, left: bool) -> None:
    with contextlib.suppress(LabError):
        if left:
            asking.leave()
        elif not asking.result.done():
            asking.send({"stop": True})


class _Answers:
    """The questions to a probe that wait for an answer."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._numbers = itertools.count()
        self._waiting: dict[int, queue.Queue[dict[str, Any]]] = {}

    def ask(self, asking: Asking, method: str, arguments: dict[str, Any]) -> Any:
        """The answer as JSON; LabError and UsageError as the probe raises them."""
        number = next(self._numbers)
        answer = self._waiting[number] = queue.Queue()
        if asking.result.done():
            raise asking.result.exception() or LabError(_ENDED)
        asking.send({"ask": number, "method": method, "arguments": arguments})
        found = answer.get()
        del self._waiting[number]
        if "error" in found:
            raise (UsageError if found.get("code") == UsageError.exit_code else LabError)(found["error"])
        return found["value"]

    def hear(self, value: dict[str, Any]) -> None:
        """A message of the probe: an answer, or progress."""
        if "answer" in value:
            self._waiting[value["answer"]].put(value)
        else:
            self._context.progress(**value)

    def end(self, ended: Future[Any]) -> None:
        """Tell all who wait why nothing comes any more."""
        error = str(ended.exception() or _ENDED)
        for answer in list(self._waiting.values()):  # others may ask meanwhile
            answer.put({"error": error})


def _proxy(kind: Any) -> Any:
    """A class with the methods of a probe, each of which asks the probe on the other machine."""

    def begin(self: Any, ask: Callable[[str, dict[str, Any]], Any]) -> None:
        self._other = ask

    def asking(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        answer = get_type_hints(method)["return"]

        def ask(self: Any, *values: Any, **named: Any) -> Any:
            return plain.decode(answer, self._other(name, probe_server.encode(method, values, named)))

        return ask

    found = {name: asking(name, method) for name, method in probe_server.methods(kind).items()}
    return type(kind.__name__, (kind,), {"__init__": begin, "close": Probe.close, **found})
