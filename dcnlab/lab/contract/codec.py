"""Dataclasses as JSON values, and from them."""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, TypeVar

T = TypeVar("T")


@functools.cache
def hints(kind: type[Any]) -> Mapping[str, Any]:
    """The types of the fields of a dataclass, by name."""
    known = {one.name for one in dataclasses.fields(kind)}
    return {name: hint for name, hint in typing.get_type_hints(kind).items() if name in known}


def encode(value: Any) -> Any:
    """A value as JSON: dataclasses as objects, tuples and sets as lists."""
    if isinstance(value, Mapping):
        return {key: encode(item) for key, item in value.items()}
    if hasattr(value, "to_json"):
        return value.to_json()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: encode(getattr(value, item.name)) for item in dataclasses.fields(value)}
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    if isinstance(value, Enum):
        return value.value
    return sorted(map(encode, value)) if isinstance(value, set | frozenset) else value


def decode(hint: Any, value: Any) -> Any:
    """Turn a JSON value into the type ``hint``: dataclasses, lists, tuples and dictionaries of them, or plain
    values.  Raises TypeError when a plain value has another type."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _decode_union(arguments, value)
    if hasattr(hint, "from_json"):
        return hint.from_json(value)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return decode_fields(hint, value)
    if origin in (tuple, list, Sequence, frozenset) and not isinstance(value, list | tuple):
        raise TypeError(f"{value!r} is no list")
    if origin is tuple:
        each = arguments[:1] * len(value) if arguments[-1] is Ellipsis else arguments
        return tuple(decode(kind, item) for kind, item in zip(each, value, strict=True))
    if origin in (list, Sequence):
        return [decode(arguments[0], item) for item in value]
    if origin is frozenset:
        return frozenset(decode(arguments[0], item) for item in value)
    if origin in (dict, Mapping):
        return {arguments[0](key): decode(arguments[1], item) for key, item in value.items()}
    return _plain(hint, value)


def decode_fields(kind: type[T], value: Mapping[str, Any]) -> T:
    """A JSON object as a dataclass."""
    known = hints(kind)  # type: ignore[arg-type]  # a class can be hashed
    return kind(**{name: decode(known[name], item) for name, item in value.items()})


def _decode_union(kinds: tuple[Any, ...], value: Any) -> Any:
    """The first member of the union that the value fits."""
    for kind in kinds:
        try:
            return None if kind is type(None) and value is None else decode(kind, value)
        except (TypeError, ValueError, AttributeError, KeyError):
            continue
    raise TypeError(f"{value!r} has none of the types that fit")


def _plain(hint: Any, value: Any) -> Any:
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if hint is not Any and (not isinstance(value, hint) or (hint is not bool and isinstance(value, bool))):
        raise TypeError(f"{value!r} is not of type {hint.__name__}")
    return value
