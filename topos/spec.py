"""Specifications such as ``bcube:4,1`` and ``ksp:k=8``: a name, and values of a dataclass's fields."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import math
import operator
import typing
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from topos.errors import ParameterError
from topos.errors import SpecError as SpecError

T = TypeVar("T")


def split_spec(text: str) -> tuple[str, str]:
    """The name and the arguments of ``name:arguments``."""
    name, _, arguments = text.strip().partition(":")
    return name, arguments


def is_script(text: str) -> bool:
    """Whether a specification names a Python file that builds the network (:mod:`topos.script`)."""
    return split_spec(text)[0].endswith(".py")


def lookup(name: str, table: Mapping[str, T], what: str) -> T:
    """``table[name]``; SpecError with the nearest names when there is none."""
    if name in table:
        return table[name]
    near = difflib.get_close_matches(name.lower(), table, n=3, cutoff=0.6)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(sorted(table))}"
    raise SpecError(f"unknown {what} {name!r}: {hint}")


def instantiate(owner: type, name: str, arguments: str, *given: object) -> object:
    """``owner(*given, ...)`` with the values that the text ``arguments`` gives to its parameters."""
    fields = parameters(owner)
    values = _assign(name, fields, [part.strip() for part in arguments.split(",") if part.strip()])
    hints = _hints(owner)
    parsed = {f.name: _read(name, f.name, hints[f.name], values[f.name]) for f in fields if f.name in values}
    try:
        return owner(*given, **parsed)
    except ParameterError as error:
        raise SpecError(str(error)) from error


def parameters(owner: type[Any]) -> tuple[dataclasses.Field[Any], ...]:
    """The fields of a dataclass that a specification can set (their type can be read from text), the
    positional ones first."""
    hints = _hints(owner)  # type: ignore[arg-type]  # a class can be hashed
    fields = [f for f in dataclasses.fields(owner) if f.init and _reader(hints[f.name])]
    return tuple(sorted(fields, key=lambda f: bool(f.kw_only)))


@functools.cache
def _hints(owner: type[Any]) -> dict[str, Any]:
    """The types of a dataclass's fields; Python evaluates their text again each time."""
    return typing.get_type_hints(owner)


def usage(owner: type[Any], name: str) -> str:
    """The form of a specification of ``owner``: ``bcube:n,k``."""
    return _form(name, parameters(owner))


def _form(name: str, fields: tuple[dataclasses.Field[Any], ...]) -> str:
    parts = [
        f.name if f.default is dataclasses.MISSING or f.metadata.get("positional") else f"{f.name}=..."
        for f in fields
    ]
    return name + (":" + ",".join(parts) if parts else "")


def _assign(name: str, fields: tuple[dataclasses.Field[Any], ...], parts: list[str]) -> dict[str, str]:
    """The text of each field: by position first, then by ``key=``."""
    names = [f.name for f in fields]
    positional = [f.name for f in fields if not f.kw_only]
    form = _form(name, fields) if names else f"{name} (it takes no parameters)"
    values: dict[str, str] = {}
    position = 0
    for part in parts:
        key, equals, value = part.partition("=")
        if not equals or key not in names:
            if equals and key.isidentifier():
                raise SpecError(f"{name} has no parameter {key!r}: write {form}")
            if position >= len(positional):
                raise SpecError(f"too many parameters: write {form}")
            key, value = positional[position], part
            position += 1
        if key in values:
            raise SpecError(f"{name}: {key} is given twice")
        values[key] = value
    missing = [f.name for f in fields if f.default is dataclasses.MISSING and f.name not in values]
    if missing:
        raise SpecError(f"{name} needs {', '.join(missing)}: write {form}")
    return values


def _boolean(text: str) -> bool:
    return {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}[text.lower()]


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _grid(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("x"))


_READERS: list[tuple[object, Callable[[str], object], str]] = [
    (bool, _boolean, "yes or no"),
    (int, int, "a whole number"),
    (float, _finite, "a number"),
    (tuple[int, ...], _grid, "sizes such as 4x4"),
    (int | str, lambda text: int(text) if text.isdecimal() else text, "a number, or text"),
    (str, str, "text"),
]


def _reader(hint: object) -> tuple[Callable[[str], object], str] | None:
    """The reader of values of that type, and their description; None when text cannot give them."""
    given = typing.get_args(hint)
    some = [one for one in given if one is not type(None)]
    wanted = functools.reduce(operator.or_, some) if type(None) in given else hint
    return next(((reader, values) for kind, reader, values in _READERS if wanted == kind), None)


def _read(name: str, key: str, hint: object, text: str) -> object:
    """The value of ``text`` for a field of that type; SpecError when it has another form."""
    known = _reader(hint)
    assert known is not None
    reader, values = known
    try:
        return reader(text)
    except (ValueError, KeyError):
        raise SpecError(f"{name}: {key} must be {values}, not {text!r}") from None
