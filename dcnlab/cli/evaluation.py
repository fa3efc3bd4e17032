"""Commands that evaluate and compare routing schemes offline."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from dcnlab.cli import options
from dcnlab.cli.app import app
from dcnlab.cli.show import JsonFlag, print_json, progress_bar, table, working
from dcnlab.cli.topologies import Topology
from dcnlab.lab.errors import UsageError
from topos.spec import SpecError, lookup, split_spec

_METRICS = "delivered,path.mean,path.max,stretch.mean,table.entries_max,table.bits_max"


class Hops(StrEnum):
    """The unit of path length."""

    links = "links"
    servers = "servers"


class FailureKnowledge(StrEnum):
    """Whether routing is recomputed after failures."""

    yes = "yes"
    no = "no"


@app.command()
def evaluate(
    topology: Topology,
    scheme: Annotated[str, typer.Option(help="Comma-separated schemes (default: distances only).")] = "",
    pairs: options.Pairs = "servers",
    failures: Annotated[
        str, typer.Option(help="Random failures, as shares or numbers: links=5%,nodes=2.")
    ] = "",
    seed: options.Seed = 1,
    failure_knowledge: Annotated[
        FailureKnowledge, typer.Option(help="Whether routing is recomputed after failures.")
    ] = FailureKnowledge.yes,
    hops: Annotated[Hops, typer.Option(help="Path length in links, or in server hops.")] = Hops.links,
    metrics: Annotated[
        str,
        typer.Option(help="Comma-separated further metrics: bisection, diversity, loads, throughput, latency."),
    ] = "",
    traffic: Annotated[str, typer.Option(help="Traffic pattern for throughput and latency.")] = "all-to-all",
    load: Annotated[
        float, typer.Option(help="Offered load per server for latency, as a multiple of the link rate.")
    ] = 0.5,
    json: JsonFlag = False,
) -> None:
    """Evaluate routing schemes offline: delivery, path length, stretch, table entries and bits."""
    from dcnlab.evaluator.evaluate import evaluate as run

    try:
        with working("evaluating"):
            report = run(
                topology,
                schemes_of(scheme),
                pairs=pairs,
                failures=failures,
                seed=seed,
                failure_knowledge=failure_knowledge.value,
                hops=hops.value,
                metrics=_words(metrics),
                traffic=traffic,
                load=load,
            ).as_dict()
    except SpecError as error:
        raise UsageError(str(error)) from error
    print_json(report) if json else _show_report(report, _words(metrics))


def _show_report(report: dict[str, Any], metrics: tuple[str, ...]) -> None:
    """Print the figures of the fabric, of each scheme, and of each metric."""
    counts = f"{report['servers']} servers, {report['switches']} switches, {report['links']} links"
    print(f"{report['topology']}: {counts}; {report['pair_count']} pairs ({report['pairs']})")
    unit = "server hops" if report["hops"] == "servers" else report["hops"]
    print(f"diameter {report['diameter']}, mean distance {_short(report['mean_distance'])} ({unit})")
    if report["failures"]:
        print(f"failed: {report['failed_links']} links; {report['failed_nodes']} nodes lost all links")
    if report["schemes"]:
        _show_schemes(report["schemes"])
    for name in metrics:
        _show_metric(name, report)


def _show_schemes(schemes: Sequence[dict[str, Any]]) -> None:
    """Print a line per scheme: delivery, path length, stretch, table sizes."""
    table(
        (
            "scheme", "delivered", "path", "max", "stretch", "max", "<= 1", "<= 2", "entries", "max",
            "bits max", "label bits",
        ),
        [
            (
                s["scheme"], _short(s["delivered"]), _short(s["path"]["mean"]), s["path"]["max"],
                _short(s["stretch"]["mean"]), _short(s["stretch"]["max"]), _short(s["stretch"]["cdf"]["1"]),
                _short(s["stretch"]["cdf"]["2"]), _short(s["table"]["entries_mean"]), s["table"]["entries_max"],
                s["table"]["bits_max"], s["table"]["label_bits_max"],
            )
            for s in schemes
        ],
    )  # fmt: skip


def _show_metric(name: str, report: dict[str, Any]) -> None:
    """Print the figures of a metric: of the fabric, or of each scheme."""
    named = [("", report)] if name in report else [(s["scheme"], s) for s in report["schemes"]]
    if named:
        keys = list(named[0][1][name])
        heading = (name, *keys) if named[0][0] else tuple(f"{name} {key}" for key in keys)
        rows = [(*filter(None, [label]), *(_cell(of[name][key]) for key in keys)) for label, of in named]
        print()
        table(heading, rows)


def _words(text: str) -> tuple[str, ...]:
    """The comma-separated words, without duplicates."""
    return tuple(dict.fromkeys(filter(None, (part.strip() for part in text.split(",")))))


@app.command()
def compare(
    topologies: Annotated[str, typer.Option(help="Comma-separated topologies.")],
    schemes: Annotated[str, typer.Option(help="Comma-separated schemes.")],
    failures: Annotated[
        list[str], typer.Option(help="Random failures, such as links=5%; may be repeated.")
    ] = [],  # noqa: B006
    seeds: Annotated[int, options.number("Number of seeds.", 1, options.MAX_COUNT)] = 1,
    pairs: options.Pairs = "servers",
    traffic: Annotated[
        str, typer.Option(help="Also compute max-min fair rates under this traffic pattern.")
    ] = "",
    metrics: Annotated[
        str,
        typer.Option(
            help="Comma-separated columns to show; bisection, diversity, loads, throughput and latency"
            " are computed only if named."
        ),
    ] = _METRICS,
    loads: Annotated[
        str,
        typer.Option(help="For latency: comma-separated loads, as multiples of the link rate."),
    ] = "0.5",
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
    dask: Annotated[str, typer.Option(help="Run on this Dask scheduler, such as tcp://host:8786.")] = "",
    workers: options.Workers = 0,
    json: JsonFlag = False,
) -> None:
    """Compare schemes on topologies over failures and seeds, in parallel; resumes an interrupted run."""
    from dcnlab.evaluator import compare as grid
    from dcnlab.evaluator.metrics import expand_columns, required_metrics

    columns = _words(metrics)
    try:
        if parquet is not None:
            grid.check_parquet()
        wanted = grid.requests(
            split_specs(topologies), schemes_of(schemes), ["", *failures], range(1, seeds + 1),
            pairs=pairs, pattern=traffic, metrics=required_metrics(columns), loads=_numbers(loads),
        )  # fmt: skip
    except SpecError as error:
        raise UsageError(str(error)) from error
    with _executor(dask) as executor, progress_bar(quiet=json) as progress:
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
    from dcnlab.evaluator import compare as grid
    from dcnlab.evaluator.reporting.report import comparison

    if csv is not None:
        grid.write_csv(rows, csv)
    if parquet is not None:
        grid.write_parquet(rows, parquet)
    if html is not None:
        html.write_text(comparison(rows))


def _draw(rows: Sequence[dict[str, Any]], folder: Path) -> None:
    """Write the figures of the report, one file each, numbered in their order."""
    from dcnlab.evaluator.reporting.plots import save
    from dcnlab.evaluator.reporting.report import charts

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
    """Print the parameters of each row and the requested columns."""
    shown = ["topology", "scheme", "failures", "seed", *columns]
    table(shown, [[_cell(row.get(column)) for column in shown] for row in rows])


def _print_errors(rows: Sequence[dict[str, Any]]) -> bool:
    """Print the failed evaluations to standard error; returns True if there are any."""
    failed = [row for row in rows if "error" in row]
    for row in failed:
        print(f"{row['topology']} {row['scheme']}: {row['error']}", file=sys.stderr)
    return bool(failed)


@contextmanager
def _executor(address: str) -> Iterator[Any]:
    """The executor of a Dask scheduler, or None to use local processes."""
    if not address:
        yield None
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise UsageError("--dask needs the package: pip install 'dcnlab[dask]'") from error
    try:
        client = Client(address, timeout="10s")
    except (OSError, ValueError) as error:
        raise UsageError(f"no Dask scheduler answers at {address}") from error
    with client:
        yield client.get_executor()


def _cell(value: Any) -> str:
    return _short(value) if isinstance(value, float) else "-" if value is None else str(value)


def _numbers(text: str) -> tuple[float, ...]:
    try:
        numbers = tuple(map(float, _words(text)))
    except ValueError:
        numbers = ()
    if not numbers:
        raise UsageError(f"--loads takes numbers, not {text!r}: write 0.2,0.5,1")
    return numbers


def split_specs(text: str) -> list[str]:
    """Split comma-separated specifications such as ``bcube:4,1,wmgr,ksp:k=8``, without duplicates.

    A part that is a number, sizes or ``key=value`` belongs to the specification before it.
    """
    specs: list[str] = []
    for part in text.split(","):
        if specs and ":" not in part and ("=" in part or part[:1].isdecimal()):
            specs[-1] += f",{part}"
        elif part.strip():
            specs.append(part.strip())
    return list(dict.fromkeys(specs))


def schemes_of(text: str) -> list[str]:
    """The specifications of schemes in ``text``; raises SpecError for an unknown scheme."""
    from addressing import registry

    specs = split_specs(text)
    for spec in specs:
        lookup(split_spec(spec)[0], registry.known(), "scheme")
    return specs


def _short(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
