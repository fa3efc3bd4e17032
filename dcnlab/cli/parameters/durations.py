"""Options for times; measurements have some, so this file stands apart from the other options."""

from __future__ import annotations

from typing import Any

import typer


def duration(text: str, *names: str) -> Any:
    """An option for a time as scenarios write it, such as ``200ms``; a plain number is in seconds."""
    return typer.Option(*names, help=f"{text} Such as 5s or 200ms.", metavar="TIME", parser=_read_duration)


def _read_duration(text: str | float) -> float:
    from dcnlab.lab.scenario.values import read_duration

    try:
        seconds = read_duration(_with_unit(str(text)))
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    if not seconds:
        raise typer.BadParameter("must be longer than 0")
    return seconds


def _with_unit(text: str) -> str:
    """A plain number is in seconds, and ``5m`` is as people write ``5min``."""
    if text.replace(".", "", 1).isdecimal():
        return f"{text}s"
    return f"{text}in" if text.removesuffix("m").replace(".", "", 1).isdecimal() else text
