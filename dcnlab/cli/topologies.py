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

_WRITTEN = "Such as bcube:4,1 (see `dcnlab list`)."
LabOrTopology = Annotated[
    str,
    typer.Argument(
        metavar="LAB|TOPOLOGY",
        help="A running lab's name, or a topology.",
        autocompletion=completion.labs_and_topologies,
    ),
]
Topology = Annotated[
    str, typer.Argument(metavar="TOPOLOGY", help=_WRITTEN, autocompletion=completion.topologies)
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
            help="One topology or scheme, with its parameters.",
            autocompletion=completion.names,
        ),
    ] = "",
    json: JsonFlag = False,
) -> None:
    """List topologies with an example and its size, and which schemes fit which."""
    from dcnlab.cli.catalogue import entry, schemes, topologies

    if name:
        found = entry(name)
        print_json(found) if json else _show_entry(found)
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
    table(("scheme", "what it does"), [(s["usage"], s["summary"]) for s in schemes()])


def _show_entry(found: dict[str, Any]) -> None:
    """A topology or a scheme, and what its parameters mean."""
    print(f"{found['usage']}: {found['summary'] if 'summary' in found else found['source']}")
    if "example" in found:
        print(f"example {found['example']}: {found['servers']} servers, {found['switches']} switches")
        print(f"schemes {' '.join(found['schemes'])}")
    else:
        print(f"from {found['source']}")
    if found["parameters"]:
        print()
        rows = [
            (p["name"], p["meaning"], p["values"], "must be given" if p["required"] else p["default"] or "-")
            for p in found["parameters"]
        ]
        table(("parameter", "what it is", "values", "default"), rows)


class Format(StrEnum):
    """What a network is written as."""

    json = "json"
    graphml = "graphml"
    gml = "gml"
    dot = "dot"
    mermaid = "mermaid"
    svg = "svg"


@app.command()
def topology(
    spec: Topology,
    format: Annotated[  # the option's name
        Format | None,
        typer.Option(
            help="Write the network for other programs; file:PATH reads json, graphml, gml and dot back."
        ),
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
    """The text of a network in a format."""
    if format is Format.svg:
        from dcnlab.lab.view.svg import svg

        return svg(fabric)
    return WRITERS[format.value](fabric)


def _show_network(fabric: Fabric) -> None:
    """A line per node: its label, and the neighbour at each port."""
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
    a: Annotated[str, typer.Argument(metavar="A", help="The server that sends.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The server that receives.")],
    json: JsonFlag = False,
) -> None:
    """The way a packet takes from A to B, and why at each node."""
    from dcnlab.lab.inspection.explain import steps

    fabric, bound = resolve(spec, scheme)
    found = steps(bound, naming.server(fabric, a, bound), naming.server(fabric, b, bound), ALL_UP)
    if json:
        print_json({"path": [step.node for step in found], "reasons": [step.reason for step in found]})
    else:
        table(("node", "does"), [(step.node, step.reason) for step in found])
    if not found[-1].delivered:
        raise LabError(f"not delivered: {found[-1].reason}")


@app.command()
def tables(
    where: LabOrTopology,
    node: Annotated[str, typer.Argument(metavar="NODE", help="h3, s0 or coordinates.")],
    scheme: Annotated[str, typer.Option(help="The routing scheme (for a topology).")] = "",
    json: JsonFlag = False,
) -> None:
    """A node's table: as the scheme predicts it, and for a lab beside what is installed."""
    from dcnlab.lab import runtime
    from dcnlab.lab.client import Lab
    from dcnlab.lab.inspection import tables

    if not scheme and any(found.name == where for found in runtime.labs()):
        result: dict[str, Any] = Lab.attach(where).tables(node)
    elif not scheme:
        raise UsageError(f"{where} is no running lab: for a topology say --scheme")
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
