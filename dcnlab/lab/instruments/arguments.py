"""The arguments of a measurement: dataclass fields with a help text and limits.

They are read in three forms: as Python values, from the JSON of a request, and the servers from the
text of a scenario file (``h0 -> h15``).
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, get_type_hints

from dcnlab.lab.errors import UsageError
from dcnlab.lab.instruments.plain import decode

T = TypeVar("T")
#: The argument that says how long a measurement lasts: ``--for`` on the command line, ``for`` in scenarios; no
#: argument in Python can be called that.
LENGTH = "seconds"


def server(doc: str, default: Any = dataclasses.MISSING) -> Any:
    """Declare an argument that names a server, or with the type ``tuple[str, ...]`` several.

    On the command line servers are positional; a scenario names them as ``h0 -> h15``.
    """
    return dataclasses.field(default=default, metadata={"doc": doc, "server": True})


def argument(
    doc: str,
    *,
    default: Any,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    pattern: str = "",
    unit: str = "",
    flag: str = "",
    target: bool = False,
    file: bool = False,
) -> Any:
    """Declare any other argument with its help text, inclusive limits, choices or pattern.

    With the unit ``s`` a scenario writes it as a duration (``200ms``).  ``flag`` replaces the option's
    name on the command line, as in ``-6``.  A scenario gives a ``target`` in the value of the entry's key,
    together with the servers; a ``file``, where it names one, is relative to the scenario's folder.
    """
    limits = {"low": low, "high": high, "choices": choices, "pattern": pattern, "unit": unit}
    return dataclasses.field(
        default=default, metadata={"doc": doc, "flag": flag, "target": target, "file": file, **limits}
    )


def servers(owner: type[Any]) -> list[dataclasses.Field[Any]]:
    """The arguments of a measurement class that name servers."""
    return [item for item in dataclasses.fields(owner) if item.metadata.get("server")]


def options(owner: type[Any]) -> list[dataclasses.Field[Any]]:
    """The arguments that do not name servers."""
    return [item for item in dataclasses.fields(owner) if not item.metadata.get("server")]


def check(values: Any) -> None:
    """Raise UsageError for the first argument outside its limits."""
    for item in dataclasses.fields(values):
        value, limits = getattr(values, item.name), item.metadata
        if isinstance(value, int | float) and not isinstance(value, bool):
            _check_number(item.name, value, limits)
        elif isinstance(value, str):
            if limits.get("choices") and value not in limits["choices"]:
                raise UsageError(f"{item.name} must be one of {', '.join(limits['choices'])}, not {value!r}")
            if value and limits.get("pattern") and not re.fullmatch(limits["pattern"], value):
                raise UsageError(f"{item.name} must match {limits['pattern']}, not {value!r}")


def _check_number(name: str, value: float, limits: Mapping[str, Any]) -> None:
    low, high = limits.get("low"), limits.get("high")
    if value != value:
        raise UsageError(f"{name} must be a number")
    if low is not None and value < low:
        raise UsageError(f"{name} must be at least {low:g}, not {value:g}")
    if high is not None and value > high:
        raise UsageError(f"{name} must be at most {high:g}, not {value:g}")


def from_json(owner: type[T], value: Mapping[str, Any]) -> T:
    """The arguments in a request; UsageError when one is unknown, missing, or of a wrong type."""
    known = {item.name: item for item in dataclasses.fields(owner)}  # type: ignore[arg-type]
    if unknown := sorted(value.keys() - known.keys()):
        raise UsageError(f"unknown argument {unknown[0]}: known are {', '.join(known)}")
    required = {name for name, item in known.items() if item.default is dataclasses.MISSING}
    if missing := sorted(required - value.keys()):
        raise UsageError(f"missing argument {missing[0]}")
    hints = get_type_hints(owner)
    try:
        return owner(**{name: decode(hints[name], item) for name, item in value.items()})
    except (TypeError, ValueError) as error:
        raise UsageError(f"arguments of the wrong type: {error}") from None


def servers_form(owner: type[Any]) -> str:
    """How a scenario writes the servers of a measurement class: ``h0 -> h15``; empty without any."""
    several, names = _several(owner), ("h0", "h15", "h7")[: len(servers(owner))]
    return " -> ".join((names[0], "h1 h2") if several else names)


def _several(owner: type[Any]) -> bool:
    """Whether the last server argument names several."""
    fields = servers(owner)
    return bool(fields) and get_type_hints(owner)[fields[-1].name] is not str


def read_servers(owner: type[Any], text: object) -> dict[str, Any]:
    """The servers of a scenario entry by argument: ``h0 -> h15``, ``h0 -> h1 h2 h4``, or nothing for a
    measurement that names none; ValueError with half a sentence otherwise."""
    fields = servers(owner)
    if not fields:
        if text is not None:
            raise ValueError(f"takes no value, not {text!r}")
        return {}
    several = _several(owner)
    parts = [part.split() for part in text.split("->")] if isinstance(text, str) else []
    one_each = parts if not several else parts[:-1]
    if len(parts) != len(fields) or not all(parts) or any(len(part) != 1 for part in one_each):
        count = "two servers" if len(fields) == 2 and not several else "servers"
        raise ValueError(f"must be {count} such as {servers_form(owner)}, not {text!r}")
    values: Sequence[Any] = [part[0] for part in one_each] + ([tuple(parts[-1])] if several else [])
    return {item.name: value for item, value in zip(fields, values, strict=True)}
