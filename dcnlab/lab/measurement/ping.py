"""Echo requests: reachability and round-trip times."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from dcnlab.lab.contract.fields import argument, server
from dcnlab.lab.contract.values import Figures
from dcnlab.lab.errors import UsageError
from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.instruments.probe import Probe, at_once
from dcnlab.lab.instruments.result import INTERRUPTED, Result

if TYPE_CHECKING:
    from dcnlab.lab.network.measured_lab import MeasuredLab

_GROUPS = ("all", "pairs")
#: Lost pairs that are listed for people.
_MAX_LOST_SHOWN = 20
#: Seconds between two reports of progress.
_REPORT_S = 0.2
#: Pairs on whose paths the round-trip time that links impose is looked up.
_MOST_PATHS = 64


@dataclass(frozen=True)
class Percentiles:
    """Median and 99th percentile in milliseconds; None when nothing was received."""

    p50: float | None
    p99: float | None


@dataclass(frozen=True)
class PingResult(Result):
    """Echo requests that were sent and answered, their round-trip times, and the pairs without an answer.

    ``partial`` says why not all of the ``pairs`` were asked; it is empty when they were.
    """

    sent: int
    received: int
    rtt_ms: Percentiles
    lost: list[tuple[str, str]]
    pairs: int = 0
    partial: str = ""

    @property
    def held(self) -> bool:
        """Whether every request was answered, and every pair was asked."""
        return self.received == self.sent and not self.partial

    @classmethod
    def figures(cls) -> tuple[str, ...]:
        return ("sent", "received", "lost", "rtt_p50_ms", "rtt_p99_ms")

    def summary(self) -> Figures:
        rtt = {"rtt_p50_ms": self.rtt_ms.p50, "rtt_p99_ms": self.rtt_ms.p99}
        return {"sent": self.sent, "received": self.received, "lost": len(self.lost), **rtt}

    def table(self) -> None:
        return None

    def notes(self) -> Iterator[str]:
        rtt = self.rtt_ms
        times = f", RTT p50 {rtt.p50} ms, p99 {rtt.p99} ms" if self.received else ""
        yield f"{self.received}/{self.sent} answered{times}"
        if self.partial:
            yield f"partial: {self.partial} after {self.sent:,} of {self.pairs:,} pairs"
        yield from self.lost_lines()

    def lost_lines(self) -> Iterator[str]:
        """The first pairs without an answer."""
        for source, target in self.lost[:_MAX_LOST_SHOWN]:
            yield f"lost: {source} -> {target}"
        if len(self.lost) > _MAX_LOST_SHOWN:
            yield f"and {len(self.lost) - _MAX_LOST_SHOWN} more: --json lists all"


@dataclass(frozen=True)
class Ping(Measurement[PingResult]):
    """Ping from one server to another, or between all pairs.

    Exit 1 when a request was not answered.
    """

    name: ClassVar[str] = "ping"
    interruptible: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ("dcnlab ping LAB", "dcnlab ping LAB h0 h15")

    a: str = server("The server that sends; without it, many pairs.", default="")
    b: str = server("The server that answers.", default="")
    _: KW_ONLY
    pairs: str | tuple[tuple[str, str], ...] = argument(
        "Without A and B: all ordered pairs, or pairs (h0 and h1, h2 and h3, ...).",
        default="all", choices=_GROUPS, target=True,
    )  # fmt: skip
    size: int = argument("Bytes of payload.", default=56, low=0, high=65_000)
    timeout: float = argument(
        "Time without any answer, beyond the round-trip time that links impose, after which requests count as"
        " lost.",
        default=5.0,
        low=0.001,
        unit="s",
    )
    ipv4: bool = argument("Use IPv4.", default=False, flag="-4")
    ipv6: bool = argument(
        "Use IPv6; by default the first version that the hosts speak.", default=False, flag="-6"
    )

    def check(self) -> None:
        super().check()
        if bool(self.a) != bool(self.b):
            raise UsageError("name two servers, or none for all pairs")
        if self.ipv4 and self.ipv6:
            raise UsageError("choose IPv4 or IPv6, not both")

    @classmethod
    def targets(cls, text: object) -> dict[str, Any]:
        return {"pairs": text} if text in _GROUPS else super().targets(text)

    @classmethod
    def targets_form(cls) -> str:
        return f"`all`, `pairs` or {super().targets_form()}"

    def run(self, lab: MeasuredLab, context: Context) -> PingResult:
        from dcnlab.lab.instruments.packets.echo import quantile

        lab.address(0, self.version)
        timeout = self.timeout + self._imposed_rtt(lab)
        context.started()
        with context.probes(PingProbe) as probes:
            asked = at_once(probes, lambda probe: probe.ask(self, timeout))
        times = [ms for one in asked for ms in one.rtt_ms]
        rtt = Percentiles(*(quantile(times, share) for share in (0.5, 0.99)))
        lost = [pair for one in asked for pair in one.lost]
        sent, pairs = sum(one.sent for one in asked), sum(one.pairs for one in asked)
        return PingResult(sent, len(times), rtt, lost, pairs, INTERRUPTED if sent < pairs else "")

    def _imposed_rtt(self, lab: MeasuredLab) -> float:
        """The longest round-trip time in seconds that the links of some of the paths impose."""
        from dcnlab.lab.instruments import known_path

        some, shapes = list(itertools.islice(self.numbers(lab), _MOST_PATHS)), lab.impairments
        return max((known_path.between(lab, a, b, shapes).rtt for a, b in some if a != b), default=0.0)

    @property
    def version(self) -> int:
        """The IP version; 0 for the first that the hosts speak."""
        return 6 if self.ipv6 else 4 if self.ipv4 else 0

    def numbers(self, lab: MeasuredLab) -> Iterator[tuple[int, int]]:
        """The pairs of servers by number; UsageError for names of none."""
        servers = lab.fabric.end_nodes
        if self.a:
            yield lab.host(self.a), lab.host(self.b)
        elif not isinstance(self.pairs, str):
            yield from ((lab.host(a), lab.host(b)) for a, b in self.pairs)
        elif self.pairs == "all":
            yield from itertools.permutations(servers, 2)
        else:
            for number in range(0, len(servers) - 1, 2):
                yield from ((number, number + 1), (number + 1, number))


@dataclass(frozen=True)
class Asked:
    """Requests sent from one machine, round-trip times, pairs without an answer, and the number of pairs."""

    sent: int
    rtt_ms: list[float]
    lost: list[tuple[str, str]]
    pairs: int


class PingProbe(Probe):
    """The servers of one machine, which send echo requests."""

    def ask(self, wanted: Ping, timeout: float) -> Asked:
        """Ask the pairs whose first server is on this machine."""
        from dcnlab.lab.instruments.packets.echo import ping_pairs

        end = cache(lambda number: self.lab.endpoint(number, wanted.version))
        pairs = [(end(a), end(b)) for a, b in wanted.numbers(self.lab) if self.runs(a)]
        told = 0.0

        def progress(done: int) -> None:
            nonlocal told
            if done == len(pairs) or time.monotonic() > told + _REPORT_S:
                told = time.monotonic()
                self.context.progress(done, len(pairs), "pinging")

        report = ping_pairs(pairs, timeout, progress, wanted.size, stopped=self.context.stopped)
        return Asked(report.sent, report.rtt_ms, report.lost, len(pairs))
