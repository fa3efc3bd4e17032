"""Requests are answered, and the journal records what clients have the lab do."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from dcnlab.lab.contract.codec import encode
from dcnlab.lab.contract.operation import Operation
from dcnlab.lab.control.rpc import Call
from dcnlab.lab.errors import UsageError
from dcnlab.lab.events.journal import Journal
from dcnlab.lab.events.kinds import (
    CommandEnded,
    CommandStarted,
    Event,
    MeasurementEnded,
    MeasurementStarted,
)
from dcnlab.lab.operations import requested
from dcnlab.lab.operations.measure import Measure
from topos import plugins

#: Keys of a request that are not arguments for the reader of a journal.
_INTERNAL = frozenset({"op", "custom", "terminal", "program"})
#: Items of a list, and characters of a text, that the journal keeps.
_LONGEST_LIST, _LONGEST_TEXT = 64, 1000

#: What performs an operation for a client.
Perform = Callable[[Operation[Any], Call], Any]
#: From the number of the first event, the duration in ms, the outcome and the error: the last event.
Ending = Callable[[int, float, Mapping[str, Any], str], Event]


def answering(perform: Perform, journal: Journal) -> Callable[[Call], Any]:
    """What answers a request of the control socket: it reads the operation, performs it, records that in the
    journal where it does something, and returns its answer as a JSON value."""

    def answer(call: Call) -> Any:
        wanted = requested(call.request)
        if len(call.descriptors) < wanted.descriptors:
            raise UsageError(f"a request for {wanted.op()!r} needs {wanted.descriptors} descriptors")
        answer = _recorded(wanted, call, perform, journal) if wanted.recorded else perform(wanted, call)
        return {} if answer is None else encode(answer)

    return answer


def _recorded(wanted: Operation[Any], call: Call, perform: Perform, journal: Journal) -> Any:
    """Perform an operation, with an event when it begins and one when it ends."""
    started, ended = _events(wanted, call.request)
    number, begun = journal.add(started), time.monotonic()

    def end(result: Mapping[str, Any], error: str = "") -> None:
        journal.add(ended(number, round(1000 * (time.monotonic() - begun), 2), result, error))

    try:
        result = perform(wanted, call)
    except Exception as error:
        end({}, plugins.custom_error(error) or str(error))
        raise
    end(_scalars(_worded(result)))
    return result


def _events(wanted: Operation[Any], request: Mapping[str, Any]) -> tuple[Event, Ending]:
    if isinstance(wanted, Measure):
        name = wanted.measurement
        return MeasurementStarted(name, _arguments(wanted.arguments)), (
            lambda number, ms, figures, error: MeasurementEnded(number, name, ms, figures, error)
        )
    arguments = _arguments(request)
    return CommandStarted(wanted.op(), arguments), (
        lambda number, ms, result, error: CommandEnded(number, wanted.op(), ms, result, error, arguments)
    )


def _worded(result: Any) -> Any:
    """Return an outcome, with the verdict on it in words."""
    verdict = result.get("verdict") if isinstance(result, Mapping) else None
    return {**result, "verdict": verdict["text"]} if isinstance(verdict, Mapping) else result


def _arguments(request: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _cut(value) for key, value in request.items() if key not in _INTERNAL}


def _cut(value: Any) -> Any:
    """Shorten a value if it is very long: the journal is bounded."""
    if isinstance(value, list | tuple) and len(value) > _LONGEST_LIST:
        return [*value[:_LONGEST_LIST], f"and {len(value) - _LONGEST_LIST} more"]
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        return value[:_LONGEST_TEXT] + "…"
    return value


def _scalars(result: Any) -> dict[str, Any]:
    """Return an outcome's numbers and words that fit a line, also those one level below: ``rtt_ms.p50``."""
    if not isinstance(result, Mapping):
        return {}
    below = {
        f"{key}.{name}": value
        for key, values in result.items()
        if isinstance(values, Mapping)
        for name, value in values.items()
        if isinstance(value, int | float)
    }
    return {key: _cut(value) for key, value in result.items() if isinstance(value, int | float | str)} | below
