"""The command that holds real next hops against the rule."""

from __future__ import annotations

from typing import Annotated

import typer

from dcnlab.cli.app import app
from dcnlab.cli.running import LabName
from dcnlab.cli.show import JsonFlag, print_json, table
from dcnlab.lab.client import Lab

#: Below this probability of so much difference by chance, agents do not follow the rule.
_UNLIKELY = 0.001


@app.command()
def next_hops(
    lab: LabName,
    a: Annotated[str, typer.Argument(metavar="A", help="The server that sends.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The server that receives.")],
    packets: Annotated[int, typer.Option(min=1, help="How many, each a flow of its own.")] = 2000,
    json: JsonFlag = False,
) -> None:
    """Count by which next hops packets really go, against the scheme's probabilities (chi-square).

    Exit 1 when such a difference is less likely than 1 in 1000.  The lab must be quiet.
    """
    found = Lab.attach(lab).ask("next_hops", a=a, b=b, packets=packets)
    held = found["p"] is None or found["p"] >= _UNLIKELY
    if json:
        print_json({**found, "held": held})
    else:
        rows = [
            (s["server"], s["port"], s["towards"], f"{s['share']:.4f}", f"{s['rule']:.4f}")
            for s in found["shares"]
        ]
        table(("server", "port", "towards", "share", "rule"), rows)
        if found["p"] is not None:
            print(f"chi-square {found['statistic']} at {found['freedom']} degrees of freedom, p = {found['p']}")
    raise typer.Exit(0 if held else 1)
