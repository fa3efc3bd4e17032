"""``dcnlab compare``: many evaluations in parallel."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from dcnlab.cli.app import command
from dcnlab.cli.parameters import cluster, options
from dcnlab.cli.parameters.pairs import say_pairs
from dcnlab.cli.parameters.spec_lists import schemes_of, split_specs, words
from dcnlab.cli.show import JsonFlag, cell, print_json, progress_bar, table
from dcnlab.lab.errors import UsageError
from topos.spec import SpecError
from topos.words import counted


class Equal(Enum):
    """What the networks have in common."""

    servers = "servers"
    cost = "cost"
    switches = "switches"


_METRICS = "delivered,path.mean,path.max,stretch.mean,table.entries_max,table.bits_max"


@command(
    "dcnlab compare --topologies bcube:4,1,bcube:8,1 --schemes brp,wmgr,shortest --report report.html",
    "dcnlab compare --topologies bcube:4,2 --schemes brp,wmgr --failures links=5% --seeds 4 --csv all.csv",
    "dcnlab compare --topologies bcube:4,1,bcube:8,1 --schemes brp,wmgr --figures figures",
)
def compare(
    topologies: Annotated[
        str, typer.Option(help="Comma-separated topologies; after the first, names of families with --equal.")
    ],
    schemes: Annotated[
        str, typer.Option(help="Comma-separated schemes; optimal adds what any routing could carry.")
    ],
    failures: Annotated[
        list[str], typer.Option(help="Random failures, such as links=5% or switch-links=5%; may be repeated.")
    ] = [],  # noqa: B006
    seeds: options.Seeds = "1",
    pairs: options.Pairs = "servers",
    equal: Annotated[
        Equal | None,
        typer.Option(help="Choose the others as large as the first topology: servers, cost or switches."),
    ] = None,
    traffic: Annotated[
        str, typer.Option(help="Also compute max-min fair rates under these traffic patterns.")
    ] = "",
    metrics: Annotated[
        str,
        typer.Option(
            help="Comma-separated columns to show; bisection, diversity, connectivity, hyperbolicity,"
            " optimum, loads, throughput, share, latency and fct are computed only if named."
        ),
    ] = _METRICS,
    loads: Annotated[
        str,
        typer.Option(help="For latency and fct: comma-separated loads, as multiples of the link rate."),
    ] = "0.5",
    flows: options.Flows = "hashed",
    gap: options.Gap = "1%",
    paths: options.Paths = "",
    flow_control: options.FlowControlOption = options.FlowControl.none,
    results: options.Results = Path("results"),
    report: options.Html = None,
    figures: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Write the figures of the report as PDF files.", callback=options.folder
        ),
    ] = None,
    figure: options.Figure = None,
    label: options.Label = [],  # noqa: B006
    width: options.Width = 0.0,
    font: options.Font = 9.0,
    csv: options.Csv = None,
    parquet: options.Parquet = None,
    dask: options.Dask = "",
    workers: options.Workers = 0,
    json: JsonFlag = False,
) -> None:
    """Compare schemes on topologies over failures and seeds, in parallel; resumes an interrupted run.

    The table has means over the seeds with 95 % intervals, one each for seeds of their own; --csv, --parquet
    and --json have every evaluation.
    --figure has all networks on one axis: the first of --metrics, or the throughput per server.
    """
    from dcnlab.evaluator import compare as grid
    from dcnlab.evaluator.metrics import OF_OPTIMAL, Conditions, expand_columns, models, required_metrics
    from dcnlab.evaluator.optimum.beside import OPTIMAL
    from dcnlab.evaluator.reporting import tables
    from dcnlab.evaluator.reporting.labels import read as read_labels
    from dcnlab.evaluator.seeds import read as read_seeds
    from dcnlab.traffic.demand_files import steps_of

    columns = words(metrics) + (("throughput.aggregate",) if traffic and metrics == _METRICS else ())
    if OPTIMAL in split_specs(schemes):
        columns = tuple(dict.fromkeys((*columns, *OF_OPTIMAL)))
    try:
        if parquet is not None:
            tables.check_parquet()
        networks = _networks(topologies, equal)
        names, draws = read_labels(label, networks, schemes_of(schemes)), read_seeds(seeds)
        wanted = [
            one
            for pattern in [step for one in split_specs(traffic) for step in steps_of(one)] or [""]
            for one in grid.requests(
                networks, schemes_of(schemes), ["", *failures], draws,
                pairs=pairs, pattern=pattern, metrics=required_metrics(columns), loads=_numbers(loads),
                flow_control=flow_control.value, flows=flows, gap=gap, paths=paths,
            )
        ]  # fmt: skip
        say_pairs(networks, "--pairs from:h0 and sample:100000 take a fraction", pairs)
    except SpecError as error:
        raise UsageError(str(error)) from error
    with cluster.executor(dask) as executor, progress_bar(quiet=json) as progress:
        rows = grid.compare(
            wanted, results, workers=workers or None, progress=progress, on_compile=progress.compiling,
            executor=executor,
        )  # fmt: skip
    _write(rows, csv, parquet, report)
    if figures is not None:
        _draw(rows, figures, names, width, font)
    shown = expand_columns(columns)
    if figure is not None:
        first = next(one for one in shown if one != "latency.load")
        _draw_one(rows, "" if metrics == _METRICS else first, names, figure, width, font)
    _check_columns(rows, shown)
    print_json(rows) if json else _show_rows(rows, shown)
    if not json:
        computed = required_metrics(shown)
        _say_what_holds(rows, computed, models(computed, Conditions(flows=flows)))
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


def _draw(
    rows: Sequence[dict[str, Any]], folder: Path, names: Mapping[str, str], width: float, font: float
) -> None:
    """Write the figures of the report, one file each, numbered in their order."""
    from dcnlab.evaluator.reporting.comparison import charts
    from dcnlab.evaluator.reporting.labels import relabelled
    from dcnlab.evaluator.reporting.plots import Look, save

    folder.mkdir(parents=True, exist_ok=True)
    drawn = charts([row for row in rows if "error" not in row])
    for number, chart in enumerate(drawn, 1):
        words = "-".join(re.findall("[a-z0-9]+", chart.title.lower()))
        save(relabelled(chart, names), folder / f"{number:02}-{words[:80]}.pdf", Look(width, font))
    print(f"{counted(len(drawn), 'figure')} in {folder}", file=sys.stderr)


def _networks(topologies: str, equal: Equal | None) -> list[str]:
    """The topologies; with ``equal`` the instances of families that equal the first."""
    named = split_specs(topologies)
    if equal is None or not named:
        return named
    from dcnlab.evaluator.cost import read_prices
    from dcnlab.evaluator.sizing import equal_to

    return equal_to(named[0], named[1:], equal.value, read_prices())


def _draw_one(
    rows: Sequence[dict[str, Any]], column: str, names: Mapping[str, str], path: Path, width: float, font: float
) -> None:
    """Write the figure with all networks on one axis, and print its caption."""
    from dcnlab.evaluator.reporting.conditions import PER_SERVER, chart
    from dcnlab.evaluator.reporting.plots import Look, publish

    good = [row for row in rows if "error" not in row]
    chosen = column or (PER_SERVER if any("throughput.aggregate" in row for row in good) else "path.mean")
    drawn = chart(good, chosen)
    print(f"{path}: {drawn.y_label}; {publish(drawn, path, Look(width, font), names)}", file=sys.stderr)


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

    pairs = combinations(rows)
    varied = [key for key in ("traffic", "load") if len({getattr(one, key) for one in pairs}) > 1]
    if "latency.load" in columns:  # which says the same
        varied = [key for key in varied if key != "load"]
    header = ["topology", "scheme", *varied, "failures", "seeds", *columns]
    lines = [
        [one.topology, one.scheme, *(cell(getattr(one, key)) for key in varied), one.failures or "none",
         str(len(one.rows)), *(written(one.value(column)) for column in columns)]
        for one in pairs
    ]  # fmt: skip
    table(header, lines)


def _say_what_holds(rows: Sequence[dict[str, Any]], metrics: Sequence[str], models: Mapping[str, str]) -> None:
    """Print the model of each metric, where links get more than they carry, and which links failed."""
    from dcnlab.evaluator.averages import combinations
    from dcnlab.evaluator.graph.failures import note
    from dcnlab.evaluator.metrics import warning

    for name in metrics:
        if name in models:
            print(f"{name}: {models[name]}")
        for one in combinations(rows):
            figures = {
                key: mean.mean
                for key in ("busiest_link", "load", "flows", "packets", "throughput")
                if (mean := one.average(f"{name}.{key}"))
            }
            if figures and (said := warning(name, figures)):
                print(f"{name} of {one.scheme} on {one.topology}: {said}")
    if said := note({row["failures"] for row in rows}):
        print(said)


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
