"""``dcnlab chaos``: random failures, and a check after each."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from dcnlab.cli.app import command
from dcnlab.cli.launching import stages
from dcnlab.cli.parameters import options
from dcnlab.cli.parameters.arguments import SchemeName, Topology
from dcnlab.cli.parameters.durations import duration
from dcnlab.cli.parameters.lab_options import of_labs
from dcnlab.cli.show import JsonFlag, print_json, table
from dcnlab.lab.options.config import LabConfig


@command(
    "dcnlab chaos bcube:4,1 --scheme brp --for 5m --seed 7",
    "dcnlab chaos dcell:4,1 --scheme dfr --link-state agents --steps 20",
    "dcnlab chaos bcube:4,1 --scheme brp --isolate --vandals",
    "dcnlab chaos clot:4x4 --scheme pow --autoconfigure --for 60s --save failing.yaml",
)
@of_labs
def chaos(
    topology: Topology,
    scheme: SchemeName = "shortest",
    seconds: Annotated[float, duration("How long.", "--for")] = 60.0,
    steps: Annotated[
        int | None, options.number("Number of steps, instead of a time.", 1, options.MAX_COUNT)
    ] = None,
    within: Annotated[
        float, options.number("Seconds that the lab may take to converge after a step.", 1, 1e6)
    ] = 60.0,
    shrink: Annotated[
        int,
        options.number(
            "After a failure, labs to launch at most to find fewer faults that still fail.",
            0,
            options.MAX_COUNT,
        ),
    ] = 40,
    vandals: Annotated[
        bool,
        typer.Option("--vandals", help="Guests spoil their hosts' interfaces, addresses and routes as well."),
    ] = False,
    save: Annotated[Path | None, options.output("Write the steps that fail into this scenario file.")] = None,
    json: JsonFlag = False,
    **lab_options: Any,
) -> None:
    """Cut, restore, kill, pause and slow down parts of a lab at random; check after each step what must hold.

    Once the lab has converged, exactly the servers that a path joins answer each other, no packet arrives
    twice or at a wrong server, none loops, and tables are as predicted.  Memory and open files of the lab's
    processes stay bounded.  If something does not hold, new labs try fewer faults; the smallest set that
    still fails is printed as a scenario file for `dcnlab run`.  --seed decides the steps.  Exit 1 if something
    did not hold.
    """
    from dcnlab.lab.chaos import targets
    from dcnlab.lab.chaos.run import LabSpec
    from dcnlab.lab.chaos.search import search

    config = LabConfig.of(topology, scheme, **lab_options)
    possible = targets.targets(config, config.validate().fabric, vandals)
    spec = LabSpec(topology, scheme, lab_options, within)
    with stages(quiet=json) as stage:
        report = search(spec, possible, config.seed, seconds, steps, shrink, _note, stage)
    if save is not None and not report.held:
        save.write_text(report.scenario, encoding="utf-8")
    print_json(report.to_json()) if json else _show(report, save)
    raise typer.Exit(0 if report.held else 1)


def _note(line: str) -> None:
    print(line, file=sys.stderr)


def _show(report: Any, save: Path | None) -> None:
    figures = {
        "steps": report.steps,
        "faults": report.faults,
        "pings": report.pings,
        "slowest convergence": f"{report.slowest_s:g} s",
        "time": f"{report.seconds:g} s",
        "result": "held" if report.held else f"failed: {', '.join(report.violated)}",
    }
    table(("figure", "value"), list(figures.items()))
    if report.held:
        return
    print("\n".join(report.lines))
    if report.tries and not report.repeated:
        print("the steps did not fail again: this failure is intermittent")
    print(f"wrote {save}" if save is not None else f"\n{report.scenario}", end="\n" if save else "")
