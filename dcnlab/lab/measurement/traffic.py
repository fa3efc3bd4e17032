"""Many flows at once, by a pattern: how long each takes, and how much longer than alone."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dcnlab.lab.contract.fields import argument
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.instruments.flows.sockets import TRANSPORTS
from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.instruments.result import INTERRUPTED, Result, Table
from dcnlab.lab.instruments.verdict import Timed
from dcnlab.traffic import completion, demand_files, patterns, sizes
from dcnlab.traffic.completion import SizeBin
from dcnlab.traffic.given import text_of_demands
from dcnlab.traffic.workload import MOST, Demand, Workload, draw
from topos.spec import SpecError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dcnlab.lab.instruments.flows.measurement import Idle
    from dcnlab.lab.instruments.flows.run import Generator, Run
    from dcnlab.lab.network.measured_lab import MeasuredLab

#: The load of a lab whose links have a rate, unless it is given.
DEFAULT_LOAD = 0.4
#: Seconds in which flows arrive, unless they are given.
DEFAULT_SECONDS = 5.0
_COLUMNS = ("flows", "flows", "failed", "mean ms", "median ms", "p99 ms", "mean slowdown", "median", "p99")


@dataclass(frozen=True)
class TrafficResult(Result):
    """Flow completion times in milliseconds, and slowdowns: each time divided by the ideal.

    The ideal is the flow's bytes on the wire by ``rate_mbps``, and the base: the shortest time in which a
    flow of one packet was complete between the same servers before (``base_ms`` is their median).
    ``rate_mbps`` is the bandwidth of the links, or where they have none (``rate_measured``) what a flow
    alone reached.  ``late_ms`` is how late the latest percent of flows began: a machine that is too busy
    shows there.
    """

    flows: int
    failed: int
    seconds: float
    mbps: float
    load: float
    rate_mbps: float
    rate_measured: bool
    base_ms: float
    late_ms: float
    fct_mean_ms: float | None
    fct_median_ms: float | None
    fct_p99_ms: float | None
    slowdown_mean: float | None
    slowdown_median: float | None
    slowdown_p99: float | None
    #: All flows, then those of each bin of sizes.
    bins: list[SizeBin] = field(default_factory=list)
    #: Failed flows by reason.
    errors: dict[str, int] = field(default_factory=dict)
    #: Why the flows are not all that were to be sent; empty if they are.
    partial: str = ""

    @property
    def held(self) -> bool:
        """Whether every flow was complete."""
        return self.failed == 0 and not self.partial

    def timed(self) -> Timed:
        """The times of flows, and how late they began, as a share of what they took."""
        figures = {name: getattr(self, name) or 0.0 for name in ("fct_mean_ms", "fct_median_ms", "fct_p99_ms")}
        mean, median, tail = figures.values()
        return Timed((self.mbps,), (mean, median), (tail,), min(1.0, self.late_ms / mean) if mean else 0.0)

    def table(self) -> Table:
        return bins_table(self.bins)

    def notes(self) -> Iterator[str]:
        rate = "a flow alone reached" if self.rate_measured else "bandwidth of a link:"
        yield (
            f"{self.flows - self.failed}/{self.flows} flows in {self.seconds:g} s, {self.mbps:g} Mb/s;"
            f" {rate} {self.rate_mbps:g} Mb/s, base {self.base_ms:g} ms, began up to {self.late_ms:g} ms late"
        )
        if self.partial:
            yield f"partial: {self.partial}"
        yield from (f"failed: {count} flows: {reason}" for reason, count in self.errors.items())


def bins_table(bins: Sequence[SizeBin], *more: tuple[str, Sequence[SizeBin]]) -> Table:
    """Bins of sizes for people; with ``more``, for each bin a row of every source, under its name."""
    if not more:
        return Table(_COLUMNS, [_row(one) for one in bins])
    sources = (("measured", bins), *more)
    rows = [
        (name, *_row(one))
        for number, _ in enumerate(bins)
        for name, source in sources
        for one in source[number : number + 1]
    ]
    return Table(("", *_COLUMNS), rows)


def _row(one: SizeBin) -> tuple[object, ...]:
    return tuple("-" if value is None else value for value in vars(one).values())


@dataclass(frozen=True)
class Traffic(Measurement[TrafficResult]):
    """Send flows by a pattern, and measure how long they take, alone and against the ideal.

    Exit 1 when a flow was not complete.
    """

    name: ClassVar[str] = "traffic"
    entry: ClassVar[str] = "flows"
    command: ClassVar[bool] = False
    interruptible: ClassVar[bool] = True

    pattern: str = argument(
        "Who sends to whom: permutation, incast, all-to-all, stride:by=1, hotspot, ..., or a file of pairs.",
        default="permutation", target=True, file=True,
    )  # fmt: skip
    sizes: str = argument(
        "Sizes of flows: fixed:1M, websearch, datamining, either scaled (websearch:scale=0.1), or a file.",
        default="fixed:1M", file=True,
    )  # fmt: skip
    load: float | None = argument(
        "What the busiest server sends or receives, as a multiple of the links' rate, in flows with Poisson"
        f" arrivals. Without it and `count`: {DEFAULT_LOAD} where links have a rate.",
        default=None, low=1e-6, high=100,
    )  # fmt: skip
    seconds: float | None = argument(
        f"How long flows arrive, by default {DEFAULT_SECONDS:g} s. Without a load: flows are sent again until"
        " then, by default once.",
        default=None, low=0.001, high=1e6, unit="s",
    )  # fmt: skip
    count: int | None = argument(
        "Instead of a load: flows of each pair, all at once; 1 where links have no rate.",
        default=None, low=1, high=1_000_000,
    )  # fmt: skip
    transport: str = argument("The transport protocol.", default="tcp", choices=TRANSPORTS)
    cc: str = argument(
        "TCP's congestion control, such as cubic, bbr or dctcp; by default the kernel's.",
        default="", pattern=r"[a-z0-9_]+",
    )  # fmt: skip
    seed: int = argument("Seed of times, sizes and pairs.", default=1, low=0, high=2**31 - 1)
    timeout: float = argument(
        "Deadline after the last flow starts; unfinished flows fail.",
        default=10.0, low=0.1, high=1e6, unit="s",
    )  # fmt: skip

    def __post_init__(self) -> None:
        # In Python also a matrix or a graph, which the lab's process has as a file.
        try:
            object.__setattr__(self, "pattern", text_of_demands(self.pattern))
        except SpecError as error:
            raise UsageError(str(error)) from None

    def check(self) -> None:
        super().check()
        if self.load is not None and self.count is not None:
            raise UsageError("give a load or a number of flows, not both")
        if self.cc and self.transport == "udp":
            raise UsageError("cc is for TCP: leave it out with udp")

    @classmethod
    def targets(cls, text: object) -> dict[str, Any]:
        if not isinstance(text, str) or not text:
            raise ValueError(f"must be a pattern such as incast, not {text!r}")
        return {"pattern": text}

    @classmethod
    def targets_form(cls) -> str:
        return "`permutation`, or `{pattern: incast, sizes: websearch, ...}`"

    def check_files(self) -> None:
        try:
            patterns.check(self.pattern)
            sizes.read(self.sizes)
        except SpecError as error:
            raise UsageError(str(error)) from None

    def to_json(self) -> dict[str, Any]:
        """The arguments with files as the lab's process finds them, which has another folder."""
        value = super().to_json()
        for name in ("pattern", "sizes"):
            file, step = demand_files.split(value[name])
            if os.path.isfile(file):
                value[name] = f"{Path(file).resolve()}{step and f':step={step}'}"
        return value

    def demand(self, load: float, rate: float) -> Demand:
        """What is sent, at a load of links with a rate in bits per second; a load of 0: a number of flows."""
        return Demand(
            self.pattern, self.sizes, load, self.seconds or DEFAULT_SECONDS, rate, self.count or 1, self.seed
        )

    def run(self, lab: MeasuredLab, context: Context) -> TrafficResult:
        from dcnlab.lab.instruments.flows import measurement as flow_measurement
        from dcnlab.lab.instruments.flows.probe import FlowProbe
        from dcnlab.lab.instruments.flows.run import joined

        self.check_files()
        link_rate = flow_measurement.link_rate(lab)
        load = self.chosen_load(link_rate)
        try:
            workload = draw(lab.fabric, self.demand(load, link_rate or 1.0))
        except SpecError as error:
            raise UsageError(str(error)) from None
        if not len(workload):
            raise UsageError("no flow begins in this time: take a longer one, or a higher load")
        with context.probes(FlowProbe) as probes:
            send = flow_measurement.generator(lab.scheme, probes, self, workload)
            idle = flow_measurement.idle(send, workload, link_rate, self.seed)
            context.started()
            runs = self._rounds(replace(send, rate=idle.rate), workload, again=not load)
        times, size = len(runs), np.tile(workload.size, len(runs))
        every = replace(idle, base=np.tile(idle.base, times))
        return self._result(size, joined(runs), every, load, link_rate is None)

    def _rounds(self, send: Generator, workload: Workload, again: bool) -> list[Run]:
        """The flows, sent once, or ``again`` as soon as all have ended until the time is over."""
        end = time.monotonic() + (self.seconds or 0.0)
        runs = [send.run(workload, self.pattern)]
        while again and runs[-1].decided.all() and time.monotonic() < end:
            if (len(runs) + 1) * len(workload) > MOST:
                break
            runs.append(send.run(workload, self.pattern))
        return runs

    def _result(
        self, sizes: NDArray[np.int64], run: Run, idle: Idle, load: float, rate_measured: bool
    ) -> TrafficResult:
        decided = run.decided
        if not decided.any():
            raise LabError("traffic: interrupted before a flow was complete")
        size, seconds = sizes[decided], run.seconds[decided]
        bins = completion.summarise(size, seconds, completion.ideal(size, idle.rate, idle.base[decided]))
        arrived = size[np.isfinite(seconds)].sum()
        return TrafficResult(
            seconds=round(run.duration, 3),
            mbps=round(8e-6 * float(arrived) / run.duration, 2) if run.duration else 0.0,
            load=load,
            rate_mbps=round(idle.rate / 1e6, 3),
            rate_measured=rate_measured,
            base_ms=round(1000 * float(np.median(idle.base)), 3),
            late_ms=round(1000 * run.late, 3),
            **{name: value for name, value in vars(bins[0]).items() if name != "sizes"},
            bins=list(bins),
            errors=run.errors,
            partial="" if decided.all() else INTERRUPTED,
        )

    def chosen_load(self, link_rate: float | None) -> float:
        """The load in a lab whose links have this rate; 0 for a number of flows."""
        if self.load is not None and link_rate is None:
            raise UsageError("the links of this lab have no rate: give a number of flows, or the lab a rate")
        if self.load is None and self.count is None and link_rate is not None:
            return DEFAULT_LOAD
        return self.load or 0.0
