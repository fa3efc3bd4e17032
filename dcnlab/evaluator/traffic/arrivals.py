"""When packets are created: on/off or Poisson sources, from a seed, in whole nanoseconds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dcnlab.evaluator.traffic.traffic import Traffic
from topos.graph import IntArray

Times = NDArray[np.int64]


@dataclass(frozen=True)
class Source:
    """How one server sends.

    ``onoff``: while on (exponential, ``on`` ns on average) packets leave evenly spaced at
    ``burst`` times the mean rate; off phases are lognormal with ``sigma``, their mean such
    that the load comes out.  ``poisson``: independent packets.
    """

    kind: Literal["onoff", "poisson"] = "onoff"
    burst: float = 2.0
    on: float = 100_000.0
    sigma: float = 1.0


@dataclass(frozen=True, eq=False)
class Arrivals:
    """Packet i is created at ``time[i]`` (ns, ascending) at ``source[i]`` for ``destination[i]``."""

    time: Times
    source: IntArray
    destination: IntArray

    def __len__(self) -> int:
        """The number of packets."""
        return len(self.time)


def arrivals(traffic: Traffic, gap: float, until: int, how: Source, seed: int) -> Arrivals:
    """Packets of every sender of ``traffic`` from 0 to ``until`` ns, one in ``gap`` ns on average;
    each is for one of the sender's flows, drawn evenly."""
    if not len(traffic):
        return Arrivals(np.zeros(0, np.int64), traffic.sources, traffic.destinations)
    order = np.argsort(traffic.sources, kind="stable")
    senders, first = np.unique(traffic.sources[order], return_index=True)
    flows = np.split(traffic.destinations[order], first[1:])
    times, sources, ends = [], [], []
    for sender, some in zip(senders.tolist(), flows, strict=True):
        rng = np.random.default_rng([seed, 7, sender])
        made = _poisson(rng, gap, until) if how.kind == "poisson" else _on_off(rng, gap, until, how)
        times.append(made)
        sources.append(np.full(len(made), sender, dtype=np.int32))
        ends.append(rng.choice(some, len(made)))
    time, source, end = (np.concatenate(parts) for parts in (times, sources, ends))
    sorting = np.argsort(time, kind="stable")
    return Arrivals(time[sorting], source[sorting], end[sorting].astype(np.int32))


def _poisson(rng: np.random.Generator, gap: float, until: int) -> Times:
    count = rng.poisson(until / gap)
    return np.sort(rng.uniform(0, until, count)).astype(np.int64)


def _on_off(rng: np.random.Generator, gap: float, until: int, how: Source) -> Times:
    """Packets are spaced evenly on a clock that runs while the source is on, so that short
    phases send no more than their share."""
    off = how.on * (how.burst - 1)
    phases = 2 * math.ceil(until / (how.on + off)) + 20
    on_for = rng.exponential(how.on, phases)
    # The mean of a lognormal is exp(mu + sigma^2 / 2).
    mu = math.log(off) - how.sigma**2 / 2 if off else -math.inf
    off_for = rng.lognormal(mu, how.sigma, phases) if off else np.zeros(phases)
    # The first phase has been going on for some time already.
    off_for[0] *= rng.random() * (rng.random() < (how.burst - 1) / how.burst)
    clock = np.concatenate([[0.0], np.cumsum(on_for)])
    begins = np.cumsum(off_for) + clock[:-1]
    spacing = gap / how.burst
    ticks = (np.arange(int(clock[-1] / spacing)) + rng.random()) * spacing
    phase = np.searchsorted(clock, ticks, side="right") - 1
    inside = phase < phases
    time: Times = (begins[phase[inside]] + ticks[inside] - clock[phase[inside]]).astype(np.int64)
    return time[time < until]
