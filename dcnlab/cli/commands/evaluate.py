"""``dcnlab evaluate``: evaluate routing schemes offline."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from dcnlab.cli.app import command
from dcnlab.cli.parameters import cluster, options
from dcnlab.cli.parameters.arguments import Topology
from dcnlab.cli.parameters.durations import duration
from dcnlab.cli.parameters.pairs import say_pairs
from dcnlab.cli.parameters.spec_lists import schemes_of, words
from dcnlab.cli.show import JsonFlag, cell, print_json, short, table, working
from dcnlab.lab.errors import UsageError
from dcnlab.lab.options.link_shape import bits_per_second
from topos.spec import SpecError
from topos.words import counted

#: Into how many shares a cluster's work is divided, for each worker: the slowest waits for one of them.
_SHARES = 4


class Hops(StrEnum):
    """The unit of path length."""

    links = "links"
    servers = "servers"


class FailureKnowledge(StrEnum):
    """Whether routing is recomputed after failures."""

    yes = "yes"
    no = "no"


@command(
    "dcnlab evaluate bcube:4,1 --scheme brp,wmgr,shortest",
    "dcnlab evaluate dcube:8,1 --scheme dcube-shortest,wmgr --failures links=5%",
    "dcnlab evaluate bcube:8,2 --scheme brp --pairs sample:2000 --metrics loads,throughput",
    "dcnlab evaluate torus:64x64x64 --scheme wmgr --pairs sample:100000 --dask tls://10.0.0.1:8786",
    "dcnlab evaluate fattree:4 --scheme ecmp --metrics fct --traffic permutation --sizes websearch --for 20s",
)
def evaluate(
    topology: Topology,
    scheme: Annotated[
        str,
        typer.Option(
            help="Comma-separated schemes (default: distances only); optimal adds what any routing could carry."
        ),
    ] = "",
    pairs: options.Pairs = "servers",
    failures: Annotated[
        str,
        typer.Option(help="Random failures, such as switch-links=5%,nodes=2; links are those of servers too."),
    ] = "",
    seed: options.Seed = 1,
    failure_knowledge: Annotated[
        FailureKnowledge, typer.Option(help="Whether routing is recomputed after failures.")
    ] = FailureKnowledge.yes,
    hops: Annotated[Hops, typer.Option(help="Path length in links, or in server hops.")] = Hops.links,
    metrics: Annotated[
        str,
        typer.Option(
            help="Comma-separated further metrics: bisection, diversity, connectivity, hyperbolicity,"
            " optimum, loads, throughput, share, latency, fct."
        ),
    ] = "",
    traffic: Annotated[
        str, typer.Option(help="Traffic pattern for throughput, optimum, share, latency and fct.")
    ] = "all-to-all",
    load: Annotated[
        float,
        typer.Option(
            help="Offered load, as a multiple of the link rate: per server for latency,"
            " of the busiest server for fct."
        ),
    ] = 0.5,
    flows: options.Flows = "hashed",
    gap: options.Gap = "1%",
    paths: options.Paths = "",
    flow_control: options.FlowControlOption = options.FlowControl.none,
    sizes: options.FlowSizes = "fixed:1M",
    seconds: Annotated[float, duration("For fct: how long flows arrive.", "--for")] = 10.0,
    rate: Annotated[str, typer.Option(help="For fct: bandwidth of every link, such as 100Mbit.")] = "1Gbit",
    dask: options.Dask = "",
    json: JsonFlag = False,
) -> None:
    """Evaluate routing schemes offline: delivery, path length, stretch, table entries and bits.

    With --dask the workers share the distances and path lengths; tables and further metrics are computed here.
    """
    from dcnlab.evaluator.evaluate import evaluate as run
    from dcnlab.evaluator.metrics import OF_OPTIMAL
    from dcnlab.evaluator.optimum.beside import OPTIMAL

    try:
        say_pairs([topology], "--pairs from:h0 and sample:100000 take a fraction", pairs)
        with cluster.executor(dask) as executor, working("evaluating") as progress:
            report = run(
                topology,
                schemes_of(scheme),
                pairs=pairs,
                failures=failures,
                seed=seed,
                failure_knowledge=failure_knowledge.value,
                hops=hops.value,
                metrics=words(metrics),
                traffic=traffic,
                load=load,
                flows=flows,
                gap=gap,
                paths=paths,
                flow_control=flow_control.value,
                sizes=sizes,
                seconds=seconds,
                rate=bits_per_second(rate),
                progress=progress,
                executor=executor,
                shares=_SHARES * cluster.workers(executor),
            ).as_dict()
    except SpecError as error:
        raise UsageError(str(error)) from error
    shown = (*words(metrics), *(name for name in OF_OPTIMAL if OPTIMAL in schemes_of(scheme)))
    print_json(report) if json else _show_report(report, tuple(dict.fromkeys(shown)))


def _show_report(report: dict[str, Any], metrics: tuple[str, ...]) -> None:
    """Print the figures of the fabric, of each scheme, and of each metric."""
    from dcnlab.evaluator.graph.failures import in_words
    from dcnlab.evaluator.metrics import warning

    sizes = {"server": report["servers"], "switch": report["switches"], "link": report["links"]}
    counts = ", ".join(counted(number, noun) for noun, number in sizes.items())
    print(f"{report['topology']}: {counts}; {counted(report['pair_count'], 'pair')} ({report['pairs']})")
    unit = "server hops" if report["hops"] == "servers" else report["hops"]
    unreachable = report["unreachable"]
    reached = (
        f", of connected pairs; {unreachable} of {counted(report['pair_count'], 'pair')} have no path"
        if unreachable
        else ""
    )
    print(f"diameter {report['diameter']}, mean distance {short(report['mean_distance'])} ({unit}){reached}")
    if report["failed_links"] or report["failed_nodes"]:
        print(in_words(report["failed_links"], report["failed_server_links"], report["failed_nodes"]))
    if report["schemes"]:
        _show_schemes(report["schemes"])
    for name in metrics:
        _show_metric(name, report)
        if name in report.get("models", {}):
            print(f"{name}: {report['models'][name]}")
        for scheme in report["schemes"]:
            if name in scheme and (said := warning(name, scheme[name])):
                print(f"{name} of {scheme['scheme']}: {said}")


def _show_schemes(schemes: Sequence[dict[str, Any]]) -> None:
    """Print a line per scheme: delivery, path length, stretch, table sizes."""
    table(
        (
            "scheme", "delivered", "path", "max", "stretch", "max", "<= 1", "<= 2", "entries", "max",
            "bits max", "label bits",
        ),
        [
            (
                s["scheme"], short(s["delivered"]), short(s["path"]["mean"]), s["path"]["max"],
                short(s["stretch"]["mean"]), short(s["stretch"]["max"]), short(s["stretch"]["cdf"]["1"]),
                short(s["stretch"]["cdf"]["2"]), short(s["table"]["entries_mean"]), s["table"]["entries_max"],
                s["table"]["bits_max"], s["table"]["label_bits_max"],
            )
            for s in schemes
        ],
    )  # fmt: skip


def _show_metric(name: str, report: dict[str, Any]) -> None:
    """Print the figures of a metric: of the fabric, or of each scheme."""
    named = [("", report)] if name in report else [(s["scheme"], s) for s in report["schemes"]]
    if named and "bins" in named[0][1][name]:
        _show_bins(name, named)
    elif named:
        keys = list(named[0][1][name])
        print()
        if not named[0][0]:  # a line per figure: their names are long
            table((name, "value"), [(key, cell(report[name][key])) for key in keys])
        else:
            table((name, *keys), [(label, *(cell(of[name][key]) for key in keys)) for label, of in named])


def _show_bins(name: str, named: Sequence[tuple[str, dict[str, Any]]]) -> None:
    """Print the figures of each scheme by flow size, the bins that `dcnlab traffic` has, too."""
    rows = [(label, *map(cell, one.values())) for label, of in named for one in of[name]["bins"]]
    print()
    table((name, *named[0][1][name]["bins"][0]), rows)
