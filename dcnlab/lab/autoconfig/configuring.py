"""Labs that start without addresses: which may, cables swapped on purpose, and AACM's outcome."""

from __future__ import annotations

import re
from typing import Any

from addressing.fields.ipv4 import AddressError
from addressing.scheme import Scheme
from addressing.schemes.wmgr import Wmgr
from dcnlab.lab import naming
from dcnlab.lab.autoconfig import labelling
from dcnlab.lab.errors import LabError, UsageError
from hostagent.client import AgentPool
from hostagent.protocols.aacm.frames import check_sizes
from hostagent.protocols.aacm.retransmission import Timing
from topos.fabric import Fabric
from topos.families.torus import Torus
from topos.graph import Port

_PLACE = re.compile(r"\(\d+(?:,\d+)*\)")
_END = re.compile(r"(.+):(\d+)")


def check(fabric: Fabric, autoconfigure: bool, miswire: str, scheme: Scheme | None = None) -> None:
    """UsageError when a lab like that cannot start without addresses, or its cables not be swapped so.

    Under ``wmgr`` servers learn their labels, under all other schemes their coordinates.
    """
    if autoconfigure and isinstance(scheme, Wmgr):
        if miswire:
            raise UsageError("--miswire needs AACM, and servers under wmgr learn labels instead")
        labelling.check(fabric)
        return
    if miswire and not autoconfigure:
        raise UsageError("--miswire needs --autoconfigure: only AACM notices swapped cables")
    if autoconfigure:
        family = fabric.family
        if not isinstance(family, Torus):
            raise UsageError(f"only torus, clot and novacube configure themselves (AACM), not {family.name}")
        try:
            check_sizes(family.sizes)
        except AddressError as error:
            raise UsageError(str(error)) from error
    swapped_ports(fabric, miswire)


def swapped_ports(fabric: Fabric, miswire: str) -> dict[Port, Port]:
    """What ``h3:2,h7:1`` says: the cable of each of the two ports is plugged into the other."""
    if not miswire:
        return {}
    ends = [_end(fabric, part.strip()) for part in miswire.split(",")]
    if len(ends) != 2 or ends[0] == ends[1]:
        raise UsageError(f"two different ports are swapped, as in h3:2,h7:1, not {miswire!r}")
    a, b = ends
    return {a: b, b: a}


def _end(fabric: Fabric, text: str) -> Port:
    """A port named ``h3:2`` that lies in the torus."""
    match = _END.fullmatch(text)
    if match is None:
        raise UsageError(f"a port is a server and a number, as in h3:2, not {text!r}")
    end = Port(naming.server(fabric, match[1]), int(match[2]))
    family = fabric.family
    assert isinstance(family, Torus)
    if end.number > 2 * len(family.sizes) or fabric.peer(end.node, end.number) is None:
        raise UsageError(f"{match[1]} has no torus cable at port {end.number}")
    return end


def enable_configuration(agents: AgentPool, scheme: Scheme) -> None:
    """Have all servers take part in AACM, or in labelling."""
    if isinstance(scheme, Wmgr):
        labelling.enable_labelling(agents, scheme)
        return
    family = scheme.fabric.family
    assert isinstance(family, Torus)
    agents.enable_configuration(len(family.sizes))


def configure(agents: AgentPool, scheme: Scheme, epoch: int) -> dict[str, Any]:
    """Run AACM, or labelling: ``ms`` until the origin knew, or the last server; ``frames`` by kind.

    LabError with everything found wrong.
    """
    if isinstance(scheme, Wmgr):
        return labelling.start(agents, scheme)
    fabric = scheme.fabric
    family = fabric.family
    assert isinstance(family, Torus)
    before = agents.sent("AACM")
    timeout = Timing().timeout(family.sizes) * (4 + sum(family.sizes))
    outcome = agents.configure(family.sizes, epoch, timeout)
    if not outcome["success"]:
        raise LabError(_failure(fabric, outcome))
    wrong = [node for node, place in outcome["coordinates"].items() if place != family.coordinates(node)]
    if wrong:
        raise LabError(f"AACM gave {fabric.name(wrong[0])} the coordinates of another server")
    return {"protocol": "AACM", "ms": outcome["ms"], "frames": dict(agents.sent("AACM") - before)}


def _failure(fabric: Fabric, outcome: dict[str, Any]) -> str:
    """One line that names all that AACM found wrong, servers by name and coordinates."""
    found = "; ".join(outcome["findings"]) or "no cause found, but not every server answered in time"
    found = _PLACE.sub(lambda place: f"{fabric.name(fabric.index(place[0]))} {place[0]}", found)
    alarms = f"{outcome['causes']} direct and {outcome['secondary']} secondary alarms"
    return f"AACM found errors after {outcome['ms']} ms ({alarms}): {found}"
