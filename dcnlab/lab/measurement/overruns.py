"""Packets that were lost because the program that should read them had no processor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.instruments.probe import Probe, at_once
from dcnlab.lab.instruments.result import Result, Table

if TYPE_CHECKING:
    from dcnlab.lab.instruments.measured_lab import MeasuredLab


@dataclass(frozen=True)
class OverrunsResult(Result):
    """Packets lost at full buffers since the launch, in all and by place.

    A place is a server, or the first and last switch that share an ovs-vswitchd.
    """

    packets: int
    places: dict[str, int]

    @classmethod
    def figures(cls) -> tuple[str, ...]:
        return ("packets",)

    def table(self) -> Table | None:
        rows = [(place, count) for place, count in self.places.items() if count]
        return Table(("node", "packets"), rows) if rows else None

    def notes(self) -> list[str]:
        """A line on the whole."""
        if not self.packets:
            return ["no packet was lost because agents or switches were too slow"]
        return [f"{self.packets} packets were lost because agents or switches did not read them in time"]


class OverrunsProbe(Probe):
    """The losses on one machine."""

    def count(self) -> dict[str, int]:
        """Count them, by place."""
        from dcnlab.lab.emulation import netns
        from dcnlab.lab.errors import LabError
        from dcnlab.lab.instruments import packet_drops

        running, name = self.lab.running, self.lab.fabric.name
        named: dict[str, list[str]] = {}
        for node in (*running.servers, *running.switches):
            named.setdefault(running.namespace(node), []).append(name(node))
        places = {}
        try:
            for namespace, nodes in named.items():
                place = nodes[0] if len(nodes) == 1 else f"{nodes[0]} to {nodes[-1]}"
                places[place] = netns.inside(namespace, packet_drops.count)
        except OSError as error:
            raise LabError(f"this kernel does not count them: {error.strerror} (packet_diag)") from error
        return places


@dataclass(frozen=True)
class Overruns(Measurement[OverrunsResult]):
    """Count the packets that were lost because agents or switches did not read them in time."""

    name: ClassVar[str] = "overruns"
    examples: ClassVar[tuple[str, ...]] = ("dcnlab overruns LAB", "dcnlab overruns LAB --json")

    def run(self, lab: MeasuredLab, context: Context) -> OverrunsResult:
        with context.probes(OverrunsProbe) as probes:
            found = at_once(probes, lambda probe: probe.count())
        places = {place: count for each in found for place, count in each.items()}
        return OverrunsResult(sum(places.values()), places)
