"""Commands about this machine and for a first look: doctor, demo."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from dcnlab.cli.app import app
from dcnlab.cli.running import stages
from dcnlab.cli.show import JsonFlag, print_json, table


@app.command()
def doctor(
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Try what cannot be looked up; later labs use what is best.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Say what this machine has and what each lack means; exit 1 when labs cannot run."""
    from dcnlab.lab.calibration import calibrate_offloads
    from dcnlab.lab.doctor import examine

    found = examine()
    if calibrate and not any(finding.state == "missing" for finding in found):
        with stages(quiet=json) as stage:
            found.append(calibrate_offloads(stage))
    if json:
        print_json([asdict(finding) for finding in found])
    else:
        table(("", "what", "found", "which means"), [(f.state, f.what, f.found, f.means) for f in found])
    raise typer.Exit(1 if any(finding.state == "missing" for finding in found) else 0)


@app.command()
def demo(
    topology: Annotated[str, typer.Option(help="The network.")] = "bcube:4,1",
    scheme: Annotated[str, typer.Option(help="The routing scheme.")] = "brp",
    json: JsonFlag = False,
) -> None:
    """Run a data centre: ping all pairs, iperf3 through relays, cut a link under traffic, heal it."""
    from dcnlab.cli.demo import run

    with stages(quiet=json) as stage:
        result = run(topology, scheme, stage)
    print_json(result.figures) if json else table(("what", "measured"), result.rows)
    raise typer.Exit(0 if result.held else 1)
