"""``dcnlab course``: the exercises of the course."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dcnlab.cli.app import command
from dcnlab.cli.show import JsonFlag, print_json, table
from dcnlab.lab.errors import UsageError


@command(
    "dcnlab course",
    "dcnlab course prefix-tables",
    "dcnlab course prefix-tables --solution --to /tmp/solved",
)
def course(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="The exercise to copy.")] = "",
    to: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Copy it into this new folder, not into ./NAME.")
    ] = None,
    solution: Annotated[bool, typer.Option("--solution", help="Include the solution.")] = False,
    json: JsonFlag = False,
) -> None:
    """List the exercises of the course, or copy one to work on."""
    from dcnlab.lab.course import exercises

    if not name:
        if solution or to is not None:
            raise UsageError("which exercise? `dcnlab course` lists them")
        listed = [
            {"name": name, "title": exercises.title(path)} for name, path in exercises.exercises().items()
        ]
        if json:
            print_json(listed)
        else:
            table(("exercise", "title"), [tuple(row.values()) for row in listed])
        return
    target = to or Path(name)
    exercises.copy(name, target, solution)
    if json:
        print_json({"name": name, "folder": str(target)})
    else:
        print(f"{target}/README.md is the handout; `dcnlab grade {target}` grades your work")
