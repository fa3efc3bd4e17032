"""The counters of agents and of switches' ports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.instruments.port_counters import PortCounters
from dcnlab.lab.instruments.result import Result, Table

if TYPE_CHECKING:
    from dcnlab.lab.running.lab import RunningLab


@dataclass(frozen=True)
class StatsResult(Result):
    """Counters of agents by server, where servers relay, and of the switches' ports."""

    servers: dict[str, dict[str, int]]
    ports: list[PortCounters]

    def tables(self) -> Iterator[Table]:
        """One of servers and one of ports; not those that would be empty."""
        if self.servers:
            names = sorted({name for counters in self.servers.values() for name in counters})
            rows = [(server, *(c.get(name, 0) for name in names)) for server, c in self.servers.items()]
            yield Table(("server", *names), rows)
        if self.ports:
            columns = [item.name.replace("_", " ") for item in fields(PortCounters)]
            yield Table(columns, [tuple(asdict(port).values()) for port in self.ports])


@dataclass(frozen=True)
class Stats(Measurement[StatsResult]):
    """Show the agents' counters (packets relayed, delivered, dropped) and those of the switches' ports."""

    name: ClassVar[str] = "stats"
    examples: ClassVar[tuple[str, ...]] = ("dcnlab stats LAB", "dcnlab stats LAB --json")

    def run(self, lab: RunningLab, context: Context) -> StatsResult:
        from dcnlab.lab.instruments.counters import link_counters

        agents = lab.running.agents
        counters = agents.stats() if agents is not None else {}
        servers = {lab.fabric.name(int(node)): values for node, values in counters.items()}
        return StatsResult(servers, link_counters(lab).ports() if lab.fabric.switches else [])
