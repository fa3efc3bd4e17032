"""``dcnlab aacm``: configure a torus by AACM, offline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dcnlab.cli.app import command
from dcnlab.cli.parameters import options
from dcnlab.cli.parameters.arguments import Topology
from dcnlab.cli.parameters.lab_options import of_lab
from dcnlab.cli.show import JsonFlag, print_json, table
from dcnlab.lab.errors import UsageError
from topos.families.torus import Torus

if TYPE_CHECKING:
    from hostagent.protocols.aacm.simulation import AacmSimulation
    from topos.fabric import Fabric

_KEY = b"dcnlab"


@command(
    "dcnlab aacm clot:4x4",
    "dcnlab aacm clot:4x4 --loss 0.1 --miswire h3:2,h7:1",
    "dcnlab aacm clot:4x4 --cut 'link:(1,1)-(1,2)'",
)
def aacm(
    topology: Topology,
    loss: options.FrameLoss = 0.0,
    duplicate: options.Duplicate = 0.0,
    jitter: options.Jitter = 0.0,
    miswire: Annotated[str, of_lab("miswire")] = "",
    cut: Annotated[
        list[str], typer.Option(help="Remove a link or stop a server: link:h5-h6 or node:h6; may be repeated.")
    ] = [],  # noqa: B006
    swaps: Annotated[bool, typer.Option("--swaps", help="Try every single swap of two cables.")] = False,
    seed: options.Seed = 1,
    json: JsonFlag = False,
) -> None:
    """Configure the servers of a torus by AACM, offline with a virtual clock; exit 1 on errors."""
    torus = _torus(topology)
    noise = (loss, duplicate, jitter * 1e-6)
    outcome, held = _every_swap(torus) if swaps else _once(torus, miswire, cut, noise, seed)
    if json:
        print_json(outcome)
    else:
        listed = outcome.pop("findings", [])
        flat = outcome | outcome.pop("frames", {})
        table(("what", "found"), list(flat.items()))
        print("\n".join(listed), end="\n" if listed else "")
    raise typer.Exit(0 if held else 1)


def _torus(spec: str) -> Torus:
    """The torus of that specification; UsageError where AACM cannot configure it."""
    from addressing.autoconfiguration import aacm
    from dcnlab.lab.options.config import family

    torus = family(spec)
    if aacm(torus).protocol is None:
        raise UsageError(aacm(torus).reason)
    assert isinstance(torus, Torus)
    return torus


def _once(
    torus: Torus, miswire: str, cuts: list[str], noise: tuple[float, float, float], seed: int
) -> tuple[dict[str, Any], bool]:
    """One configuration."""
    from dcnlab.lab.options.miswiring import swapped_ports
    from hostagent.protocols.aacm.simulation import AacmSimulation, Noise
    from topos.fabric import Fabric

    simulation = AacmSimulation(torus, seed=seed, noise=Noise(*noise), key=_KEY)
    swapped = list(swapped_ports(Fabric.of(torus), miswire))
    if swapped:
        simulation.swap(swapped[0], swapped[1])
    for text in cuts:
        _remove(simulation, Fabric.of(torus), text)
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


def _remove(simulation: AacmSimulation, fabric: Fabric, text: str) -> None:
    """Remove the link or stop the server that ``link:h5-h6`` or ``node:h6`` names (CLOT, Fig. 10)."""
    from dcnlab.lab import naming
    from dcnlab.lab.autoconfig.labelling import parse_cut

    links = parse_cut(fabric, text)
    if text.startswith("node:"):
        node = naming.node(fabric, text.removeprefix("node:"))
        if node == 0 or not fabric.is_server(node):
            raise UsageError(f"--cut {text}: name a server other than h0, which starts AACM")
        simulation.stop_node(node)
        return
    for link in links:
        end = fabric.link(link).a
        if end not in simulation.peers:
            raise UsageError(f"--cut {text}: AACM does not use this link")
        simulation.cut(end)


def _every_swap(torus: Torus) -> tuple[dict[str, Any], bool]:
    """All single swaps: how many AACM found, and how many it located at exactly their four ports."""
    from hostagent.protocols.aacm.swap_trials import swaps

    tried = noticed = named = 0
    for trial in swaps(torus):
        tried, noticed, named = tried + 1, noticed + trial.found, named + trial.named
    return {"topology": torus.spec, "swaps": tried, "found": noticed, "named": named}, noticed == tried
