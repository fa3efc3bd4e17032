"""``dcnlab grade``: the points of an exercise of the course."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dcnlab.cli.app import command
from dcnlab.cli.launching import stages
from dcnlab.cli.show import JsonFlag, print_json, table

if TYPE_CHECKING:
    from dcnlab.lab.course.grading import Grade


@command("dcnlab grade prefix-tables", "dcnlab grade submissions/ada --json")
def grade(
    folder: Annotated[
        Path,
        typer.Argument(metavar="FOLDER", help="The folder of an exercise, as `dcnlab course NAME` copies it."),
    ],
    json: JsonFlag = False,
) -> None:
    """Grade an exercise: run its scenario in a lab; a point for each expectation; exit 0 if all hold.

    Python files of the folder run with your rights: read those that others have sent you first.
    """
    from dcnlab.lab.course import grading

    with stages(quiet=False) as stage:
        result = grading.grade(folder, stage, lambda line: print(line, file=sys.stderr))
    print_json(result.to_json()) if json else _show(result)
    raise typer.Exit(0 if result.passed else 1)


def _show(result: Grade) -> None:
    verdicts = result.outcome.verdicts
    rows = [(str(one.expectation), "-" if one.value is None else one.value, int(one.held)) for one in verdicts]
    table(("task", "found", "points"), rows)
    for line in result.remarks():
        print(line)
    for hint in dict.fromkeys(filter(None, map(result.hint, verdicts))):
        print(f"hint: {hint}")
    print(f"{result.exercise}: {result.points} of {len(verdicts)} points")
