"""``dcnlab list``: topologies and schemes."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dcnlab.cli import summaries
from dcnlab.cli.app import command
from dcnlab.cli.parameters import completion
from dcnlab.cli.show import JsonFlag, print_json, table
from topos.words import counted


@command("dcnlab list", "dcnlab list bcube", "dcnlab list brp", name="list", custom=True)
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
    if name:
        from dcnlab.cli.catalogue import entry  # all topologies and schemes

        row = entry(name)
        print_json(row) if json else _show_entry(row)
        return
    topologies, schemes = _rows()
    if json:
        print_json({"topologies": topologies, "schemes": schemes})
        return
    table(
        ("usage", "centric", "example", "servers", "switches", "schemes"),
        [
            (t["usage"], t["centric"], t["example"], t["servers"], t["switches"], " ".join(t["schemes"]))
            for t in topologies
        ],
    )
    print()
    table(("usage", "summary"), [(s["usage"], s["summary"]) for s in schemes])


def _rows() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Of topologies and of schemes; those of dcnlab's own are imported only where there are others."""
    from topos import plugins

    if not plugins.loaded() and not plugins.installed("dcnlab.topologies", "dcnlab.schemes"):
        return summaries.rows("topologies"), summaries.rows("schemes")
    from dcnlab.cli import catalogue

    return catalogue.topologies(), catalogue.schemes()


def _show_entry(row: dict[str, Any]) -> None:
    """Print a topology or a scheme with its parameters."""
    print(f"{row['usage']}: {row['summary'] if 'summary' in row else row['source']}")
    if "example" in row:
        sizes = f"{counted(row['servers'], 'server')}, {counted(row['switches'], 'switch')}"
        print(f"example {row['example']}: {sizes}")
        print(f"schemes {' '.join(row['schemes'])}")
    else:
        print(f"from {row['source']}")
    if row["parameters"]:
        print()
        rows = [
            (p["name"], p["meaning"], p["values"], "required" if p["required"] else p["default"] or "-")
            for p in row["parameters"]
        ]
        table(("name", "meaning", "values", "default"), rows)
