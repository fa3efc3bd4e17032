"""The bytes that links have carried."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.instruments.result import Result, Table

if TYPE_CHECKING:
    from dcnlab.lab.running.lab import RunningLab


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


@dataclass(frozen=True)
class Counters(Measurement[CountersResult]):
    """Show how many bytes every link has carried since the launch."""

    name: ClassVar[str] = "counters"
    examples: ClassVar[tuple[str, ...]] = ("dcnlab counters LAB",)

    def run(self, lab: RunningLab, context: Context) -> CountersResult:
        from dcnlab.lab.instruments.counters import link_counters

        at, carried, fabric = time.monotonic(), link_counters(lab).read(), lab.fabric
        ends = [(fabric.name(link.a.node), fabric.name(link.b.node)) for link in fabric.links()]
        return CountersResult(at, carried, ends)

    def measure_part(self, lab: RunningLab, context: Context) -> dict[str, Any]:
        """Links that have no end on this machine have carried nothing here."""
        return self.run(lab, context).to_json()

    @classmethod
    def combine(cls, parts: Sequence[Any]) -> CountersResult:
        links = [tuple(map(max, *seen)) for seen in zip(*(part["links"] for part in parts), strict=True)]
        return CountersResult.from_json({**parts[0], "links": links})
