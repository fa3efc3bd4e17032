"""Commands about AACM: a lab anew, a whole torus offline with a virtual clock, Wireshark's dissector."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dcnlab.cli import options
from dcnlab.cli.app import app
from dcnlab.cli.running import LabName, show_configured
from dcnlab.cli.show import JsonFlag, print_json, table
from dcnlab.cli.topologies import Topology
from dcnlab.lab.client import Lab
from dcnlab.lab.errors import UsageError

_KEY = b"dcnlab"


@app.command()
def aacm(
    topology: Topology,
    loss: options.FrameLoss = 0.0,
    duplicate: options.Duplicate = 0.0,
    jitter: options.Jitter = 0.0,
    miswire: options.Miswire = "",
    swaps: Annotated[bool, typer.Option("--swaps", help="Try every single swap of two cables.")] = False,
    seed: options.Seed = 1,
    json: JsonFlag = False,
) -> None:
    """Let the servers of a torus configure themselves, offline with a virtual clock; exit 1 on errors."""
    from topos.families.torus import Torus

    torus = _torus(topology)
    assert isinstance(torus, Torus)
    noise = (loss, duplicate, jitter * 1e-6)
    found, held = _every_swap(torus) if swaps else _once(torus, miswire, noise, seed)
    if json:
        print_json(found)
    else:
        listed = found.pop("findings", [])
        flat = found | found.pop("frames", {})
        table(("what", "found"), list(flat.items()))
        print("\n".join(listed), end="\n" if listed else "")
    raise typer.Exit(0 if held else 1)


def _torus(spec: str) -> Any:
    """The torus of that specification; UsageError where AACM cannot configure it."""
    from dcnlab.lab.autoconfig import configuring
    from topos import registry
    from topos.spec import SpecError

    try:
        fabric = registry.fabric(spec)
    except SpecError as error:
        raise UsageError(str(error)) from error
    configuring.check(fabric, True, "")
    return fabric.family


def _once(
    torus: Any, miswire: str, noise: tuple[float, float, float], seed: int
) -> tuple[dict[str, Any], bool]:
    """One configuration."""
    from dcnlab.lab.autoconfig import configuring
    from hostagent.protocols.aacm.simulation import AacmSimulation, Noise
    from topos.fabric import Fabric

    simulation = AacmSimulation(torus, seed=seed, noise=Noise(*noise), key=_KEY)
    swapped = list(configuring.swapped_ports(Fabric.of(torus), miswire))
    if swapped:
        simulation.swap(swapped[0], swapped[1])
    outcome = simulation.configure()
    assert outcome is not None
    result = {
        "topology": torus.spec,
        "servers": len(simulation.machines),
        "links": len(simulation.peers) // 2,
        "success": outcome.success,
        "ms": round(outcome.seconds * 1000, 3),
        "frames": {name: count for name, count in simulation.counts().items() if name.startswith("sent ")},
        "findings": [str(finding) for finding in outcome.findings],
        "causes": len(outcome.causes),
        "secondary": len(outcome.secondary),
    }
    return result, outcome.success


def _every_swap(torus: Any) -> tuple[dict[str, Any], bool]:
    """All single swaps: how many were found, and how many named by exactly their four ends."""
    from hostagent.protocols.aacm.swap_trials import swaps

    tried = found = named = 0
    for trial in swaps(torus):
        tried, found, named = tried + 1, found + trial.found, named + trial.named
    return {"topology": torus.spec, "swaps": tried, "found": found, "named": named}, found == tried


@app.command()
def reconfigure(lab: LabName, json: JsonFlag = False) -> None:
    """Let the servers of a lab that began --autoconfigure configure themselves anew; exit 1 on errors."""
    found = Lab.attach(lab).ask("reconfigure")
    print_json(found) if json else show_configured(found)


@app.command()
def dissector() -> None:
    """Print a Wireshark dissector (Lua) of AACM's frames."""
    from dcnlab.lab.autoconfig.dissector import lua

    print(lua(), end="")
