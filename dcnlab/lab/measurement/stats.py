"""The counters of agents and of switches' ports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.instruments.counting.port_counters import PortCounters
from dcnlab.lab.instruments.counting.switch_counters import SwitchCounters
from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.instruments.probe import Probe, at_once
from dcnlab.lab.instruments.result import Result, Table

if TYPE_CHECKING:
    from dcnlab.lab.network.measured_lab import MeasuredLab


#: Counters of packets that do not say so.
_PACKETS = frozenset(
    {
        "relayed", "delivered", "originated", "sent", "buffered", "escaped", "fullest", "dropped",
        "lost on links",
        "rx errors", "rx dropped", "tx errors", "tx dropped",
    }
)  # fmt: skip


def _with_unit(counter: str) -> str:
    """The heading of a counter."""
    return f"{counter} (packets)" if counter.partition(":")[0] in _PACKETS else counter


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
            yield Table(("server", *map(_with_unit, names)), rows)
        if self.ports:
            columns = [_with_unit(item.name.replace("_", " ")) for item in fields(PortCounters)]
            yield Table(columns, [tuple(asdict(port).values()) for port in self.ports])
        if self.switches:
            rows = [(one.switch, one.frames, one.unmatched) for one in self.switches]
            yield Table(("switch", "looked up (frames)", "no entry (frames)"), rows)


class StatsProbe(Probe):
    """The agents and switches of one machine."""

    def read(self) -> StatsResult:
        """Their counters."""
        from dcnlab.lab.instruments.counting import switch_counters
        from dcnlab.lab.instruments.counting.counters import link_counters

        running, name = self.lab.running, self.lab.fabric.name
        counters = running.agents.stats() if running.agents is not None else {}
        servers = {name(int(node)): values for node, values in counters.items()}
        if not running.switches:
            return StatsResult(servers, [])
        return StatsResult(servers, link_counters(self.lab).ports(), switch_counters.read(self.lab))


@dataclass(frozen=True)
class Stats(Measurement[StatsResult]):
    """Show the agents' counters (packets relayed, delivered, dropped) and those of switches and their ports.

    A switch drops frames for which it has no entry, as forged and malformed ones.
    """

    name: ClassVar[str] = "stats"
    timed: ClassVar[bool] = False
    http: ClassVar[str] = "GET /stats"
    returns: ClassVar[str] = "As `dcnlab stats --json`."
    examples: ClassVar[tuple[str, ...]] = ("dcnlab stats LAB", "dcnlab stats LAB --json")

    def run(self, lab: MeasuredLab, context: Context) -> StatsResult:
        with context.probes(StatsProbe) as probes:
            readings, place = at_once(probes, lambda probe: probe.read()), lab.fabric.index
        servers = {name: counts for one in readings for name, counts in one.servers.items()}
        ports = [port for one in readings for port in one.ports]
        switches = [switch for one in readings for switch in one.switches]
        return StatsResult(
            {name: servers[name] for name in sorted(servers, key=place)},
            sorted(ports, key=lambda port: (place(port.switch), port.port)),
            sorted(switches, key=lambda one: place(one.switch)),
        )
