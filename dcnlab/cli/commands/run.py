"""``dcnlab run``: run a scenario file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dcnlab.cli import completion, options
from dcnlab.cli.app import command
from dcnlab.cli.launching import stages
from dcnlab.cli.show import JsonFlag, print_json, table

if TYPE_CHECKING:
    from dcnlab.lab.scenario.runner import ScenarioResult


@command("dcnlab run bcube-cut", "dcnlab run my.yaml --keep results/my", custom=True)
def run(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A scenario file, or the name of an example that comes with dcnlab, such as clot-cut.",
            autocompletion=completion.scenarios,
        ),
    ],
    keep: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write results (JSON, CSV), tables and events into this folder.",
            callback=options.folder,
        ),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Run a scenario: topology, scheme, traffic, timed failures; exit 0 if what it expects holds."""
    from dcnlab.lab.scenario import bundled, reading, runner

    scenario = reading.read(bundled.find(file))
    with stages(quiet=False) as stage:
        outcome = runner.run(scenario, stage, lambda line: print(line, file=sys.stderr), keep)
    print_json(outcome.to_json()) if json else _show(outcome)
    raise typer.Exit(0 if outcome.held else 1)


def _show(outcome: ScenarioResult) -> None:
    table(("result", "found"), [(name, _words(result)) for name, result in outcome.results.items()])
    if not outcome.verdicts:
        return
    print()
    table(
        ("expected", "found", ""),
        [
            (verdict.expectation, _value(verdict.value), "holds" if verdict.held else "DOES NOT HOLD")
            for verdict in outcome.verdicts
        ],
    )


def _words(result: dict[str, Any]) -> str:
    return ", ".join(f"{figure} {_value(value)}" for figure, value in result.items())


def _value(value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value))
    return "-" if value is None else str(value)
