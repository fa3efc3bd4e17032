"""Max-min fair rates by progressive filling, and the aggregate bottleneck throughput.

All flows grow alike until a directed link is full; the flows across it stay as they
are, the others grow on.  The rates that result are max-min fair: every flow crosses a
full link on which no flow gets more (Bertsekas and Gallager, Data Networks, 6.5.2).
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from addressing.jit import compiled
from dcnlab.evaluator.traffic.flows import Flows, Offsets
from topos.fabric import Fabric
from topos.graph import IntArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Throughput:
    """Rates in units of a link's capacity; flows that are not delivered have rate 0."""

    rates: Floats
    delivered: int
    #: Flows over the largest number of flows on one directed link.
    abt: float

    @property
    def aggregate(self) -> float:
        """The sum of the max-min fair rates."""
        return float(self.rates.sum())

    @property
    def least(self) -> float:
        """The smallest rate of a delivered flow; NaN when there is none."""
        return float(self.rates[self.rates > 0].min()) if (self.rates > 0).any() else math.nan

    @property
    def fairness(self) -> float:
        """Jain's index of the rates: 1 when all are equal."""
        squares = float(self.rates @ self.rates)
        return self.aggregate**2 / (len(self.rates) * squares) if squares else math.nan


def throughput(fabric: Fabric, flows: Flows, capacity: float = 1.0) -> Throughput:
    """Max-min fair rates of ``flows``, every link carrying ``capacity`` in each direction."""
    capacities = np.full(len(fabric.adjacency.peer), capacity)
    rates = max_min(flows, capacities)
    delivered = int(flows.delivered.sum())
    return Throughput(rates, delivered, bottleneck(fabric, flows, capacity))


def bottleneck(fabric: Fabric, flows: Flows, capacity: float = 1.0) -> float:
    """ABT: the number of delivered flows times the rate of the slowest when all get equal rates."""
    worst = float(flows.loads(len(fabric.adjacency.peer)).max(initial=0.0))
    return int(flows.delivered.sum()) * capacity / worst if worst else math.nan


def max_min(flows: Flows, capacities: Floats) -> Floats:
    """The max-min fair rate of each flow; ``capacities`` by slot, all positive."""
    shares = flows.shares if len(flows.shares) else np.ones(1)
    first = _first(flows.slots, len(capacities))
    crossing = _by_link(flows.start, flows.slots, first)
    growing = flows.loads(len(capacities))
    return _fill(flows.start, flows.slots, shares, first, crossing, growing, capacities.astype(float))


@compiled
def _first(slots: IntArray, size: int) -> Offsets:
    """Per link how many crossings the links before it have."""
    first = np.zeros(size + 1, np.int64)
    for slot in slots:
        first[slot + 1] += 1
    return np.cumsum(first)


@compiled
def _by_link(start: Offsets, slots: IntArray, first: Offsets) -> IntArray:
    """The flows across each link, those of link l from ``first[l]`` on (a counting sort)."""
    place = first.copy()
    crossing = np.empty(len(slots), np.int32)
    for flow in range(len(start) - 1):
        for i in range(start[flow], start[flow + 1]):
            crossing[place[slots[i]]] = flow
            place[slots[i]] += 1
    return crossing


@compiled
def _fill(
    start: Offsets,
    slots: IntArray,
    shares: Floats,
    first: Offsets,
    crossing: IntArray,
    growing: Floats,
    left: Floats,
) -> Floats:
    """``growing`` is the sum of the shares of growing flows by link, ``left`` the capacity that the
    flows at rest leave.  A link's level ``left / growing`` never falls, so the heap may lag behind."""
    rates = np.zeros(len(start) - 1)
    rest = np.zeros(len(start) - 1, np.bool_)
    heap = [(left[link] / growing[link], link) for link in range(len(left)) if growing[link] > 0]
    heapq.heapify(heap)
    while heap:
        level, link = heapq.heappop(heap)
        if growing[link] <= 1e-12:
            continue
        current = left[link] / growing[link]
        if current > level * (1 + 1e-12):
            heapq.heappush(heap, (current, link))
            continue
        for i in range(first[link], first[link + 1]):
            flow = crossing[i]
            if rest[flow]:
                continue
            rest[flow], rates[flow] = True, level
            for j in range(start[flow], start[flow + 1]):
                share = shares[j] if len(shares) > 1 else shares[0]
                growing[slots[j]] -= share
                left[slots[j]] -= share * level
    return rates
