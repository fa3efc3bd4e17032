"""``dcnlab path``: the path of a packet."""

from __future__ import annotations

from typing import Annotated

import typer

from dcnlab.cli.app import command
from dcnlab.cli.parameters.arguments import SchemeName, Topology
from dcnlab.cli.show import JsonFlag, print_json, table
from dcnlab.lab import naming
from dcnlab.lab.errors import LabError
from dcnlab.lab.options.config import resolve
from topos.graph import ALL_UP


@command("dcnlab path bcube:4,1 --scheme brp h0 h15")
def path(
    spec: Topology,
    scheme: SchemeName,
    a: Annotated[str, typer.Argument(metavar="A", help="The sender.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The receiver.")],
    json: JsonFlag = False,
) -> None:
    """Show the path of a packet from A to B, and the reason for each hop."""
    from dcnlab.lab.inspection.explain import steps

    fabric, bound = resolve(spec, scheme)
    hops = steps(bound, naming.server(fabric, a, bound), naming.server(fabric, b, bound), ALL_UP)
    if json:
        print_json({"path": [step.node for step in hops], "reasons": [step.reason for step in hops]})
    else:
        table(("node", "action"), [(step.node, step.reason) for step in hops])
    if not hops[-1].delivered:
        raise LabError(f"not delivered: {hops[-1].reason}")
