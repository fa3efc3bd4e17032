"""AACM in a lab: servers find their coordinates, and errors in the wiring (CLOT, section 5)."""

from __future__ import annotations

import re
import time
from typing import Any

from addressing.scheme import Scheme
from dcnlab.lab.errors import LabError
from hostagent.client import AgentPool
from hostagent.protocols.aacm.retransmission import AacmTiming
from topos.fabric import Fabric

_COORDINATES = re.compile(r"\(\d+(?:,\d+)*\)")


def enable(agents: AgentPool, scheme: Scheme) -> None:
    """Make all agents run AACM."""
    agents.enable("aacm", dimensions=len(scheme.fabric.family.torus_radices))


def configure(agents: AgentPool, scheme: Scheme, epoch: int) -> dict[str, Any]:
    """Run AACM once: milliseconds until the origin has all reports (``ms``), ``frames`` sent by kind, and
    ``servers``: by name, the milliseconds until the server reported its coordinates.

    LabError with every error that AACM found.
    """
    fabric, radices = scheme.fabric, scheme.fabric.family.torus_radices
    before = agents.sent("AACM")
    timeout = AacmTiming().timeout(radices) * (4 + sum(radices))
    begun = time.monotonic()
    outcome = agents.configure(radices, epoch, timeout)
    if not outcome["success"]:
        raise LabError(_failure(fabric, outcome))
    for node, coordinates in outcome["coordinates"].items():
        if fabric.index(_text(coordinates)) != node:
            raise LabError(f"AACM gave {fabric.name(node)} the coordinates of another server")
    # The origin's clock begins when the order reaches it: the last report came no later than its ``ms``.
    start = max(begun, max(outcome["at"].values()) - outcome["ms"] / 1000)
    servers = {
        fabric.name(node): round(1000 * max(0.0, at - start), 3) for node, at in sorted(outcome["at"].items())
    }
    frames = dict(agents.sent("AACM") - before)
    return {"protocol": "AACM", "ms": outcome["ms"], "frames": frames, "servers": servers}


def _text(coordinates: tuple[int, ...]) -> str:
    return f"({','.join(map(str, coordinates))})"


def _failure(fabric: Fabric, outcome: dict[str, Any]) -> str:
    """One line with all errors that AACM found; servers by name and coordinates."""
    errors = "; ".join(outcome["findings"]) or "no cause found, but not every server answered in time"
    errors = _COORDINATES.sub(lambda match: f"{fabric.name(fabric.index(match[0]))} {match[0]}", errors)
    alarms = f"{outcome['causes']} direct and {outcome['secondary']} secondary alarms"
    return f"AACM found errors after {outcome['ms']} ms ({alarms}): {errors}"
