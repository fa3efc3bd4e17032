"""Packets that were lost because the program that should read them had no processor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.instruments.result import Result, Table

if TYPE_CHECKING:
    from dcnlab.lab.running.lab import RunningLab


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


@dataclass(frozen=True)
class Overruns(Measurement[OverrunsResult]):
    """Count the packets that were lost because agents or switches did not read them in time."""

    name: ClassVar[str] = "overruns"
    examples: ClassVar[tuple[str, ...]] = ("dcnlab overruns LAB", "dcnlab overruns LAB --json")

    def run(self, lab: RunningLab, context: Context) -> OverrunsResult:
        return self.combine([self.measure_part(lab, context)])

    def measure_part(self, lab: RunningLab, context: Context) -> dict[str, int]:
        """Count those of this machine, by place."""
        from dcnlab.lab.emulation import netns
        from dcnlab.lab.errors import LabError
        from dcnlab.lab.instruments import packet_drops

        named: dict[str, list[str]] = {}
        for node in (*lab.running.servers, *lab.running.switches):
            named.setdefault(lab.running.namespace(node), []).append(lab.fabric.name(node))
        places = {}
        try:
            for namespace, nodes in named.items():
                place = nodes[0] if len(nodes) == 1 else f"{nodes[0]} to {nodes[-1]}"
                places[place] = netns.inside(namespace, packet_drops.count)
        except OSError as error:
            raise LabError(f"this kernel does not count them: {error.strerror} (packet_diag)") from error
        return places

    @classmethod
    def combine(cls, parts: Sequence[Any]) -> OverrunsResult:
        places = {place: count for part in parts for place, count in part.items()}
        return OverrunsResult(sum(places.values()), places)
