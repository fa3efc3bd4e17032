"""Workloads: flows with their times and sizes, drawn from a pattern and a distribution with a seed.

With a load, flows arrive as a Poisson process.  Without one, every pair of the pattern sends a fixed number
of flows, which begin at once.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcnlab.traffic import sizes as distributions
from dcnlab.traffic.completion import mean_wire_bits
from dcnlab.traffic.patterns import Traffic, traffic
from topos.fabric import Fabric
from topos.graph import IntArray
from topos.spec import SpecError

Floats = NDArray[np.float64]
#: The most flows of a workload: more take hours in a lab, and gigabytes in the evaluator.
MOST = 1_000_000


@dataclass(frozen=True)
class Demand:
    """What is sent: ``pattern`` and ``sizes`` as texts, and when.

    ``load`` is a multiple of the link rate (bits per second): what the busiest server sends, or receives, on
    average for ``seconds``, with the headers of packets.  With 0 every pair sends ``count`` flows at time 0
    instead.
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
    pairs, sizes = traffic(fabric, demand.pattern, demand.seed, failed), distributions.read(demand.sizes)
    probability = pairs.amounts / pairs.amounts.sum() if pairs.weighted else None
    if not len(pairs):
        raise SpecError(f"traffic: {demand.pattern} has no two servers here")
    rng = np.random.default_rng([demand.seed, 11])
    if demand.load:
        mean = arrival_rate(pairs, demand.load, demand.rate, mean_wire_bits(sizes)) * demand.seconds
        _check_count(mean)
        begin = np.sort(rng.uniform(0, demand.seconds, rng.poisson(mean)))
        chosen = (
            rng.integers(0, len(pairs), len(begin))
            if probability is None
            else rng.choice(len(pairs), len(begin), p=probability)
        )
    else:
        _check_count(len(pairs) * demand.count)
        chosen = _each(pairs, demand.count)
        begin = np.zeros(len(chosen))
    return Workload(
        begin, pairs.sources[chosen], pairs.destinations[chosen], sizes.quantile(rng.random(len(begin)))
    )


def arrival_rate(pairs: Traffic, load: float, rate: float, mean_bits: float) -> float:
    """Flows per second of a pattern, each of ``mean_bits`` on the wire, so that its busiest server sends, or
    receives, ``load`` times ``rate``."""
    busiest = max(float(np.bincount(ends, pairs.amounts).max()) for ends in (pairs.sources, pairs.destinations))
    return load * rate / mean_bits * float(pairs.amounts.sum()) / busiest


def _each(pairs: Traffic, count: int) -> NDArray[np.int64]:
    """The pair of each flow when all send ``count`` flows: those with weights on average, one at least."""
    every = np.arange(len(pairs))
    if not pairs.weighted:
        return np.tile(every, count)
    return np.repeat(every, np.maximum(1, np.rint(count * pairs.amounts / pairs.amounts.mean())).astype(int))


def _check_count(flows: float) -> None:
    if flows > MOST:
        raise SpecError(f"{flows:.3g} flows are too many: at most {MOST}; take larger flows or less time")
