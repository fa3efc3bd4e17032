"""Flow completion times, and their slowdown against the ideal, by flow size.

The ideal is the time that a flow would take alone: its bytes on the wire by the rate of a link, and the base:
what a flow of one packet takes in the idle network.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcnlab.traffic.sizes import Sizes
from topos.arrays import Floats

Bytes = NDArray[np.int64]

#: TCP's bytes of payload in a full frame, and of headers: Ethernet, IPv4, TCP with timestamps.
_PAYLOAD, _HEADERS = 1448, 66
#: The name of all flows, and the bins: flows up to so many bytes.
ALL = "all"
_BINS = (("<= 10 KB", 1e4), ("<= 100 KB", 1e5), ("<= 1 MB", 1e6), ("<= 10 MB", 1e7), ("> 10 MB", math.inf))


@dataclass(frozen=True)
class SizeBin:
    """The flows of some sizes: how many, how many failed, and the others' times in milliseconds and slowdowns.

    None where no flow was completed.
    """

    sizes: str
    flows: int
    failed: int
    fct_mean_ms: float | None = None
    fct_median_ms: float | None = None
    fct_p99_ms: float | None = None
    slowdown_mean: float | None = None
    slowdown_median: float | None = None
    slowdown_p99: float | None = None


@dataclass(frozen=True)
class Throughput:
    """The payload of some flows by the time until all have arrived, in Mb/s: as predicted, and by the optimum.

    Its bounds are those of fluid flows over any paths in any shares, which all begin at once.
    """

    predicted_mbps: float
    optimum_lower_mbps: float
    optimum_upper_mbps: float

    def line(self, measured_mbps: float) -> str:
        """For people: what was measured beside it."""
        low, high = (measured_mbps / one for one in (self.optimum_upper_mbps, self.optimum_lower_mbps))
        share = f"{low:.0%}" if f"{low:.0%}" == f"{high:.0%}" else f"{low:.0%} to {high:.0%}"
        return (
            f"throughput: measured {measured_mbps:g} Mb/s, predicted {self.predicted_mbps:g} Mb/s, optimum"
            f" {self.optimum_lower_mbps:g} to {self.optimum_upper_mbps:g} Mb/s, of which {share} was measured"
        )


def wire_bits(size: Bytes) -> Floats:
    """Bits on a link of flows of ``size`` bytes, with the headers of their packets."""
    bits: Floats = 8.0 * (size + _HEADERS * np.ceil(size / _PAYLOAD))
    return bits


def mean_wire_bits(sizes: Sizes) -> float:
    """The mean of :func:`wire_bits` over a distribution, which is uniform between two of its points."""
    packets = np.ceil(sizes.size / _PAYLOAD)
    whole = np.floor(sizes.size / _PAYLOAD)
    rest = sizes.size - whole * _PAYLOAD
    summed = _PAYLOAD * whole * (whole + 1) / 2 + rest * (whole + 1)  # the integral of the packets from 0
    width = np.diff(sizes.size)
    between = np.where(width > 0, np.diff(summed) / np.where(width > 0, width, 1), packets[1:])
    mean = packets[0] * sizes.share[0] + between @ np.diff(sizes.share)
    return 8.0 * (sizes.mean() + _HEADERS * float(mean))


def ideal(size: Bytes, rate: float, base: Floats | float = 0.0) -> Floats:
    """Seconds that flows take alone, where a link carries ``rate`` bits per second."""
    seconds: Floats = wire_bits(size) / rate + base
    return seconds


def summarise(size: Bytes, seconds: Floats, ideals: Floats) -> tuple[SizeBin, ...]:
    """All flows, then those of each bin that has any; ``seconds`` is NaN for a flow that failed."""
    return tuple(
        _bin(name, seconds[chosen], ideals[chosen])
        for name, chosen in _chosen(size)
        if chosen.any() or name == ALL
    )


def _chosen(size: Bytes) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    yield ALL, np.ones(len(size), np.bool_)
    least = 0.0
    for name, most in _BINS:
        yield name, (size > least) & (size <= most)
        least = most


def _bin(name: str, seconds: Floats, ideals: Floats) -> SizeBin:
    done = np.isfinite(seconds)
    count, times = len(seconds), seconds[done]
    if not len(times):
        return SizeBin(name, count, count)
    return SizeBin(name, count, count - len(times), *_figures(times * 1000), *_figures(times / ideals[done]))


def _figures(values: Floats) -> list[float]:
    """The mean, the median and the 99th percentile: the least value that 99% do not exceed."""
    median, p99 = np.quantile(values, [0.5, 0.99], method="inverted_cdf")
    return [round(float(value), 3) for value in (values.mean(), median, p99)]
