"""``dcnlab traffic``: flows by a pattern in a running lab, and beside them what the evaluator predicts."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from dcnlab.cli.app import command
from dcnlab.cli.parameters import options
from dcnlab.cli.parameters.arguments import LabName
from dcnlab.cli.parameters.durations import duration
from dcnlab.cli.show import JsonFlag, print_json, table, working
from dcnlab.lab.client import Lab
from dcnlab.lab.measurement.traffic import DEFAULT_LOAD, DEFAULT_SECONDS, Traffic, bins_table


class Transport(StrEnum):
    """The transport of flows."""

    tcp = "tcp"
    udp = "udp"
    mptcp = "mptcp"


@command(
    "dcnlab traffic LAB permutation --for 5s",
    "dcnlab traffic LAB incast --count 2 --sizes fixed:100K",
    "dcnlab traffic LAB all-to-all --sizes websearch:scale=0.1 --load 0.6 --predict",
    custom=True,
)
def traffic(
    lab: LabName,
    pattern: Annotated[
        str,
        typer.Argument(help="Who sends to whom: permutation, incast, all-to-all, ..., or a file of pairs."),
    ],
    sizes: options.FlowSizes = "fixed:1M",
    load: Annotated[
        float | None,
        typer.Option(
            min=1e-6,
            max=100,
            help="What the busiest server sends or receives, as a multiple of the links' rate, with Poisson"
            f" arrivals. Without it and --count: {DEFAULT_LOAD} where links have a rate.",
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        duration(
            f"How long flows arrive, by default {DEFAULT_SECONDS:g} s. Without a load: flows are sent again"
            " until then, by default once.",
            "--for",
        ),
    ] = None,
    count: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1_000_000,
            help="Instead of a load: flows of each pair, all at once; 1 where links have no rate.",
        ),
    ] = None,
    transport: Annotated[Transport, typer.Option(help="The transport protocol.")] = Transport.tcp,
    cc: Annotated[
        str,
        typer.Option(help="TCP's congestion control, such as cubic, bbr or dctcp; by default the kernel's."),
    ] = "",
    seed: options.Seed = 1,
    timeout: Annotated[
        float,
        duration("Deadline after the last flow starts; unfinished flows fail.", "--timeout"),
    ] = 10.0,
    predict: Annotated[
        bool,
        typer.Option(
            "--predict",
            help="Also show what the evaluator predicts (max-min fair shares), and the optimum of any routing.",
        ),
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Send flows by a pattern in a running lab: completion times, and slowdowns against the ideal.

    `dcnlab throughput TOPOLOGY --scheme SCHEME --traffic help` lists the patterns. Exit 1 if a flow failed.
    """  # fmt: skip
    from dcnlab.cli.from_classes import measurements as measurement_commands

    wanted = Traffic(pattern, sizes, load, seconds, count, transport.value, cc, seed, timeout)
    wanted.check()
    wanted.check_files()
    if not predict:
        raise measurement_commands.run(lab, wanted, json)
    from dcnlab.experiments.prediction import predicted

    attached = Lab.attach(lab)
    result = measurement_commands.with_bar(lab, wanted, json)
    with working("predicting"):
        bins, throughput = predicted(attached, wanted, result)
    if json:
        beside = throughput and {"measured_mbps": result.mbps, **vars(throughput)}
        additions = {"predicted": [vars(one) for one in bins], "throughput": beside, "held": result.held}
        print_json({**result.to_json(), **additions})
    else:
        bins_shown = bins_table(result.bins, ("predicted", bins))
        table(bins_shown.columns, bins_shown.rows)
        for line in (*result.lines(), *([throughput.line(result.mbps)] if throughput else [])):
            print(line)
    raise typer.Exit(0 if result.held else 1)
