"""Packets that were lost because a program did not read them in time, or at an interface."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.instruments.probe import Probe, at_once
from dcnlab.lab.instruments.result import Result, Table

if TYPE_CHECKING:
    from dcnlab.lab.network.measured_lab import MeasuredLab


@dataclass(frozen=True)
class OverrunsResult(Result):
    """Packets lost at full buffers since the launch, in all and by place.

    A place is a server, or the first and last switch that share an ovs-vswitchd.  ``refused`` has by interface
    the frames that the other end of its link did not take: larger than its MTU, or it was down.  ``full`` has
    those that found the queue of their interface full, which a rate gives it.
    """

    packets: int
    places: dict[str, int]
    refused: dict[str, int]
    full: dict[str, int]

    @classmethod
    def figures(cls) -> tuple[str, ...]:
        return ("packets",)

    def table(self) -> Table | None:
        kinds = (
            (self.places, "not read in time"),
            (self.refused, "refused by the other end: larger than its MTU, or it was down"),
            (self.full, "queue full"),
        )
        rows = [(place, count, why) for counts, why in kinds for place, count in counts.items() if count]
        return Table(("at", "packets", "why"), rows) if rows else None

    def notes(self) -> list[str]:
        """A line on the whole."""
        if not self.packets:
            return ["no packet was lost because agents or switches were too slow"]
        return [f"{self.packets} packets were lost because agents or switches did not read them in time"]


class OverrunsProbe(Probe):
    """The losses on one machine."""

    def count(self) -> dict[str, dict[str, int]]:
        """Count them, by place and by interface."""
        from dcnlab.lab.emulation.namespaces import netns
        from dcnlab.lab.errors import LabError
        from dcnlab.lab.instruments.counting import packet_drops

        running, name = self.lab.running, self.lab.fabric.name
        named: dict[str, list[str]] = {}
        for node in (*running.servers, *running.switches):
            named.setdefault(running.namespace(node), []).append(name(node))
        ports, queues = packet_drops.interfaces(running), packet_drops.queues(running)
        counts: dict[str, dict[str, int]] = {"places": {}, "refused": {}, "full": {}}
        try:
            for namespace, nodes in named.items():
                place = nodes[0] if len(nodes) == 1 else f"{nodes[0]} to {nodes[-1]}"
                counts["places"][place] = netns.inside(namespace, packet_drops.count)
                counts["refused"] |= netns.inside(namespace, partial(packet_drops.refused, ports[namespace]))
                if namespace in queues:
                    counts["full"] |= packet_drops.full(namespace, queues[namespace])
        except OSError as error:
            raise LabError(f"this kernel does not count them: {error.strerror} (packet_diag)") from error
        return counts


@dataclass(frozen=True)
class Overruns(Measurement[OverrunsResult]):
    """Count the packets that agents or switches did not read in time, and those lost at interfaces."""

    name: ClassVar[str] = "overruns"
    timed: ClassVar[bool] = False
    examples: ClassVar[tuple[str, ...]] = ("dcnlab overruns LAB", "dcnlab overruns LAB --json")

    def run(self, lab: MeasuredLab, context: Context) -> OverrunsResult:
        with context.probes(OverrunsProbe) as probes:
            counts = at_once(probes, lambda probe: probe.count())
        places, refused, full = (
            {place: count for each in counts for place, count in each[kind].items()}
            for kind in ("places", "refused", "full")
        )
        return OverrunsResult(sum(places.values()), places, refused, full)
