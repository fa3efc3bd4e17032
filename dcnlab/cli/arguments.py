"""Arguments that commands share: labs, nodes, topologies, schemes."""

from __future__ import annotations

from typing import Annotated

import typer

from dcnlab.cli import completion

LabName = Annotated[
    str,
    typer.Argument(autocompletion=completion.labs, metavar="LAB", help="Name of a lab (see `dcnlab ps`)."),
]

NodeName = Annotated[
    str,
    typer.Argument(
        metavar="NODE",
        help="h3, s0, coordinates such as '(1,1)', or an IPv4 address.",
        autocompletion=completion.nodes,
    ),
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
        help="A topology, such as bcube:4,1 (see `dcnlab list`).",
        autocompletion=completion.topologies,
    ),
]

SchemeName = Annotated[
    str, typer.Option("--scheme", help="The routing scheme, such as brp.", autocompletion=completion.schemes)
]
