"""Options of labs: one for every field of :class:`~dcnlab.lab.options.config.LabConfig`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from dcnlab.lab.options.config import lab_options, option_types

Detach = Annotated[bool, typer.Option("--detach", "-d", help="Run the lab in the background.")]

#: The source of a default that the user did not override.
_DEFAULT = "DEFAULT"


def of_labs(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command every option of :class:`~dcnlab.lab.options.config.LabConfig`.

    The command takes them as ``**options``; it receives those that the user gave.
    """
    signature = inspect.signature(command, eval_str=True)
    own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    added = [_parameter(name) for name in lab_options()]
    context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)

    @functools.wraps(command)
    def wrapped(*, context: typer.Context, **options: Any) -> None:
        return command(**{name: value for name, value in options.items() if _given(context, name)})

    def _given(context: typer.Context, name: str) -> bool:
        source = context.get_parameter_source(name)
        return name not in lab_options() or (source is not None and source.name != _DEFAULT)

    keywords = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own]
    wrapped.__signature__ = signature.replace(parameters=[*keywords, *added, context])  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in (*keywords, *added, context)}
    return wrapped


def of_lab(name: str) -> Any:
    """One option of labs with its help and bounds, for commands that have only some of them."""
    field = lab_options()[name]
    words = (f"--{name.replace('_', '-')}",) if field.default is False else ()
    low, high = field.metadata["low"], field.metadata["high"]
    return typer.Option(*words, help=field.metadata["doc"], min=low, max=high)


def _parameter(name: str) -> inspect.Parameter:
    """An option of labs as a parameter of a command."""
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=lab_options()[name].default,
        annotation=Annotated[option_types()[name], of_lab(name)],
    )
