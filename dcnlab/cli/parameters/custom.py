"""``--custom FILE.py``, an option of measurements and of every command that takes a topology or a scheme."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

#: A command with one of these parameters takes a topology or a scheme.
_PARAMETERS = {"topology", "topologies", "spec", "scheme", "schemes", "where"}


def _load(paths: list[Path] | None) -> list[Path] | None:
    """Load the files before any other parameter is read."""
    if paths:
        from dcnlab.lab import custom

        custom.load(paths)
    return paths


_Custom = Annotated[
    list[Path] | None,
    typer.Option(
        "--custom",
        metavar="FILE.py",
        help="A Python file that defines topologies, schemes, protocols or measurements; may be repeated.",
        is_eager=True,
        callback=_load,
    ),
]


def takes_custom(command: Callable[..., Any]) -> bool:
    """Whether a command has an argument for a topology or a scheme."""
    return bool(_PARAMETERS & set(inspect.signature(command).parameters))


def with_custom(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with the option ``--custom``, which works by its callback alone."""

    @functools.wraps(command)
    def run(*values: Any, custom: Any = None, **options: Any) -> Any:
        return command(*values, **options)

    signature = inspect.signature(command, eval_str=True)
    option = inspect.Parameter("custom", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_Custom)
    run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), option])  # type: ignore[attr-defined]
    run.__annotations__ = {**command.__annotations__, "custom": _Custom}
    return run
