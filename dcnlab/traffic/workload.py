"""Workloads: flows with their times and sizes, drawn from a pattern and a distribution with a seed.

With a load, flows arrive as a Poisson process.  Without one, every pair of the pattern sends a fixed number
of flows, which begin at once.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcnlab.traffic import sizes as distributions
from dcnlab.traffic.completion import mean_wire_bits
from dcnlab.traffic.demand_files import steps_of
from dcnlab.traffic.patterns import Traffic, traffic
from topos.arrays import Floats
from topos.fabric import Fabric
from topos.graph import IntArray
from topos.spec import SpecError

#: The most flows of a workload: more take hours in a lab, and gigabytes in the evaluator.
MOST = 1_000_000


@dataclass(frozen=True)
class Demand:
    """What is sent: ``pattern`` and ``sizes`` as texts, and when.

    ``load`` is a multiple of the link rate (bits per second): what the busiest server sends, or receives, on
    average for ``seconds``, with the headers of packets.  With 0 every pair sends ``count`` flows at time 0
    instead.  A file with several matrices (``FILE:step=all``) holds one after the other, for equal times.
    """

    pattern: str = "permutation"
    sizes: str = "fixed:1M"
    load: float = 0.0
    seconds: float = 10.0
    rate: float = 1e9
    count: int = 1
    seed: int = 1


@dataclass(frozen=True, eq=False)
class Workload:
    """Flow i of ``size[i]`` bytes begins at ``begin[i]`` (seconds, ascending) from ``source[i]`` to
    ``destination[i]``."""

    begin: Floats
    source: IntArray
    destination: IntArray
    size: NDArray[np.int64]

    def __len__(self) -> int:
        """The number of flows."""
        return len(self.begin)


def draw(fabric: Fabric, demand: Demand, failed: Collection[int] = ()) -> Workload:
    """The flows of a demand between the servers that did not fail; SpecError with one line."""
    sizes, rng = distributions.read(demand.sizes), np.random.default_rng([demand.seed, 11])
    steps = [traffic(fabric, text, demand.seed, failed) for text in steps_of(demand.pattern)]
    if not any(map(len, steps)):
        raise SpecError(f"traffic: {demand.pattern} has no two servers here")
    if demand.load:
        rate = arrival_rate(steps, demand.load, demand.rate, mean_wire_bits(sizes))
        _check_count(rate * demand.seconds * sum(float(one.amounts.sum()) for one in steps) / len(steps))
        length = demand.seconds / len(steps)
        parts = [_arriving(one, rate, length * at, length, rng) for at, one in enumerate(steps)]
    else:
        _check_count(sum(map(len, steps)) * demand.count)
        parts = [(np.zeros(len(sent)), one, sent) for one in steps for sent in (_each(one, demand.count),)]
    begin = np.concatenate([times for times, _, _ in parts])
    sources = np.concatenate([one.sources[sent] for _, one, sent in parts])
    destinations = np.concatenate([one.destinations[sent] for _, one, sent in parts])
    return Workload(begin, sources, destinations, sizes.quantile(rng.random(len(begin))))


def _arriving(
    pairs: Traffic, rate: float, start: float, seconds: float, rng: np.random.Generator
) -> tuple[Floats, Traffic, NDArray[np.int64]]:
    """When flows arrive during a step, and of which pairs: ``rate`` per second and amount."""
    count = rng.poisson(rate * float(pairs.amounts.sum()) * seconds)
    begin = np.sort(rng.uniform(start, start + seconds, count))
    if not pairs.weighted:
        return begin, pairs, rng.integers(0, max(1, len(pairs)), count)
    return begin, pairs, rng.choice(len(pairs), count, p=pairs.amounts / pairs.amounts.sum())


def arrival_rate(steps: Sequence[Traffic], load: float, rate: float, mean_bits: float) -> float:
    """Flows per second and amount, each of ``mean_bits`` on the wire, so that the busiest server sends, or
    receives, ``load`` times ``rate`` in the mean over the steps."""
    amounts = np.concatenate([one.amounts for one in steps])
    sources = np.concatenate([one.sources for one in steps])
    destinations = np.concatenate([one.destinations for one in steps])
    busiest = max(float(np.bincount(ends, amounts).max()) for ends in (sources, destinations)) / len(steps)
    return load * rate / mean_bits / busiest


def _each(pairs: Traffic, count: int) -> NDArray[np.int64]:
    """The pair of each flow when all send ``count`` flows: those with weights on average, one at least."""
    every = np.arange(len(pairs))
    if not pairs.weighted:
        return np.tile(every, count)
    return np.repeat(every, np.maximum(1, np.rint(count * pairs.amounts / pairs.amounts.mean())).astype(int))


def _check_count(flows: float) -> None:
    if flows > MOST:
        raise SpecError(f"{flows:.3g} flows are too many: at most {MOST}; take larger flows or less time")
