"""Arguments that commands share: labs, nodes, topologies, schemes."""

from __future__ import annotations

from typing import Annotated

import typer

from dcnlab.cli.parameters import completion

LabName = Annotated[
    str,
    typer.Argument(autocompletion=completion.labs, metavar="LAB", help="Name of a lab (see `dcnlab ps`)."),
]

LabOrTopology = Annotated[
    str,
    typer.Argument(
        metavar="LAB|TOPOLOGY",
        help="The name of a running lab, or a topology.",
        autocompletion=completion.labs_and_topologies,
    ),
]

Topology = Annotated[
    str,
    typer.Argument(
        metavar="TOPOLOGY",
        help="A topology: bcube:4,1 (see `dcnlab list`), file:net.graphml, topo.py:MyTopo.",
        autocompletion=completion.topologies,
    ),
]

SchemeName = Annotated[
    str, typer.Option("--scheme", help="The routing scheme, such as brp.", autocompletion=completion.schemes)
]
