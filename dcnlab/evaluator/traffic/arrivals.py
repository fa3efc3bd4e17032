"""Arrival processes: when on/off or Poisson sources create packets, in whole nanoseconds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dcnlab.traffic.patterns import Traffic
from topos.graph import IntArray

Times = NDArray[np.int64]


@dataclass(frozen=True)
class Source:
    """The arrival process of one server.

    ``onoff``: in on phases (exponential, mean ``on`` ns) packets are evenly spaced at ``burst``
    times the mean rate; off phases are lognormal with ``sigma``, their mean chosen to give the
    load.  ``poisson``: a Poisson process.
    """

    kind: Literal["onoff", "poisson"] = "onoff"
    burst: float = 2.0
    on: float = 100_000.0
    sigma: float = 1.0


@dataclass(frozen=True, eq=False)
class Arrivals:
    """Packet i is created at ``time[i]`` (ns, ascending) by ``source[i]`` for ``destination[i]``."""

    time: Times
    source: IntArray
    destination: IntArray

    def __len__(self) -> int:
        """The number of packets."""
        return len(self.time)


def arrivals(traffic: Traffic, gap: float, until: int, how: Source, seed: int) -> Arrivals:
    """The packets of every sender of ``traffic`` from 0 to ``until`` ns, one per ``gap`` ns on average.

    Each packet belongs to one of the sender's flows, drawn with ``seed`` by what these send.
    """
    if not len(traffic):
        return Arrivals(np.zeros(0, np.int64), traffic.sources, traffic.destinations)
    order = np.argsort(traffic.sources, kind="stable")
    senders, first = np.unique(traffic.sources[order], return_index=True)
    flows = np.split(traffic.destinations[order], first[1:])
    weights = np.split(traffic.amounts[order], first[1:])
    times, sources, ends = [], [], []
    for sender, some, weight in zip(senders.tolist(), flows, weights, strict=True):
        rng = np.random.default_rng([seed, 7, sender])
        made = _poisson(rng, gap, until) if how.kind == "poisson" else _on_off(rng, gap, until, how)
        times.append(made)
        sources.append(np.full(len(made), sender, dtype=np.int32))
        ends.append(rng.choice(some, len(made), p=weight / weight.sum() if traffic.weighted else None))
    time, source, end = np.concatenate(times), np.concatenate(sources), np.concatenate(ends)
    sorting = np.argsort(time, kind="stable")
    return Arrivals(time[sorting], source[sorting], end[sorting].astype(np.int32))


def _poisson(rng: np.random.Generator, gap: float, until: int) -> Times:
    count = rng.poisson(until / gap)
    return np.sort(rng.uniform(0, until, count)).astype(np.int64)


def _on_off(rng: np.random.Generator, gap: float, until: int, how: Source) -> Times:
    """Packets are evenly spaced on a clock that runs only while the source is on, so that short on
    phases do not send more than their share."""
    off = how.on * (how.burst - 1)
    phases = 2 * math.ceil(until / (how.on + off)) + 20
    on_for = rng.exponential(how.on, phases)
    # The mean of a lognormal is exp(mu + sigma^2 / 2).
    mu = math.log(off) - how.sigma**2 / 2 if off else -math.inf
    off_for = rng.lognormal(mu, how.sigma, phases) if off else np.zeros(phases)
    # At time 0 the first off phase has already lasted for some time.
    off_for[0] *= rng.random() * (rng.random() < (how.burst - 1) / how.burst)
    clock = np.concatenate([[0.0], np.cumsum(on_for)])
    begins = np.cumsum(off_for) + clock[:-1]
    spacing = gap / how.burst
    ticks = (np.arange(int(clock[-1] / spacing)) + rng.random()) * spacing
    phase = np.searchsorted(clock, ticks, side="right") - 1
    inside = phase < phases
    time: Times = (begins[phase[inside]] + ticks[inside] - clock[phase[inside]]).astype(np.int64)
    return time[time < until]
