"""Commands that need no lab: list, topology, path, tables."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from dcnlab.cli import completion
from dcnlab.cli.app import app
from dcnlab.cli.show import JsonFlag, print_json, table
from dcnlab.lab import naming
from dcnlab.lab.config import resolve
from dcnlab.lab.errors import LabError, UsageError
from topos.export import WRITERS, document
from topos.fabric import Fabric
from topos.graph import ALL_UP

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


@app.command("list")
def list_(
    name: Annotated[
        str,
        typer.Argument(
            metavar="[NAME]",
            help="A topology or scheme: show its parameters.",
            autocompletion=completion.names,
        ),
    ] = "",
    json: JsonFlag = False,
) -> None:
    """List topologies and schemes, and which schemes run on which topologies."""
    from dcnlab.cli.catalogue import entry, schemes, topologies

    if name:
        row = entry(name)
        print_json(row) if json else _show_entry(row)
        return
    if json:
        print_json({"topologies": topologies(), "schemes": schemes()})
        return
    table(
        ("topology", "forwarding", "example", "servers", "switches", "schemes"),
        [
            (t["usage"], t["centric"], t["example"], t["servers"], t["switches"], " ".join(t["schemes"]))
            for t in topologies()
        ],
    )
    print()
    table(("scheme", "rule"), [(s["usage"], s["summary"]) for s in schemes()])


def _show_entry(row: dict[str, Any]) -> None:
    """Print a topology or a scheme with its parameters."""
    print(f"{row['usage']}: {row['summary'] if 'summary' in row else row['source']}")
    if "example" in row:
        print(f"example {row['example']}: {row['servers']} servers, {row['switches']} switches")
        print(f"schemes {' '.join(row['schemes'])}")
    else:
        print(f"from {row['source']}")
    if row["parameters"]:
        print()
        rows = [
            (p["name"], p["meaning"], p["values"], "required" if p["required"] else p["default"] or "-")
            for p in row["parameters"]
        ]
        table(("parameter", "meaning", "values", "default"), rows)


class Format(StrEnum):
    """The formats in which networks are written."""

    json = "json"
    graphml = "graphml"
    gml = "gml"
    dot = "dot"
    mermaid = "mermaid"
    svg = "svg"


@app.command()
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
        print_json(document(fabric))
    elif format:
        print(_written(fabric, format), end="")
    else:
        _show_network(fabric)


def _written(fabric: Fabric, format: Format) -> str:
    """A network in a format."""
    if format is Format.svg:
        from dcnlab.lab.view.svg import svg

        return svg(fabric)
    return WRITERS[format.value](fabric)


def _show_network(fabric: Fabric) -> None:
    """Print a line per node: its label, and the neighbour at each port."""
    print(f"{fabric.spec}: {fabric.servers} servers, {fabric.switches} switches, {len(fabric.link_ends)} links")
    rows = (
        (
            node.name,
            node.label,
            " ".join(f"{port}:{fabric.name(end.node)}" for port, end in fabric.ports(node.index)),
        )
        for node in fabric.nodes()
    )
    table(("node", "label", "port:neighbour"), rows)


@app.command()
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


@app.command()
def tables(
    where: LabOrTopology,
    node: Annotated[str, typer.Argument(metavar="NODE", help="h3, s0 or coordinates.")],
    scheme: Annotated[str, typer.Option(help="The routing scheme (for a topology).")] = "",
    json: JsonFlag = False,
) -> None:
    """Show the table of a node: the entries that the scheme predicts, and in a lab those installed."""
    from dcnlab.lab import runtime
    from dcnlab.lab.client import Lab
    from dcnlab.lab.inspection import tables

    if not scheme and any(lab.name == where for lab in runtime.labs()):
        result: dict[str, Any] = Lab.attach(where).tables(node)
    elif not scheme:
        raise UsageError(f"no lab {where} is running; for a topology give --scheme too")
    else:
        fabric, bound = resolve(where, scheme)
        predicted = tables.predicted(bound, naming.node(fabric, node, bound))
        result = {"node": node, "predicted": predicted, "installed": None, "equal": None}
    if json:
        print_json(result)
    else:
        print("\n".join(result["predicted"]))
        if result["installed"] is not None:
            print(f"{len(result['installed'])} installed, {'as' if result['equal'] else 'NOT as'} predicted")
    if result["equal"] is False:
        raise typer.Exit(1)
