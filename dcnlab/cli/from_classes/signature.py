"""Functions as commands: what typer reads of them follows from a class."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field
from typing import Annotated, Any

from dcnlab.cli.parameters.arguments import LabName
from dcnlab.cli.show import JsonFlag

_KEYWORD = inspect.Parameter.POSITIONAL_OR_KEYWORD


def parameter(name: str, kind: Any, shown: Any, default: Any = MISSING) -> inspect.Parameter:
    """A parameter of this type, as an argument or an option of typer's shows it; required without a default."""
    given = inspect.Parameter.empty if default is MISSING else default
    return inspect.Parameter(name, _KEYWORD, annotation=Annotated[kind, shown], default=given)


def names_of(item: Field[Any]) -> list[str]:
    """The names of a field's option."""
    return (item.metadata.get("flag") or f"--{item.name.replace('_', '-')}").split()


def named(
    function: Callable[..., None], kind: Any, parameters: Iterable[inspect.Parameter]
) -> Callable[..., None]:
    """The function as the command of a class: with its name and help, the lab, these parameters, and --json."""
    lab = inspect.Parameter("lab", _KEYWORD, annotation=LabName)
    json = inspect.Parameter("json", _KEYWORD, annotation=JsonFlag, default=False)
    every = [lab, *parameters, json]
    function.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
    function.__annotations__ = {one.name: one.annotation for one in every}
    function.__doc__, function.__name__ = inspect.getdoc(kind), kind.name.replace("-", "_")
    return function
