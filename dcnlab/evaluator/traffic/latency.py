"""Latency: an event-driven simulation of a store-and-forward network.

Every directed link has a buffer of ``buffer`` packets, including the one being sent, and
transmits a packet in ``packet * 8 / rate``.  The packet then needs ``propagation`` to the
other end and ``processing`` there, at a relay, a switch or the destination.  Where a topology's
file states rates or delays of links, these hold.  A packet that finds the buffer full is dropped;
with credits it waits (:mod:`dcnlab.evaluator.traffic.credits`).  Packets that arrive at the same
time are handled in the order of their creation.  Times are whole nanoseconds, so that results are
reproducible.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from addressing.jit import compiled
from addressing.scheme import Scheme
from dcnlab.evaluator.graph.failures import Failures
from dcnlab.evaluator.routing.path_lengths import FailureKnowledge
from dcnlab.evaluator.routing.sampled_paths import SampledPaths, sample_paths
from dcnlab.evaluator.statistics import t_quantile
from dcnlab.evaluator.traffic.arrivals import Arrivals, Source, arrivals
from dcnlab.evaluator.traffic.capacities import Timing
from dcnlab.evaluator.traffic.credits import escape_routes, queue_with_credits
from dcnlab.evaluator.traffic.flow_model import SPLIT, FlowModel
from dcnlab.traffic.patterns import Traffic, traffic
from topos.graph import NONE, IntArray

Times = NDArray[np.int64]
#: What happens at a full buffer: packets are dropped (none), or wait for credits.
FlowControl = Literal["none", "credits"]
#: Instead of a time of delivery: the packet found a full buffer, or had no route.
BUFFER_FULL, NO_ROUTE = -1, -2
_BATCHES = 10


@dataclass(frozen=True)
class Settings:
    """Parameters of the simulation: times in ns, ``rate`` in bit/s, ``packet`` in bytes.

    The CLOT paper's values where it gives them: 1 Gb/s, MTU 1500, buffers of 10 MTU, 10 us of
    processing, 5 us of propagation, TTL 128.  Packets created before ``warmup`` are not measured;
    none is created after ``until``.
    """

    rate: float = 1e9
    packet: int = 1500
    buffer: int = 10
    processing: int = 10_000
    propagation: int = 5_000
    ttl: int = 128
    warmup: int = 1_000_000
    until: int = 6_000_000
    source: Source = field(default_factory=Source)
    flow_control: FlowControl = "none"

    @property
    def transmission_time(self) -> int:
        """The transmission time of a packet in ns."""
        return round(self.packet * 8e9 / self.rate)


@dataclass(frozen=True, eq=False)
class Latency:
    """Latency and loss of the measured packets."""

    load: float
    #: From creation to delivery, in microseconds, in order of creation; delivered packets only.
    times: NDArray[np.float64]
    sent: int
    full: int
    no_route: int
    senders: int
    settings: Settings

    @property
    def mean(self) -> float:
        """The mean latency in microseconds; NaN when nothing was delivered."""
        return float(self.times.mean()) if len(self.times) else math.nan

    @property
    def confidence(self) -> float:
        """Half the 95 % interval of the mean: Student's t over the means of ten consecutive batches."""
        if len(self.times) < 2 * _BATCHES:
            return math.nan
        means = [part.mean() for part in np.array_split(self.times, _BATCHES)]
        return t_quantile(0.975, _BATCHES - 1) * float(np.std(means, ddof=1)) / math.sqrt(_BATCHES)

    def percentile(self, share: float) -> float:
        """The latency in microseconds that ``share`` per cent of the delivered packets do not exceed."""
        return float(np.percentile(self.times, share)) if len(self.times) else math.nan

    @property
    def loss(self) -> float:
        """The share of the packets that are not delivered."""
        return 1 - len(self.times) / self.sent if self.sent else math.nan

    def _rate(self, packets: int) -> float:
        window = self.settings.until - self.settings.warmup
        return packets * self.settings.transmission_time / (window * self.senders) if self.senders else math.nan

    @property
    def offered(self) -> float:
        """The load that a sender offered, as a multiple of the link rate."""
        return self._rate(self.sent)

    @property
    def throughput(self) -> float:
        """The throughput per sender, as a multiple of the link rate."""
        return self._rate(len(self.times))

    def as_dict(self) -> dict[str, float | int]:
        """The figures of an evaluation."""
        return {
            "load": self.load,
            "packets": self.sent,
            "mean_us": self.mean,
            "confidence_95_us": self.confidence,
            "p50_us": self.percentile(50),
            "p99_us": self.percentile(99),
            "offered": self.offered,
            "throughput": self.throughput,
            "loss": self.loss,
        }


NO_FAILURES = Failures()


def simulate(
    scheme: Scheme,
    load: float,
    pattern: str | Traffic = "all-to-all",
    seed: int = 1,
    settings: Settings | None = None,
    failed: Failures = NO_FAILURES,
    failure_knowledge: FailureKnowledge = "yes",
    model: FlowModel = SPLIT,
) -> Latency:
    """Simulate: every sender of ``pattern`` offers ``load`` times the link rate.

    By ``model`` packets of a pair draw their paths one by one (split), or have one path or a few.
    ``seed`` draws the pattern, the packets' times of creation and their paths.  Raises SpecError for an
    invalid pattern.
    """
    settings = settings or Settings()
    wanted = traffic(scheme.fabric, pattern, seed, failed.nodes) if isinstance(pattern, str) else pattern
    gap = settings.transmission_time / load
    packets = arrivals(wanted, gap, settings.until, settings.source, seed)
    paths = _paths(scheme, packets, model, seed, settings.ttl, failed, failure_knowledge)
    timing = Timing.of(scheme.fabric, settings.transmission_time, settings.propagation)
    if settings.flow_control == "credits":
        arrived = queue_with_credits(
            packets, paths, scheme.fabric, escape_routes(scheme.fabric, failed.links), timing,
            settings.processing, settings.buffer,
        )  # fmt: skip
    else:
        arrived = queue(packets, paths, timing, settings)
    return summarise(load, packets, arrived, len(np.unique(wanted.sources)), settings)


def _paths(
    scheme: Scheme, packets: Arrivals, model: FlowModel, seed: int, ttl: int, failed: Failures,
    knowledge: FailureKnowledge,
) -> SampledPaths:  # fmt: skip
    """The path of each packet: its own, or in turn one of those of its pair."""
    if model == SPLIT:
        return sample_paths(
            scheme, packets.source, packets.destination, seed, ttl, failed.links, failure_knowledge=knowledge
        )
    size = scheme.fabric.size
    pairs, first, pair = np.unique(
        packets.source.astype(np.int64) * size + packets.destination, return_index=True, return_inverse=True
    )
    several = np.repeat(first, model.subflows)
    paths = sample_paths(
        scheme, packets.source[several], packets.destination[several], seed, ttl, failed.links,
        failure_knowledge=knowledge,
    )  # fmt: skip
    row = pair * model.subflows + _occurrence(pair, len(pairs)) % model.subflows
    return SampledPaths(paths.links[row], paths.delivered[row])


def _occurrence(values: Times, count: int) -> Times:
    """How often each value, from 0 to below ``count``, has occurred before."""
    order = np.argsort(values, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(values, minlength=count))])
    ranks = np.empty(len(values), np.int64)
    ranks[order] = np.arange(len(values)) - first[values[order]]
    return ranks


def sweep(
    scheme: Scheme, loads: Sequence[float], seed: int = 1, settings: Settings | None = None
) -> list[Latency]:
    """Simulate all-to-all traffic at each of ``loads``."""
    return [simulate(scheme, load, seed=seed, settings=settings) for load in loads]


def summarise(load: float, packets: Arrivals, arrived: Times, senders: int, settings: Settings) -> Latency:
    """The latency of the packets created after the warm-up."""
    measured = packets.time >= settings.warmup
    ends, begins = arrived[measured], packets.time[measured]
    times = (ends - begins)[ends >= 0] / 1000
    full, no_route = (int((ends == why).sum()) for why in (BUFFER_FULL, NO_ROUTE))
    return Latency(load, times, len(ends), full, no_route, senders, settings)


def queue(packets: Arrivals, paths: SampledPaths, timing: Timing, settings: Settings) -> Times:
    """The time of delivery of each packet in ns; ``BUFFER_FULL`` or ``NO_ROUTE`` if it is not delivered."""
    hop_delay = timing.propagation + settings.processing
    return _run(packets.time, paths.links, paths.delivered, timing.transmission, hop_delay, settings.buffer)


@compiled
def _run(
    created: Times,
    links: IntArray,
    delivered: NDArray[np.bool_],
    transmission: Times,
    hop_delay: Times,
    buffer: int,
) -> Times:
    """The event loop.

    All packets have the same transmission time on a link, so its state is the time at which its
    last packet has left (``free``).  ``heap`` holds the packets in transit to a node.
    """
    ended = np.full(len(created), NO_ROUTE, np.int64)
    free = np.zeros(len(transmission), np.int64)
    hop = np.zeros(len(created), np.int32)
    heap = [(np.int64(0), np.int64(0)) for _ in range(0)]
    following = np.int64(0)
    while following < len(created) or heap:
        if not heap or (following < len(created) and (created[following], following) < heap[0]):
            now, packet = created[following], following
            following += 1
        else:
            now, packet = heapq.heappop(heap)
        at = hop[packet]
        if at == links.shape[1] or links[packet, at] == NONE:
            if delivered[packet]:
                ended[packet] = now
            continue
        link = links[packet, at]
        sending = transmission[link]
        waiting = (free[link] - now + sending - 1) // sending if free[link] > now else 0
        if waiting >= buffer:
            ended[packet] = BUFFER_FULL
            continue
        free[link] = max(free[link], now) + sending
        hop[packet] = at + 1
        heapq.heappush(heap, (free[link] + hop_delay[link], packet))
    return ended
