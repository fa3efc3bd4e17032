"""Plain command lines, read without typer's machinery.

To read any value typer imports pydantic, which takes longer than asking a running lab.  In a plain command
line every word is a positional argument or the name of a flag, and all the program does is pass the words on.
typer reads every other command line, and says what is wrong with it.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Sequence
from typing import Any

from typer.models import ArgumentInfo, OptionInfo


def read(
    function: Callable[..., Any], words: Sequence[str], interspersed: bool = True
) -> dict[str, Any] | None:
    """The arguments of a command's function, defaults included, in a plain command line; None for any other.

    Without ``interspersed`` all words from the first argument on are arguments, as in `exec LAB NODE ls -l`.
    """
    parameters = inspect.signature(function, eval_str=True).parameters.values()
    flags = {flag: parameter.name for parameter in parameters for flag in _flags(parameter)}
    values: dict[str, Any] = {}
    positional: list[str] = []
    for word in words:
        if positional and not interspersed:
            positional.append(word)
        elif word in flags:
            values[flags[word]] = True
        elif word.startswith("-"):
            return None
        else:
            positional.append(word)
    for parameter in parameters:
        kind, info = _declaration(parameter)
        if isinstance(info, ArgumentInfo) and positional:
            if kind not in (str, list[str]):
                return None
            values[parameter.name] = positional.pop(0) if kind is str else positional[:]
            if kind is not str:
                positional.clear()
        elif parameter.default is parameter.empty:
            return None
        else:
            values.setdefault(parameter.name, parameter.default)
    return None if positional else values


def _declaration(parameter: inspect.Parameter) -> tuple[Any, Any]:
    """The type of a parameter, and how typer declares it."""
    kind, *declarations = typing.get_args(parameter.annotation) or (parameter.annotation,)
    return kind, next((one for one in declarations if isinstance(one, ArgumentInfo | OptionInfo)), None)


def _flags(parameter: inspect.Parameter) -> tuple[str, ...]:
    """The names of a parameter on the command line if it is a flag."""
    kind, info = _declaration(parameter)
    if kind is not bool or parameter.default is not False or not isinstance(info, OptionInfo):
        return ()
    # typer.Option("-4") keeps its first name as a default: without Annotated it would be one.
    names = tuple(name for name in (info.default, *(info.param_decls or ())) if isinstance(name, str))
    return names or (f"--{parameter.name.replace('_', '-')}",)
