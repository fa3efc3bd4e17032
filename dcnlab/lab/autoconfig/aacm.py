"""AACM in a lab: servers find their coordinates, and errors in the wiring (CLOT, section 5)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from addressing.scheme import Scheme
from dcnlab.lab.autoconfig.side import Found, Protocol, Side
from dcnlab.lab.errors import LabError
from hostagent.client import AgentPool
from hostagent.protocols.aacm.retransmission import AacmTiming
from topos.fabric import Fabric

_COORDINATES = re.compile(r"\(\d+(?:,\d+)*\)")


class AacmSide(Side):
    """AACM at the agents of this machine."""

    def __init__(self, agents: AgentPool, scheme: Scheme, servers: frozenset[int]) -> None:
        self._agents, self._fabric, self._servers = agents, scheme.fabric, servers
        self._radices = scheme.fabric.family.torus_radices
        self._timeout = AacmTiming().timeout(self._radices) * (4 + sum(self._radices))
        self._before: Counter[str] = Counter()

    def has(self, server: int) -> bool:
        return server in self._servers

    def prepare(self) -> None:
        self._agents.forget_coordinates()
        self._before = self._agents.sent("AACM")

    def begin(self, epoch: int) -> dict[str, Any]:
        return self._agents.configure(self._radices, epoch, self._timeout)

    def finish(self) -> Found:
        reported = self._agents.wait_coordinates(self._servers, self._timeout)
        wrong = [
            node
            for node, (coordinates, _) in reported.items()
            if self._fabric.index(_text(coordinates)) != node
        ]
        at = {node: when for node, (_, when) in reported.items()}
        return Found(at, wrong, self._agents.sent("AACM") - self._before)


class Aacm(Protocol):
    """AACM in a lab."""

    def enable(self, agents: AgentPool, scheme: Scheme) -> None:
        agents.enable("aacm", dimensions=len(scheme.fabric.family.torus_radices))

    def origin(self, scheme: Scheme) -> int:
        return 0

    def side(self, agents: AgentPool, scheme: Scheme, servers: frozenset[int]) -> Side:
        return AacmSide(agents, scheme, servers)

    def check(self, scheme: Scheme, outcome: Mapping[str, Any]) -> None:
        if not outcome["success"]:
            raise LabError(_failure(scheme.fabric, outcome))

    def wrong(self, scheme: Scheme, nodes: Sequence[int]) -> str:
        return f"AACM gave {scheme.fabric.name(nodes[0])} the coordinates of another server"

    def timed(self, outcome: Mapping[str, Any], at: Mapping[int, float], begun: float) -> tuple[float, float]:
        # The origin's clock begins when the order reaches it: the last report came no later than its ``ms``.
        ms = float(outcome["ms"])
        return max(begun, max(at.values()) - ms / 1000), ms


def _text(coordinates: tuple[int, ...]) -> str:
    return f"({','.join(map(str, coordinates))})"


def _failure(fabric: Fabric, outcome: Mapping[str, Any]) -> str:
    """One line with all errors that AACM found; servers by name and coordinates."""
    errors = "; ".join(outcome["findings"]) or "no cause found, but not every server answered in time"
    errors = _COORDINATES.sub(lambda match: f"{fabric.name(fabric.index(match[0]))} {match[0]}", errors)
    alarms = f"{outcome['causes']} direct and {outcome['secondary']} secondary alarms"
    return f"AACM found errors after {outcome['ms']} ms ({alarms}): {errors}"
