"""The arguments of a measurement: dataclass fields with a help text and limits.

They are read in three forms: as Python values, from the JSON of a request, and the servers from the
text of a scenario file (``h0 -> h15``).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, get_type_hints

from dcnlab.lab.contract.codec import decode
from dcnlab.lab.errors import UsageError
from topos.fields import declare, problem

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
    **further: Any,
) -> Any:
    """Declare any other argument with its help text, inclusive limits, choices or pattern.

    With the unit ``s`` a scenario writes it as a duration (``200ms``).  ``flag`` replaces the option's
    name on the command line, as in ``-6``, or its names, as in ``--follow -f``.  A scenario gives a ``target``
    in the value of the entry's key, together with the servers; a ``file``, where it names one, is relative to
    the scenario's folder.
    ``metavar`` and ``complete`` are as of :func:`word`; a request leaves out one that is ``optional`` and has
    its default.
    """
    return declare(
        doc, default=default, low=low, high=high, choices=choices, pattern=pattern, unit=unit, flag=flag,
        target=target, file=file, **further,
    )  # fmt: skip


def word(
    doc: str, metavar: str = "", complete: str = "", default: Any = dataclasses.MISSING, **further: Any
) -> Any:
    """Declare an argument that stands at its place on the command line, or with the type ``tuple[str, ...]``
    several words.

    The help shows ``metavar`` for it; the shell completes what the function ``complete`` of
    ``dcnlab/cli/parameters/completion.py`` finds.
    """
    about = {"doc": doc, "word": True, "metavar": metavar, "complete": complete, **further}
    return dataclasses.field(default=default, metadata=about)


def named(docs: Mapping[str, str]) -> Any:
    """Declare texts by name, such as ``{"loss": "1%"}``, with the help text of each: an option for each on the
    command line, and a property in the body of an HTTP request."""
    return dataclasses.field(default_factory=dict, metadata={"named": docs})


def gathered(owner: type[Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """What a command line or the body of an HTTP request gives, as fields: the names of a :func:`named` field,
    if they are given, become one mapping."""
    values = dict(given)
    for item in dataclasses.fields(owner):
        if docs := item.metadata.get("named"):
            values[item.name] = {name: value for name in docs if (value := values.pop(name, ""))}
    return values


def servers(owner: type[Any]) -> list[dataclasses.Field[Any]]:
    """The arguments of a measurement class that name servers."""
    return [item for item in dataclasses.fields(owner) if item.metadata.get("server")]


def options(owner: type[Any]) -> list[dataclasses.Field[Any]]:
    """The arguments that do not name servers."""
    return [item for item in dataclasses.fields(owner) if not item.metadata.get("server")]


def check(values: Any) -> None:
    """Raise UsageError for the first argument outside its limits."""
    for item in dataclasses.fields(values):
        if text := problem(item.metadata, getattr(values, item.name)):
            raise UsageError(f"{item.name} {text}")


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
