"""``dcnlab down``: end labs.

More than the operation of one lab, so it does not follow from that: all labs, and what is left of those that
have ended.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from dcnlab.cli.app import command
from dcnlab.cli.show import JsonFlag, print_json
from dcnlab.lab.control.stopping import end
from dcnlab.lab.errors import LabError, UsageError


@command("dcnlab down LAB", "dcnlab down --all")
def down(
    lab: Annotated[str, typer.Argument(metavar="LAB", help="Name of the lab.")] = "",
    all: Annotated[bool, typer.Option("--all", help="End all your labs.")] = False,
    json: JsonFlag = False,
) -> None:
    """End a lab, or all labs; remove what stale labs left."""
    from dcnlab.lab.control import runtime

    if bool(lab) == all:
        raise UsageError("name a lab, or use --all")
    chosen = [running for running in runtime.labs() if all or running.name == lab]
    left = [path for path in runtime.logs_left() if all or path.stem == lab]
    if not all and not chosen and not left:
        raise LabError(f"there is no lab named {lab}: see `dcnlab ps`")
    problems = []
    for running in chosen:
        try:
            end(running.path)
        except LabError as error:  # the others end nevertheless
            problems.append(str(error))
        else:
            print(f"{running.name} ended", file=sys.stderr)
    for path in left:
        path.unlink(missing_ok=True)
        print(f"{path.stem} had ended: log removed", file=sys.stderr)
    if problems:
        raise LabError("; ".join(problems))
    if json:
        print_json({"ended": [running.name for running in chosen]})
