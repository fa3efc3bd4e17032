"""``dcnlab sweep``: throughput, delivery and path length over shares of failures."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dcnlab.cli.app import command
from dcnlab.cli.parameters import cluster, options
from dcnlab.cli.parameters.pairs import say_pairs
from dcnlab.cli.parameters.spec_lists import schemes_of
from dcnlab.cli.show import JsonFlag, print_json, progress_bar, table
from dcnlab.lab.errors import UsageError
from topos.spec import SpecError


class Per(StrEnum):
    """What the ABT of the figure is divided by."""

    auto = ""
    network = "network"
    server = "server"
    cost = "cost"


@command(
    "dcnlab sweep hdcube:8,1 bcube:8,1 --failures servers,links --figure sweep.pdf",
    "dcnlab sweep hdcube:8,1 bcube:8,1 --per cost --figure per-dollar.pdf",
)
def sweep(
    topologies: Annotated[list[str], typer.Argument(metavar="TOPOLOGY...", help="One or more topologies.")],
    scheme: Annotated[
        str,
        typer.Option(
            help="Comma-separated schemes; each topology uses the first that fits. optimal adds the optimum."
        ),
    ] = "ecmp",
    failures: Annotated[
        str,
        typer.Option(
            help="Comma-separated kinds: servers, switches, links, switch-links, server-links, nodes."
        ),
    ] = "servers,switches,links",
    to: Annotated[str, typer.Option(help="The largest share of failures.")] = "20%",
    steps: Annotated[int, options.number("Number of shares above 0.", 1, options.MAX_COUNT)] = 4,
    seeds: options.Seeds = "8",
    flows: options.Flows = "hashed",
    gap: options.Gap = "1%",
    paths: options.Paths = "",
    figure: options.Figure = None,
    per: Annotated[
        Per,
        typer.Option(
            help="In the figure, ABT per server, per cost (1000 dollars) or of the network"
            " [default: per server where the networks differ in size].",
            show_default=False,
        ),
    ] = Per.auto,
    label: options.Label = [],  # noqa: B006
    width: options.Width = 0.0,
    font: options.Font = 9.0,
    results: options.Results = Path("results"),
    csv: options.Csv = None,
    dask: options.Dask = "",
    workers: options.Workers = 0,
    json: JsonFlag = False,
) -> None:
    """Sweep throughput, delivery and path length over shares of failures; resumes an interrupted run.

    The caption of --figure goes to standard error.
    """
    from dcnlab.evaluator import compare
    from dcnlab.evaluator import sweep as sweeps
    from dcnlab.evaluator.graph.failures import note
    from dcnlab.evaluator.metrics import Conditions, models
    from dcnlab.evaluator.reporting import tables
    from dcnlab.evaluator.reporting.labels import read as read_labels
    from dcnlab.evaluator.seeds import read as read_seeds

    kinds = list(dict.fromkeys(kind.strip() for kind in failures.split(",")))
    shares = [_share(to) * step / steps for step in range(steps + 1)]
    try:
        names = read_labels(label, topologies, schemes_of(scheme))
        wanted = sweeps.points(
            topologies, schemes_of(scheme), kinds, shares, read_seeds(seeds),
            flows=flows, gap=gap, paths=paths,
        )  # fmt: skip
        say_pairs(topologies, "`dcnlab evaluate` takes a fraction with --pairs sample:100000")
    except SpecError as error:
        raise UsageError(str(error)) from error
    with cluster.executor(dask) as executor, progress_bar(quiet=json) as progress:
        rows = compare.collect(
            sweeps.measure, wanted, results, workers=workers or None, progress=progress,
            on_compile=progress.compiling, executor=executor,
        )  # fmt: skip
    if csv is not None:
        tables.write_csv(rows, csv)
    good = [row for row in rows if "error" not in row]
    if figure is not None and good:
        from dcnlab.evaluator.reporting import plots  # matplotlib: only for figures

        try:
            drawn = sweeps.figure(good, kinds, per.value)
            print(f"{figure}: {plots.publish(drawn, figure, plots.Look(width, font), names)}", file=sys.stderr)
        except SpecError as error:
            raise UsageError(str(error)) from error
    if json:
        print_json(rows)
    else:
        summary = sweeps.summary(good)
        table(summary[0], summary[1:])
        print(models(["share"], Conditions(flows=flows))["share"])
        if said := note({f"{row['kind']}=1" for row in good if row["kind"]}):
            print(said)
    for row in rows:
        if "error" in row:
            print(f"{row['topology']} {row['kind']} {row['share']:g}: {row['error']}", file=sys.stderr)
    raise typer.Exit(1 if len(good) < len(rows) else 0)


def _share(text: str) -> float:
    try:
        share = float(text.removesuffix("%")) / 100
    except ValueError:
        share = -1.0
    if not 0 < share < 1:
        raise UsageError(f"--to {text}: write a percentage below 100, such as 20%")
    return share
