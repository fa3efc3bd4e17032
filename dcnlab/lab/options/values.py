"""The types of options: which values they take, and what errors say of others.  Pure."""

from __future__ import annotations

import difflib
import types
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin


def accepts(kind: Any, value: object) -> bool:
    """Whether an option of the type ``kind`` can have this value."""
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if get_origin(kind) is types.UnionType:
        return any(accepts(part, value) for part in get_args(kind))
    return type(value) is kind


def describe(kind: Any) -> str:
    """The type in words, as errors say it."""
    if get_origin(kind) is Literal:
        return " or ".join(get_args(kind))
    if get_origin(kind) is types.UnionType:
        return describe(get_args(kind)[0])
    return {bool: "true or false", int: "a whole number", str: "text"}[kind]


def hint(key: str, known: Mapping[str, object]) -> str:
    """What a user may have meant by an unknown name, else the names that there are."""
    near = difflib.get_close_matches(key, known, n=1)
    return f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
