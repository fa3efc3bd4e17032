"""``dcnlab plan``: what a lab would need of this machine, or of several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dcnlab.cli.app import command
from dcnlab.cli.parameters.arguments import Topology
from dcnlab.cli.parameters.lab_options import of_lab
from dcnlab.cli.show import JsonFlag, print_json, table
from hostagent.options import Mode

if TYPE_CHECKING:
    from dcnlab.lab.emulation.capacity import Requirement
    from dcnlab.lab.machines.placement import Part, Placement
    from topos.fabric import Fabric


@command(
    "dcnlab plan bcube:8,3",
    "dcnlab plan torus:16x16x16 --agents workers --json",
    "dcnlab plan bcube:8,2 --machines 4",
    "dcnlab plan clot:6x6 --machines 8x32G,4x16G --placement parts.yaml",
)
def plan(
    spec: Topology,
    agents: Annotated[Mode, of_lab("agents")] = "auto",
    machines: Annotated[
        str,
        typer.Option(
            metavar="N|CORESxMEMORY,...",
            help="Divide the lab among so many machines like this one, or among machines of these sizes.",
        ),
    ] = "",
    placement: Annotated[
        str, typer.Option(metavar="FILE", help="With --machines: the nodes of each, in YAML or JSON.")
    ] = "",
    json: JsonFlag = False,
) -> None:
    """Say what a lab of a topology needs, and whether this machine has it; exit 1 if not.

    Memory is an estimate for a lab whose agents have all relayed packets.  With --machines nodes are placed so
    that few links are cut, and what the coordinator needs is estimated as well; `--json` prints the placement
    as --placement reads it.
    """
    from dcnlab.cli.catalogue import fabric_of
    from dcnlab.lab.emulation import capacity
    from dcnlab.lab.errors import UsageError

    fabric = fabric_of(spec)
    if placement and not machines:
        raise UsageError("--placement needs --machines: how many there are, or how large each is")
    if machines:
        raise typer.Exit(_plan_parts(fabric, machines, placement, agents, json))
    required = capacity.requirements(fabric, agents)
    fits = all(requirement.fits for requirement in required)
    seconds = round(capacity.processor_seconds(fabric, agents), 1)
    if json:
        size = {"servers": fabric.servers, "switches": fabric.switches, "links": len(fabric.link_ends)}
        needs = [_as_json(requirement) for requirement in required]
        print_json({"topology": fabric.spec, **size, "processor_s": seconds, "fits": fits, "needs": needs})
    else:
        sizes = f"{fabric.servers:,} servers, {fabric.switches:,} switches, {len(fabric.link_ends):,} links"
        print(f"{fabric.spec}: {sizes}; about {seconds:,.0f} s of processor time to launch")
        table(("need", "of this lab", "here", "enough"), map(_row, required))
    raise typer.Exit(0 if fits else 1)


def _plan_parts(fabric: Fabric, machines: str, file: str, agents: Mode, json: bool) -> int:
    """Print how a lab is divided among machines; the exit code."""
    from dcnlab.lab.machines import description, placement, placement_file
    from dcnlab.lab.machines.coordination import coordination

    sizes = description.parse(machines)
    divided = placement_file.read(file, fabric, sizes) if file else placement.place(fabric, sizes, agents)
    parts = divided.parts(agents)
    fits = all(part.fits for part in parts)
    center = coordination(divided)
    if json:
        value = {
            "topology": fabric.spec,
            "links": len(fabric.link_ends),
            "links_cut": len(divided.cut),
            "fits": fits,
            "coordinator": {
                "launch_s": round(center.launch_s, 1),
                "change_messages": center.messages,
                "change_ms": round(center.change_ms, 1),
                "idle_percent": round(100 * center.idle, 2),
            },
        }
        shown = [_part_as_json(part) for part in parts]
        print_json({**value, "machines": shown, "placement": placement_file.as_json(divided)})
        return 0 if fits else 1
    print(f"{fabric.spec} on {_machines(divided)}: {len(divided.cut):,} of {len(fabric.link_ends):,} links cut")
    change = f"{center.messages:,} messages and {center.change_ms:,.0f} ms for a link that changes"
    idle = f"{100 * center.idle:.1f} % of a processor when idle"
    print(f"coordinator: about {center.launch_s:,.0f} s of processor time to launch; {change}; {idle}")
    columns = (
        "machine",
        "cores",
        "servers",
        "switches",
        "links",
        "links to others",
        "memory",
        "free",
        "enough",
    )
    table((*columns, "processor time to launch"), map(_part_row, parts))
    return 0 if fits else 1


def _machines(placement: Placement) -> str:
    return f"{len(placement.machines)} machine{'s' if len(placement.machines) > 1 else ''}"


def _part_as_json(part: Part) -> dict[str, Any]:
    """As a JSON object; memory is in bytes."""
    machine = part.machine
    here = {"machine": machine.name, "cores": machine.cores, "memory_available": machine.memory}
    nodes = {"servers": part.servers, "switches": part.switches}
    links = {"links": part.links, "links_to_others": part.external_links}
    return {
        **here,
        **nodes,
        **links,
        "memory": part.memory,
        "processor_s": round(part.processor_s, 1),
        "fits": part.fits,
    }


def _part_row(part: Part) -> tuple[str, ...]:
    counts = (part.machine.cores, part.servers, part.switches, part.links, part.external_links)
    memory = (f"{part.memory >> 20:,} MB", f"{part.machine.memory >> 20:,} MB")
    enough = "yes" if part.fits else "no"
    return (
        part.machine.name,
        *(f"{count:,}" for count in counts),
        *memory,
        enough,
        f"{part.processor_s:,.1f} s",
    )


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
