"""``dcnlab plan``: what a lab would need of this machine."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dcnlab.cli.app import command
from dcnlab.cli.arguments import Topology
from dcnlab.cli.show import JsonFlag, print_json, table

if TYPE_CHECKING:
    from dcnlab.lab.emulation.capacity import Requirement


class Agents(StrEnum):
    """How agents run, as ``dcnlab up --agents`` says it."""

    host = "host"
    workers = "workers"


@command("dcnlab plan bcube:8,3", "dcnlab plan torus:16x16x16 --agents workers --json")
def plan(
    spec: Topology,
    agents: Annotated[
        Agents, typer.Option(help="Agent processes: one per server (host), or one per core (workers).")
    ] = Agents.host,
    json: JsonFlag = False,
) -> None:
    """Say what a lab of a topology needs, and whether this machine has it; exit 1 if not.

    Memory is an estimate for a lab whose agents have all relayed packets.
    """
    from dcnlab.cli.catalogue import fabric_of
    from dcnlab.lab.emulation import capacity

    fabric = fabric_of(spec)
    found = capacity.requirements(fabric, agents.value)
    fits = all(requirement.fits for requirement in found)
    seconds = round(capacity.processor_seconds(fabric, agents.value), 1)
    if json:
        size = {"servers": fabric.servers, "switches": fabric.switches, "links": len(fabric.link_ends)}
        needs = [_as_json(requirement) for requirement in found]
        print_json({"topology": fabric.spec, **size, "processor_s": seconds, "fits": fits, "needs": needs})
    else:
        sizes = f"{fabric.servers:,} servers, {fabric.switches:,} switches, {len(fabric.link_ends):,} links"
        print(f"{fabric.spec}: {sizes}; about {seconds:,.0f} s of processor time to launch")
        table(("need", "of this lab", "here", "enough"), map(_row, found))
    raise typer.Exit(0 if fits else 1)


def _as_json(requirement: Requirement) -> dict[str, Any]:
    """As a JSON object; memory is in bytes."""
    values = {"needed": requirement.needed, "available": requirement.available, "fits": requirement.fits}
    return {"what": requirement.what, **values}


def _row(requirement: Requirement) -> tuple[str, str, str, str]:
    limit = requirement.available
    enough = "yes" if requirement.fits else f"no{f': {requirement.remedy}' if requirement.remedy else ''}"
    return (
        requirement.what,
        _amount(requirement, requirement.needed),
        "no limit" if limit is None else _amount(requirement, limit),
        enough,
    )


def _amount(requirement: Requirement, value: int) -> str:
    return f"{value >> 20:,} MB" if requirement.what == "memory" else f"{value:,}"
