"""``dcnlab exec``: run a program in a node."""

from __future__ import annotations

from typing import Annotated

import typer

from dcnlab.cli.app import command
from dcnlab.cli.arguments import LabName, NodeName
from dcnlab.lab.client import Lab
from dcnlab.lab.foreground import run_here


@command(
    "dcnlab exec LAB h1 ping -c3 h7",
    "dcnlab exec LAB h1 bash",
    "dcnlab exec LAB s0 ovs-ofctl -O OpenFlow13 dump-flows s0",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    quick=True,
)
def exec(
    lab: LabName,
    node: NodeName,
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="COMMAND...", help="Program and arguments; names of servers become their addresses."
        ),
    ],
) -> None:
    """Run a program in a node of a lab, such as `ping -c3 h7` in h1."""
    words = words[1:] if words[:1] == ["--"] else words
    raise typer.Exit(run_here(Lab.attach(lab).path, node, words))
