"""Words of a command line stay as they are.

To convert any value, even a word to a word, recent releases of typer import pydantic, which takes longer than
asking a running lab.  So values that need no conversion are not converted; typer reads the command line, and
converts all others.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from typer.core import TyperArgument, TyperOption


@cache
def keep() -> None:
    """Have typer convert only what needs it, once in a process; releases without this method do not import
    pydantic."""
    for kind in (TyperArgument, TyperOption):
        if hasattr(kind, "get_runtime_param"):
            kind.get_runtime_param = _runtime_param(kind.get_runtime_param)  # type: ignore[method-assign]


def _runtime_param(of_typer: Any) -> Any:
    return lambda parameter: _Words(parameter, of_typer)


class _Words:
    """What typer asks to convert the value of a parameter."""

    def __init__(self, parameter: Any, of_typer: Any) -> None:
        self._parameter, self._of_typer = parameter, of_typer

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value as the parameter's type."""
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        wanted = self._parameter.type_descriptor.annotation
        if type(value) is wanted or (wanted == list[str] and _are_words(value)):  # a default, or words
            return value
        return self._of_typer(self._parameter).coerce(value, param=param, ctx=ctx)


def _are_words(value: Any) -> bool:
    return isinstance(value, tuple | list) and all(isinstance(word, str) for word in value)
