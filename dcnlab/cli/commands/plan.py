"""``dcnlab plan``: what a lab needs of this machine."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from dcnlab.cli.app import command
from dcnlab.cli.arguments import Topology
from dcnlab.cli.show import JsonFlag, print_json, table
from dcnlab.lab.config import LabConfig, family
from dcnlab.lab.emulation.capacity import Need, is_too_large, needs
from topos import registry
from topos.fabric import Fabric

_AGENTS_HELP = "One agent process per server (host), or one per core (workers)."


@command("dcnlab plan bcube:16,2 --scheme brp", "dcnlab plan torus:16x16x16 --agents workers --json")
def plan(
    spec: Topology,
    scheme: Annotated[str, typer.Option(help="The routing scheme.")] = "shortest",
    agents: Annotated[str, typer.Option(help=_AGENTS_HELP)] = "host",
    json: JsonFlag = False,
) -> None:
    """Show what a lab needs and whether this machine has it; exit 1 if it does not fit."""
    found = needs(_fabric(LabConfig.of(spec, scheme, "plan", agents=agents)), agents == "host")
    fits = all(need.fits for need in found)
    if json:
        rows = [{**asdict(need), "fits": need.fits} for need in found]
        print_json({"topology": spec, "scheme": scheme, "fits": fits, "needs": rows})
    else:
        table(("resource", "needed", "available", "limit", "fits"), map(_row, found))
    raise typer.Exit(0 if fits else 1)


def _fabric(config: LabConfig) -> Fabric:
    """The network; a scheme is bound to it, and so checked, only if that does not take minutes."""
    if is_too_large(family(config.topology)):
        return registry.fabric(config.topology)
    return config.validate().fabric


def _row(need: Need) -> tuple[str, ...]:
    """A row of the table, with memory in MB."""
    in_mb = need.resource.endswith("(bytes)")
    shown = (
        "no limit" if value is None else f"{value >> 20:,} MB" if in_mb else f"{value:,}"
        for value in (need.needed, need.available)
    )
    return need.resource.removesuffix(" (bytes)"), *shown, need.limit, "yes" if need.fits else "NO"
