"""``dcnlab list``: topologies and schemes."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dcnlab.cli import completion
from dcnlab.cli.app import command
from dcnlab.cli.show import JsonFlag, print_json, table


@command("dcnlab list", "dcnlab list bcube", "dcnlab list brp", name="list", custom=True, quick=True)
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
