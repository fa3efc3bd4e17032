"""``dcnlab topology``: the nodes, ports and links of a network."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer

from dcnlab.cli.app import command
from dcnlab.cli.parameters.arguments import Topology
from dcnlab.cli.show import JsonFlag, StdoutState, harmless, table
from topos.fabric import Fabric
from topos.files.export import WRITERS, json_text


class Format(StrEnum):
    """The formats in which networks are written."""

    json = "json"
    graphml = "graphml"
    gml = "gml"
    dot = "dot"
    mermaid = "mermaid"
    svg = "svg"


@command(
    "dcnlab topology bcube:4,1",
    "dcnlab topology file:petersen.edgelist --json",
    "dcnlab topology clot:4x4 --format svg > clot.svg",
)
def topology(
    spec: Topology,
    format: Annotated[
        Format | None,
        typer.Option(help="Print in a format for other programs; file:PATH reads json, graphml, gml and dot."),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Show a network: nodes, ports and links."""
    from dcnlab.cli.catalogue import fabric_of

    fabric = fabric_of(spec)
    if json:
        StdoutState.json = True
        sys.stdout.writelines(json_text(fabric))
    elif format:
        print(_written(fabric, format), end="")
    else:
        _show_network(fabric)


def _written(fabric: Fabric, format: Format) -> str:
    """A network in a format."""
    if format is Format.svg:
        from dcnlab.lab.drawing.svg import svg

        return svg(fabric)
    return WRITERS[format.value](fabric)


def _show_network(fabric: Fabric) -> None:
    """Print a line per node: its label, and the neighbour at each port."""
    counts = f"{fabric.servers} servers, {fabric.switches} switches, {len(fabric.link_ends)} links"
    print(f"{harmless(fabric.spec)}: {counts}")
    rows = (
        (
            node.name,
            node.label,
            " ".join(f"{port}:{fabric.name(end.node)}" for port, end in fabric.ports(node.index)),
        )
        for node in fabric.nodes()
    )
    table(("node", "label", "port:neighbour"), rows)
