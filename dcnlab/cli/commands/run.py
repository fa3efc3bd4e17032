"""``dcnlab run``: run a scenario file."""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from dcnlab.cli.app import command
from dcnlab.cli.launching import stages
from dcnlab.cli.outcome import show
from dcnlab.cli.parameters import completion, options
from dcnlab.cli.show import JsonFlag, print_json
from dcnlab.lab.errors import LabError, UsageError
from topos.spec import SpecError

if TYPE_CHECKING:
    from dcnlab.lab.scenario.model import Scenario
    from dcnlab.lab.scenario.runner import ScenarioResult


@command(
    "dcnlab run bcube-cut",
    "dcnlab run my.yaml --keep results/my",
    "dcnlab run bcube-cut --junit bcube-cut.xml --report bcube-cut.html",
    "dcnlab run bcube-cut --matrix scheme=brp,wmgr --repeat 5 --results results/cut --report cut.html",
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
            help="Write results (JSON, CSV), tables, events and a recording into this folder.",
            callback=options.folder,
        ),
    ] = None,
    junit: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write JUnit XML for continuous integration: a case per expectation."
        ),
    ] = None,
    matrix: Annotated[
        list[str],
        typer.Option(
            metavar="KEY=VALUES",
            help="Run every combination of these values, such as scheme=brp,wmgr; may be repeated.",
        ),
    ] = [],  # noqa: B006
    repeat: Annotated[
        int | None, options.number("Run each combination this many times, each with the next seed.", 1, 10_000)
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="With --matrix or --repeat: folder of results; an interrupted sweep resumes from it.",
            callback=options.folder,
        ),
    ] = None,
    report: options.Html = None,
    csv: options.Csv = None,
    parquet: options.Parquet = None,
    json: JsonFlag = False,
) -> None:
    """Run a scenario: topology, scheme, traffic, timed failures; exit 0 if what it expects holds.

    With --matrix or --repeat, or those keys in the file, it runs many times: a sweep.
    """
    from dcnlab.evaluator.reporting import tables
    from dcnlab.lab.scenario import bundled, reading
    from dcnlab.lab.scenario import junit as reports

    if matrix or repeat or reading.is_sweep(bundled.find(file)):
        if junit is not None:
            raise UsageError("--junit is for a single run: a sweep writes --report, --csv or --parquet")
        _sweep(file, matrix, repeat, results, keep, report, csv, parquet, json)
    if results is not None:
        raise UsageError("--results is for a sweep: add --matrix or --repeat")
    if parquet is not None:
        tables.check_parquet()
    begun, clock = time.monotonic(), time.time()
    try:
        scenario = reading.read(bundled.find(file))
        outcome = _run(scenario, keep)
    except LabError as error:
        text = str(error)
        _report(junit, lambda: reports.launch_error(file.stem, text, time.monotonic() - begun))
        raise
    _report(junit, lambda: reports.suite(file.stem, outcome, time.monotonic() - begun))
    if report or csv or parquet:
        from dcnlab.experiments import single, summary  # matplotlib: only for files

        row = single.row(outcome, clock)
        _write_table([summary.flat(row)], csv, parquet)
        _report(report, lambda: single.report(outcome.scenario.title or file.stem, row))
    print_json(outcome.to_json()) if json else show(outcome)
    raise typer.Exit(0 if outcome.held else 1)


def _run(scenario: Scenario, keep: Path | None) -> ScenarioResult:
    """Run a scenario that has been read and checked: only then what it needs is imported."""
    from dcnlab.experiments.prediction import with_predictions
    from dcnlab.experiments.recorded import recorded
    from dcnlab.lab.scenario import runner

    with stages(quiet=False) as stage:
        note = functools.partial(print, file=sys.stderr)
        return runner.run(scenario, stage, note, keep, with_predictions, recorded)


def _sweep(
    file: Path,
    matrix: list[str],
    repeat: int | None,
    results: Path | None,
    keep: Path | None,
    report: Path | None,
    csv: Path | None,
    parquet: Path | None,
    json: bool,
) -> NoReturn:
    """Run all combinations, write what is asked for, and exit."""
    from dcnlab.cli.sweeping import read_matrix, show_sweep
    from dcnlab.evaluator.reporting import tables
    from dcnlab.experiments import sweep
    from dcnlab.experiments.report import report as page

    try:
        if parquet is not None:
            tables.check_parquet()
        wanted = sweep.plan(file, read_matrix(matrix), repeat)
    except SpecError as error:
        raise UsageError(str(error)) from error
    with stages(quiet=False) as stage:
        outcome = sweep.run(wanted, results, stage, lambda line: print(line, file=sys.stderr), keep)
    _write_table(outcome.table(), csv, parquet)
    _report(report, lambda: page(outcome.title, outcome.rows))
    print_json(outcome.to_json()) if json else show_sweep(outcome)
    raise typer.Exit(0 if outcome.held else 1)


def _write_table(rows: list[dict[str, Any]], csv: Path | None, parquet: Path | None) -> None:
    """Write a row per run, if that is wanted."""
    from dcnlab.evaluator.reporting import tables

    if csv is not None:
        tables.write_csv(rows, csv)
    if parquet is not None:
        tables.write_parquet(rows, parquet)


def _report(path: Path | None, document: Callable[[], str]) -> None:
    """Write a report if one is wanted."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(document(), encoding="utf-8")
