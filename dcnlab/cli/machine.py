"""Commands for a first look: doctor, which checks this machine, and demo."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from dcnlab.cli import options
from dcnlab.cli.app import app
from dcnlab.cli.running import stages
from dcnlab.cli.show import JsonFlag, print_json, table
from dcnlab.lab.client import Lab


@app.command()
def doctor(
    calibrate: Annotated[
        bool,
        typer.Option("--calibrate", help="Try TCP with and without offloads; later labs use the faster."),
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Check this machine and explain what is missing; exit 1 if labs cannot run."""
    from dcnlab.lab.calibration import calibrate_offloads
    from dcnlab.lab.doctor import examine

    found = examine()
    if calibrate and not any(finding.state == "missing" for finding in found):
        with stages(quiet=json) as stage:
            found.append(calibrate_offloads(stage))
    if json:
        print_json([asdict(finding) for finding in found])
    else:
        table(("state", "item", "found", "consequence"), [(f.state, f.what, f.found, f.means) for f in found])
    raise typer.Exit(1 if any(finding.state == "missing" for finding in found) else 0)


@app.command()
@options.of_labs
def demo(
    topology: Annotated[str, typer.Option(help="The topology.")] = "bcube:4,1",
    scheme: Annotated[str, typer.Option(help="The routing scheme.")] = "brp",
    json: JsonFlag = False,
    **lab_options: Any,
) -> None:
    """Run a lab: ping all pairs, run iperf3 through relays, fail a link under traffic, restore it."""
    from dcnlab.cli.demo import run

    lab = Lab(topology, scheme, **lab_options)
    with stages(quiet=json) as stage:
        result = run(lab, stage)
    print_json(result.figures) if json else table(("step", "result"), result.rows)
    raise typer.Exit(0 if result.held else 1)
