"""The bytes that links have carried."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.instruments.probe import Probe, at_once
from dcnlab.lab.instruments.result import Result, Table

if TYPE_CHECKING:
    from dcnlab.lab.network.measured_lab import MeasuredLab


@dataclass(frozen=True)
class CountersResult(Result):
    """When the counters were read, in seconds (for rates), and per link the bytes from its end a to b and
    from b to a, since the launch."""

    at: float
    links: list[tuple[int, int]]
    #: The two ends of each link.
    ends: list[tuple[str, str]]

    @property
    def bytes(self) -> int:
        """The sum over all links."""
        return sum(map(sum, self.links))

    @classmethod
    def figures(cls) -> tuple[str, ...]:
        return ("bytes",)

    def table(self) -> Table:
        rows = [(*ends, *carried) for ends, carried in zip(self.ends, self.links, strict=True)]
        return Table(("a", "b", "bytes a to b", "bytes b to a"), rows)


class CountersProbe(Probe):
    """The counters of one machine."""

    def read(self) -> list[tuple[int, int]]:
        """Bytes per link and direction; links that have no end on this machine have carried nothing here."""
        from dcnlab.lab.instruments.counting.counters import link_counters

        return link_counters(self.lab).read()


@dataclass(frozen=True)
class Counters(Measurement[CountersResult]):
    """Show how many bytes every link has carried since the launch."""

    name: ClassVar[str] = "counters"
    timed: ClassVar[bool] = False
    http: ClassVar[str] = "GET /counters"
    returns: ClassVar[str] = "`at`: when, in seconds; `links`: bytes from a to b and from b to a."
    examples: ClassVar[tuple[str, ...]] = ("dcnlab counters LAB",)

    def run(self, lab: MeasuredLab, context: Context) -> CountersResult:
        with context.probes(CountersProbe) as probes:
            at, seen, fabric = time.monotonic(), at_once(probes, lambda probe: probe.read()), lab.fabric
        carried = [(max(a), max(b)) for a, b in (zip(*one, strict=True) for one in zip(*seen, strict=True))]
        ends = [(fabric.name(link.a.node), fabric.name(link.b.node)) for link in fabric.links()]
        return CountersResult(at, carried, ends)
