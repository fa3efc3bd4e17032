"""AACM in a lab: servers find their coordinates, and errors in the wiring (CLOT, section 6)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields

from addressing.scheme import Scheme
from dcnlab.lab.autoconfig.side import Concluded, Protocol, ServerOutcomes, Side
from dcnlab.lab.contract.codec import decode_fields
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

    def runs(self, node: int) -> bool:
        return node in self._servers

    def prepare(self) -> None:
        self._agents.forget_coordinates()
        self._before = self._agents.sent("AACM")

    def begin(self, epoch: int) -> Concluded:
        outcome = self._agents.configure(self._radices, epoch, self._timeout)
        return decode_fields(Concluded, {one.name: outcome[one.name] for one in fields(Concluded)})

    def finish(self) -> ServerOutcomes:
        reported = self._agents.wait_coordinates(self._servers, self._timeout)
        wrong = [
            node
            for node, (coordinates, _) in reported.items()
            if self._fabric.index(_text(coordinates)) != node
        ]
        at = {node: when for node, (_, when) in reported.items()}
        return ServerOutcomes(at, wrong, self._agents.sent("AACM") - self._before)


class Aacm(Protocol):
    """AACM in a lab."""

    def enable(self, agents: AgentPool, scheme: Scheme) -> None:
        agents.enable("aacm", dimensions=len(scheme.fabric.family.torus_radices))

    def origin(self, scheme: Scheme) -> int:
        return 0

    def side(self, agents: AgentPool, scheme: Scheme, servers: frozenset[int]) -> Side:
        return AacmSide(agents, scheme, servers)

    def check(self, scheme: Scheme, concluded: Concluded | None) -> None:
        assert concluded is not None
        if not concluded.success:
            raise LabError(_failure(scheme.fabric, concluded))

    def wrong(self, scheme: Scheme, nodes: Sequence[int]) -> str:
        return f"AACM gave {scheme.fabric.name(nodes[0])} the coordinates of another server"

    def timed(self, concluded: Concluded | None, at: Mapping[int, float], begun: float) -> tuple[float, float]:
        # The origin's clock begins when the order reaches it: the last report came no later than its ``ms``.
        assert concluded is not None
        return max(begun, max(at.values()) - concluded.ms / 1000), concluded.ms


def _text(coordinates: tuple[int, ...]) -> str:
    return f"({','.join(map(str, coordinates))})"


def _failure(fabric: Fabric, concluded: Concluded) -> str:
    """One line with all errors that AACM found; servers by name and coordinates."""
    errors = "; ".join(concluded.findings) or "no cause found, but not every server answered in time"
    errors = _COORDINATES.sub(lambda match: f"{fabric.name(fabric.index(match[0]))} {match[0]}", errors)
    alarms = f"{concluded.causes} direct and {concluded.secondary} secondary alarms"
    return f"AACM found errors after {concluded.ms} ms ({alarms}): {errors}"
