"""``dcnlab run``: run a scenario file."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from dcnlab.cli import completion, options
from dcnlab.cli.app import command
from dcnlab.cli.launching import stages
from dcnlab.cli.outcome import show
from dcnlab.cli.show import JsonFlag, print_json
from dcnlab.lab.errors import LabError


@command(
    "dcnlab run bcube-cut",
    "dcnlab run my.yaml --keep results/my",
    "dcnlab run bcube-cut --junit bcube-cut.xml",
    custom=True,
)
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
    junit: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write JUnit XML for continuous integration: a case per expectation."
        ),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Run a scenario: topology, scheme, traffic, timed failures; exit 0 if what it expects holds."""
    from dcnlab.lab.scenario import bundled, reading, runner
    from dcnlab.lab.scenario import junit as reports

    begun = time.monotonic()
    try:
        scenario = reading.read(bundled.find(file))
        with stages(quiet=False) as stage:
            outcome = runner.run(scenario, stage, lambda line: print(line, file=sys.stderr), keep)
    except LabError as error:
        text = str(error)
        _report(junit, lambda: reports.launch_error(file.stem, text, time.monotonic() - begun))
        raise
    _report(junit, lambda: reports.suite(file.stem, outcome, time.monotonic() - begun))
    print_json(outcome.to_json()) if json else show(outcome)
    raise typer.Exit(0 if outcome.held else 1)


def _report(path: Path | None, document: Callable[[], str]) -> None:
    """Write a report if one is wanted."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(document(), encoding="utf-8")
