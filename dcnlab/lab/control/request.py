"""Requests on the control socket: what is missing or of the wrong kind is the client's error, in one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dcnlab.lab.errors import UsageError

_TEXT = ("name", "node", "verb", "origin", "key", "kind", "a", "b", "what", "interface", "switch", "matching")
_WORDS = ("words", "names", "kinds", "custom")


class Fields(dict[str, Any]):
    """The fields of a request; a field that an operation needs and that is missing is a UsageError."""

    def __missing__(self, name: str) -> Any:
        raise UsageError(f"a request for {self.get('op')!r} needs {name!r}")


def checked(message: Mapping[str, Any]) -> Fields:
    """A message as the fields of a request; UsageError for a field of the wrong kind."""
    fields = Fields(message)
    for name, value in fields.items():
        if name in _TEXT and not isinstance(value, str):
            raise _wrong(fields, name, "text")
        if name in _WORDS and not _is_words(value):
            raise _wrong(fields, name, "a list of words")
        if name in ("after", "replicas") and (not isinstance(value, int) or isinstance(value, bool)):
            raise _wrong(fields, name, "a whole number")
        if name == "arguments" and not isinstance(value, Mapping):
            raise _wrong(fields, name, "an object")
    return fields


def _is_words(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _wrong(fields: Fields, name: str, wanted: str) -> UsageError:
    return UsageError(f"{name!r} of a request for {fields.get('op')!r} must be {wanted}, not {fields[name]!r}")
