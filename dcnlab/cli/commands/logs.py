"""``dcnlab logs``: the log of a lab."""

from __future__ import annotations

import json as codec
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from dcnlab.cli.app import command
from dcnlab.cli.parameters import completion
from dcnlab.cli.show import JsonFlag, print_json
from dcnlab.lab.errors import LabError


@command("dcnlab logs LAB", "dcnlab logs LAB -f")
def logs(
    lab: Annotated[
        str,
        typer.Argument(autocompletion=completion.logs, metavar="LAB", help="A lab that runs, or has failed."),
    ],
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Print new lines as they are written, until the lab ends.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Show the log of a lab: session, controller and agents.

    A lab that was ended with `down` has none. With --follow, --json prints one object per line.
    """
    from dcnlab.lab import log

    lines = _lines(lab, follow)
    if not json:
        for line in lines:
            sys.stdout.write(line)
            if not line:
                sys.stdout.flush()
    elif follow:
        for record in log.records(lines):
            print(codec.dumps(record.to_json()), flush=True)
    else:
        print_json([record.to_json() for record in log.records(lines)])


def _lines(lab: str, follow: bool) -> Iterator[str]:
    """The lines of a lab's log; LabError if it has none."""
    from dcnlab.lab import log
    from dcnlab.lab.control import runtime

    socket = runtime.socket_path(lab)
    file = log.path(socket)
    try:
        yield from log.follow(file, lambda: runtime.in_use(socket)) if follow else _written(file)
    except FileNotFoundError:
        raise LabError(f"there is no log of a lab named {lab}: see `dcnlab ps`") from None


def _written(file: Path) -> Iterator[str]:
    with file.open(errors="replace") as text:
        yield from text
