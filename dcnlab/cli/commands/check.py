"""``dcnlab check``: a scenario's measurements and expectations against a lab that runs."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Annotated

import typer

from dcnlab.cli.app import command
from dcnlab.cli.outcome import show
from dcnlab.cli.parameters import completion
from dcnlab.cli.parameters.arguments import LabName
from dcnlab.cli.show import JsonFlag, print_json
from dcnlab.lab.client import Lab


@command("dcnlab check LAB bcube-cut", "dcnlab check LAB my.yaml --events --json", custom=True)
def check(
    lab: LabName,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A scenario file, or the name of an example.",
            autocompletion=completion.scenarios,
        ),
    ],
    events: Annotated[bool, typer.Option("--events", help="Also cause the failures of the scenario.")] = False,
    json: JsonFlag = False,
) -> None:
    """Make a scenario's measurements in a running lab; exit 0 if its expectations hold.

    Without --events the lab stays as it is, and expectations about failures are left out.
    """
    from dcnlab.experiments.prediction import with_predictions
    from dcnlab.lab.scenario import bundled, reading, runner

    scenario = reading.read(bundled.find(file))
    note = functools.partial(print, file=sys.stderr)
    outcome = with_predictions(runner.check(scenario, Lab.attach(lab), note, events))
    print_json(outcome.to_json()) if json else show(outcome)
    raise typer.Exit(0 if outcome.held else 1)
