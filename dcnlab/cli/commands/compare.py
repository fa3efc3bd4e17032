"""``dcnlab compare``: many evaluations in parallel."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from dcnlab.cli import cluster, options
from dcnlab.cli.app import command
from dcnlab.cli.show import JsonFlag, cell, print_json, progress_bar, table
from dcnlab.cli.spec_lists import schemes_of, split_specs, words
from dcnlab.lab.errors import UsageError
from topos.spec import SpecError

_METRICS = "delivered,path.mean,path.max,stretch.mean,table.entries_max,table.bits_max"


@command(
    "dcnlab compare --topologies bcube:4,1,bcube:8,1 --schemes brp,wmgr,shortest --report report.html",
    "dcnlab compare --topologies bcube:4,2 --schemes brp,wmgr --failures links=5% --seeds 4 --csv all.csv",
    "dcnlab compare --topologies bcube:4,1,bcube:8,1 --schemes brp,wmgr --figures figures",
)
def compare(
    topologies: Annotated[str, typer.Option(help="Comma-separated topologies.")],
    schemes: Annotated[
        str, typer.Option(help="Comma-separated schemes; optimal adds what any routing could carry.")
    ],
    failures: Annotated[
        list[str], typer.Option(help="Random failures, such as links=5% or switch-links=5%; may be repeated.")
    ] = [],  # noqa: B006
    seeds: Annotated[int, options.number("Number of seeds.", 1, options.MAX_COUNT)] = 1,
    pairs: options.Pairs = "servers",
    traffic: Annotated[
        str, typer.Option(help="Also compute max-min fair rates under this traffic pattern.")
    ] = "",
    metrics: Annotated[
        str,
        typer.Option(
            help="Comma-separated columns to show; bisection, diversity, connectivity, optimum, loads,"
            " throughput, share, latency and fct are computed only if named."
        ),
    ] = _METRICS,
    loads: Annotated[
        str,
        typer.Option(help="For latency and fct: comma-separated loads, as multiples of the link rate."),
    ] = "0.5",
    flows: options.Flows = "hashed",
    flow_control: options.FlowControlOption = options.FlowControl.none,
    results: options.Results = Path("results"),
    report: options.Html = None,
    figures: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Write the figures of the report as PDF files.", callback=options.folder
        ),
    ] = None,
    csv: options.Csv = None,
    parquet: options.Parquet = None,
    dask: options.Dask = "",
    workers: options.Workers = 0,
    json: JsonFlag = False,
) -> None:
    """Compare schemes on topologies over failures and seeds, in parallel; resumes an interrupted run.

    The table has means over the seeds with 95 % intervals; --csv, --parquet and --json have every evaluation.
    """
    from dcnlab.evaluator import compare as grid
    from dcnlab.evaluator.metrics import OF_OPTIMAL, expand_columns, required_metrics
    from dcnlab.evaluator.optimum.beside import OPTIMAL
    from dcnlab.evaluator.reporting import tables

    columns = words(metrics)
    if OPTIMAL in split_specs(schemes):
        columns = tuple(dict.fromkeys((*columns, *OF_OPTIMAL)))
    try:
        if parquet is not None:
            tables.check_parquet()
        wanted = grid.requests(
            split_specs(topologies), schemes_of(schemes), ["", *failures], range(1, seeds + 1),
            pairs=pairs, pattern=traffic, metrics=required_metrics(columns), loads=_numbers(loads),
            flow_control=flow_control.value, flows=flows,
        )  # fmt: skip
    except SpecError as error:
        raise UsageError(str(error)) from error
    with cluster.executor(dask) as executor, progress_bar(quiet=json) as progress:
        rows = grid.compare(
            wanted, results, workers=workers or None, progress=progress, on_compile=progress.compiling,
            executor=executor,
        )  # fmt: skip
    _write(rows, csv, parquet, report)
    if figures is not None:
        _draw(rows, figures)
    shown = expand_columns(columns)
    _check_columns(rows, shown)
    print_json(rows) if json else _show_rows(rows, shown)
    raise typer.Exit(1 if _print_errors(rows) else 0)


def _write(rows: Sequence[dict[str, Any]], csv: Path | None, parquet: Path | None, html: Path | None) -> None:
    """Write all figures to the requested files."""
    from dcnlab.evaluator.reporting import tables

    if csv is not None:
        tables.write_csv(rows, csv)
    if parquet is not None:
        tables.write_parquet(rows, parquet)
    if html is not None:
        from dcnlab.evaluator.reporting.comparison import comparison  # matplotlib: only for figures

        html.write_text(comparison(rows))


def _draw(rows: Sequence[dict[str, Any]], folder: Path) -> None:
    """Write the figures of the report, one file each, numbered in their order."""
    from dcnlab.evaluator.reporting.comparison import charts
    from dcnlab.evaluator.reporting.plots import save

    folder.mkdir(parents=True, exist_ok=True)
    drawn = charts([row for row in rows if "error" not in row])
    for number, chart in enumerate(drawn, 1):
        words = "-".join(re.findall("[a-z0-9]+", chart.title.lower()))
        save(chart, folder / f"{number:02}-{words[:80]}.pdf")
    print(f"{len(drawn)} figures in {folder}", file=sys.stderr)


def _check_columns(rows: Sequence[dict[str, Any]], columns: Iterable[str]) -> None:
    """Raise UsageError for a column that no row has."""
    good = [row for row in rows if "error" not in row]
    for column in columns if good else ():
        if not any(column in row for row in good):
            known = ", ".join(key for key, value in good[0].items() if isinstance(value, int | float))
            raise UsageError(f"--metrics: unknown column {column!r}: known: {known}")


def _show_rows(rows: Sequence[dict[str, Any]], columns: list[str]) -> None:
    """Print a line per combination: its parameters, and the means over its seeds with 95 % intervals."""
    from dcnlab.evaluator.averages import Average, combinations

    def written(value: object) -> str:
        return value.text() if isinstance(value, Average) else cell(value)

    found = combinations(rows)
    header = ["topology", "scheme", "failures", "seeds", *columns]
    lines = [
        [one.topology, one.scheme, one.failures or "none", str(len(one.rows))]
        + [written(one.value(column)) for column in columns]
        for one in found
    ]
    table(header, lines)


def _print_errors(rows: Sequence[dict[str, Any]]) -> bool:
    """Print the failed evaluations to standard error; returns True if there are any."""
    failed = [row for row in rows if "error" in row]
    for row in failed:
        print(f"{row['topology']} {row['scheme']}: {row['error']}", file=sys.stderr)
    return bool(failed)


def _numbers(text: str) -> tuple[float, ...]:
    try:
        numbers = tuple(map(float, words(text)))
    except ValueError:
        numbers = ()
    if not numbers:
        raise UsageError(f"--loads takes numbers, not {text!r}: write 0.2,0.5,1")
    return numbers
