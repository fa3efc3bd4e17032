"""The journal records what clients have the lab do: when commands and measurements began and how they ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from dcnlab.lab.control.rpc import Call, Operation
from dcnlab.lab.events.journal import Journal
from dcnlab.lab.events.kinds import (
    CommandEnded,
    CommandStarted,
    Event,
    MeasurementEnded,
    MeasurementStarted,
)
from topos import plugins

#: Operations that only read; the journal does not name them.
READING = frozenset(
    {
        "info", "nodes", "tables", "flows", "queues", "explain", "controller", "control", "events",
        "services", "service_log", "service_wait", "own_links", "elsewhere", "isolated", "verdict", "connect",
        "store", "configure", "probe",
    }
)  # fmt: skip
#: Measurements that only read counters; likewise.
COUNTERS = frozenset({"buffers", "counters", "overruns", "stats", "path"})
#: Keys of a request that are not arguments for the reader of a journal.
_INTERNAL = frozenset({"op", "custom", "terminal", "program"})
#: Items of a list, and characters of a text, that the journal keeps.
_LONGEST_LIST, _LONGEST_TEXT = 64, 1000

#: From the number of the first event, the duration in ms, the outcome and the error: the last event.
Ending = Callable[[int, float, Mapping[str, Any], str], Event]


def recorded(name: str, operation: Operation, journal: Journal) -> Operation:
    """The operation, with an event when it begins and one when it ends."""
    if name in READING:
        return operation

    def run(call: Call) -> Any:
        if name == "impair" and "kind" not in call.request:
            return operation(call)
        if name == "measure":
            if call.request.get("name") in COUNTERS:
                return operation(call)
            return _run(operation, call, journal, *_measurement(call.request))
        return _run(operation, call, journal, *_command(name, call.request))

    return run


def _command(op: str, request: Mapping[str, Any]) -> tuple[Event, Ending]:
    def ended(number: int, ms: float, result: Mapping[str, Any], error: str) -> Event:
        return CommandEnded(number, op, ms, result, error)

    return CommandStarted(op, _arguments(request)), ended


def _measurement(request: Mapping[str, Any]) -> tuple[Event, Ending]:
    name = str(request.get("name"))

    def ended(number: int, ms: float, figures: Mapping[str, Any], error: str) -> Event:
        return MeasurementEnded(number, name, ms, figures, error)

    return MeasurementStarted(name, _arguments(request.get("arguments", {}))), ended


def _run(operation: Operation, call: Call, journal: Journal, started: Event, ended: Ending) -> Any:
    number, begun = journal.add(started), time.monotonic()

    def end(result: Mapping[str, Any], error: str = "") -> None:
        journal.add(ended(number, round(1000 * (time.monotonic() - begun), 2), result, error))

    try:
        result = operation(call)
    except Exception as error:
        end({}, plugins.custom_error(error) or str(error))
        raise
    end(_scalars(result))
    return result


def _arguments(request: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _cut(value) for key, value in request.items() if key not in _INTERNAL}


def _cut(value: Any) -> Any:
    """A value, shortened if it is very long: the journal is bounded."""
    if isinstance(value, list | tuple) and len(value) > _LONGEST_LIST:
        return [*value[:_LONGEST_LIST], f"and {len(value) - _LONGEST_LIST} more"]
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        return value[:_LONGEST_TEXT] + "…"
    return value


def _scalars(result: Any) -> dict[str, Any]:
    """The numbers and words of an outcome, as ``rtt_ms.p50`` also those one level below: what fits a line."""
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
