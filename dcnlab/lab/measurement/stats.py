"""The counters of agents and of switches' ports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar

from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.instruments.port_counters import PortCounters
from dcnlab.lab.instruments.result import Result, Table
from dcnlab.lab.instruments.switch_counters import SwitchCounters

if TYPE_CHECKING:
    from dcnlab.lab.running.lab import RunningLab
    from dcnlab.lab.running.network import Network


@dataclass(frozen=True)
class StatsResult(Result):
    """Counters of agents by server, where servers relay, of the switches' ports, and of the switches: frames,
    and those that matched no entry."""

    servers: dict[str, dict[str, int]]
    ports: list[PortCounters]
    switches: list[SwitchCounters] = field(default_factory=list)

    def tables(self) -> Iterator[Table]:
        """One of servers, one of ports and one of switches; not those that would be empty."""
        if self.servers:
            names = sorted({name for counters in self.servers.values() for name in counters})
            rows = [(server, *(c.get(name, 0) for name in names)) for server, c in self.servers.items()]
            yield Table(("server", *names), rows)
        if self.ports:
            columns = [item.name.replace("_", " ") for item in fields(PortCounters)]
            yield Table(columns, [tuple(asdict(port).values()) for port in self.ports])
        if self.switches:
            rows = [(one.switch, one.frames, one.unmatched) for one in self.switches]
            yield Table(("switch", "frames", "no entry"), rows)


@dataclass(frozen=True)
class Stats(Measurement[StatsResult]):
    """Show the agents' counters (packets relayed, delivered, dropped) and those of switches and their ports.

    A switch drops frames for which it has no entry, as forged and malformed ones.
    """

    name: ClassVar[str] = "stats"
    examples: ClassVar[tuple[str, ...]] = ("dcnlab stats LAB", "dcnlab stats LAB --json")

    def run(self, lab: RunningLab, context: Context) -> StatsResult:
        return StatsResult.from_json(self.measure_part(lab, context))

    def measure_part(self, lab: RunningLab, context: Context) -> dict[str, Any]:
        """The agents and switches of this machine."""
        from dcnlab.lab.instruments import switch_counters
        from dcnlab.lab.instruments.counters import link_counters

        agents = lab.running.agents
        counters = agents.stats() if agents is not None else {}
        servers = {lab.fabric.name(int(node)): values for node, values in counters.items()}
        if not lab.running.switches:
            return StatsResult(servers, []).to_json()
        return StatsResult(servers, link_counters(lab).ports(), switch_counters.read(lab)).to_json()

    def conclude(self, network: Network, parts: Sequence[Any]) -> StatsResult:
        found, place = [StatsResult.from_json(part) for part in parts], network.fabric.index
        servers = {name: counts for one in found for name, counts in one.servers.items()}
        ports = [port for one in found for port in one.ports]
        switches = [switch for one in found for switch in one.switches]
        return StatsResult(
            {name: servers[name] for name in sorted(servers, key=place)},
            sorted(ports, key=lambda port: (place(port.switch), port.port)),
            sorted(switches, key=lambda one: place(one.switch)),
        )
