"""``dcnlab doctor``: check this machine."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from dcnlab.cli.app import command
from dcnlab.cli.launching import stages
from dcnlab.cli.show import JsonFlag, print_json, table


@command("dcnlab doctor", "dcnlab doctor --calibrate")
def doctor(
    calibrate: Annotated[
        bool,
        typer.Option("--calibrate", help="Try TCP with and without offloads; later labs use the faster."),
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Check this machine and explain what is missing; exit 1 if labs cannot run."""
    from dcnlab.lab.calibration import calibrate_offloads
    from dcnlab.lab.doctor import examine, examine_labs

    found = examine()
    if calibrate and not any(finding.state == "missing" for finding in found):
        with stages(quiet=json) as stage:
            found.append(calibrate_offloads(stage))
    found += examine_labs()
    if json:
        print_json([asdict(finding) for finding in found])
    else:
        table(("state", "item", "found", "consequence"), [(f.state, f.what, f.found, f.means) for f in found])
    raise typer.Exit(1 if any(finding.state == "missing" for finding in found) else 0)
