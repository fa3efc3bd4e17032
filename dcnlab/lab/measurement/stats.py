"""The counters of the agents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.instruments.result import Result, Table

if TYPE_CHECKING:
    from dcnlab.lab.running.lab import RunningLab


@dataclass(frozen=True)
class StatsResult(Result):
    """Counters by server; no server where none relays."""

    servers: dict[str, dict[str, int]]

    def table(self) -> Table:
        names = sorted({name for counters in self.servers.values() for name in counters})
        rows = [(server, *(c.get(name, 0) for name in names)) for server, c in self.servers.items()]
        return Table(("server", *names), rows)


@dataclass(frozen=True)
class Stats(Measurement[StatsResult]):
    """Show the counters of the servers' agents: packets relayed, delivered and dropped."""

    name: ClassVar[str] = "stats"
    examples: ClassVar[tuple[str, ...]] = ("dcnlab stats LAB",)

    def run(self, lab: RunningLab, context: Context) -> StatsResult:
        agents = lab.running.agents
        counters = agents.stats() if agents is not None else {}
        return StatsResult({lab.fabric.name(int(node)): values for node, values in counters.items()})
