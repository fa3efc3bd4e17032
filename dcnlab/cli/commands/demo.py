"""``dcnlab demo``: a lab, its measurements and a link failure in one run."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dcnlab.cli.app import command
from dcnlab.cli.launching import stages
from dcnlab.cli.parameters.lab_options import of_labs
from dcnlab.cli.show import JsonFlag, print_json, table
from dcnlab.lab.client import Lab


@command("dcnlab demo", "dcnlab demo --topology clot:4x4 --scheme pow")
@of_labs
def demo(
    topology: Annotated[str, typer.Option(help="The topology.")] = "bcube:4,1",
    scheme: Annotated[str, typer.Option(help="The routing scheme.")] = "brp",
    json: JsonFlag = False,
    **lab_options: Any,
) -> None:
    """Run a lab: ping all pairs, run iperf3 through relays, fail a link under traffic, restore it."""
    from dcnlab.cli.demonstration import run

    lab = Lab(topology, scheme, **lab_options)
    with stages(quiet=json) as stage:
        result = run(lab, stage)
    print_json(result.figures) if json else table(("step", "result"), result.rows)
    raise typer.Exit(0 if result.held else 1)
