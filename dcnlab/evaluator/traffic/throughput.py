"""Max-min fair rates by progressive filling, and the aggregate bottleneck throughput (ABT).

The rates of all flows grow equally until a directed link is full.  The flows across it keep their
rates, the others grow further.  The result is max-min fair: every flow crosses a full link on
which no flow has a higher rate (Bertsekas and Gallager, Data Networks, 6.5.2).
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np

from addressing.jit import compiled
from dcnlab.evaluator.traffic.capacities import port_capacities
from dcnlab.evaluator.traffic.flows import Flows
from topos.arrays import Floats, Longs
from topos.fabric import Fabric
from topos.graph import IntArray


@dataclass(frozen=True, eq=False)
class Throughput:
    """Rates in the unit of ``capacity``; flows that are not delivered have rate 0."""

    rates: Floats
    delivered: int
    #: Aggregate bottleneck throughput: see :func:`bottleneck`.
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
        """Jain's fairness index of the rates: 1 when all are equal."""
        squares = float(self.rates @ self.rates)
        return self.aggregate**2 / (len(self.rates) * squares) if squares else math.nan


def throughput(
    fabric: Fabric, flows: Flows, capacity: float = 1.0, amounts: Floats | None = None
) -> Throughput:
    """Max-min fair rates of ``flows``; a link has ``capacity`` in each direction, times what its file states.

    With ``amounts`` (weighted traffic) the rates of flows grow in proportion to them.
    """
    capacities = capacity * port_capacities(fabric)
    some = flows if amounts is None else flows.scaled(amounts)
    rates = max_min(some, capacities)
    weights = np.ones(len(flows)) if amounts is None else amounts
    delivered = int(flows.delivered.sum())
    return Throughput(rates * weights, delivered, bottleneck(fabric, flows, capacity, amounts))


def bottleneck(fabric: Fabric, flows: Flows, capacity: float = 1.0, amounts: Floats | None = None) -> float:
    """The ABT: the sum of the rates of delivered flows when all are equal, or in proportion to ``amounts``."""
    some = flows if amounts is None else flows.scaled(amounts)
    loads = some.loads(len(fabric.adjacency.peer)) / port_capacities(fabric)
    worst = float(loads.max(initial=0.0))
    whole = float(flows.delivered.sum() if amounts is None else amounts[flows.delivered].sum())
    return whole * capacity / worst if worst else math.nan


def max_min(flows: Flows, capacities: Floats) -> Floats:
    """The max-min fair rate of each flow; ``capacities`` per directed link, all positive."""
    shares = flows.shares if len(flows.shares) else np.ones(1)
    rates = rates_by_row(flows.start, flows.links, shares, capacities.astype(float))
    return np.asarray(rates.reshape(-1, flows.subflows).mean(axis=1))


@compiled
def _row_starts(links: IntArray, size: int) -> Longs:
    """Per link the number of crossings of all links before it."""
    first = np.zeros(size + 1, np.int64)
    for link in links:
        first[link + 1] += 1
    return np.cumsum(first)


@compiled
def _flows_by_link(start: Longs, links: IntArray, first: Longs) -> IntArray:
    """The flows across each link, those of link l from index ``first[l]`` on (a counting sort)."""
    place = first.copy()
    crossing = np.empty(len(links), np.int32)
    for flow in range(len(start) - 1):
        for i in range(start[flow], start[flow + 1]):
            crossing[place[links[i]]] = flow
            place[links[i]] += 1
    return crossing


@compiled
def rates_by_row(start: Longs, links: IntArray, shares: Floats, capacities: Floats) -> Floats:
    """As :func:`max_min`, for kernels: row i crosses ``links[start[i]:start[i + 1]]`` with ``shares`` of it."""
    first = _row_starts(links, len(capacities))
    crossing = _flows_by_link(start, links, first)
    growing = np.zeros(len(capacities))
    for i in range(len(links)):
        growing[links[i]] += shares[i] if len(shares) > 1 else shares[0]
    return _fill(start, links, shares, first, crossing, growing, capacities.copy())


@compiled
def _fill(
    start: Longs,
    links: IntArray,
    shares: Floats,
    first: Longs,
    crossing: IntArray,
    growing: Floats,
    left: Floats,
) -> Floats:
    """Progressive filling.

    Per link, ``growing`` is the sum of the shares of flows that still grow, ``left`` the capacity
    not used by fixed flows.  The level ``left / growing`` of a link never falls, so an outdated
    heap entry is only too low and is pushed again.
    """
    rates = np.zeros(len(start) - 1)
    fixed = np.zeros(len(start) - 1, np.bool_)
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
            if fixed[flow]:
                continue
            fixed[flow], rates[flow] = True, level
            for j in range(start[flow], start[flow + 1]):
                share = shares[j] if len(shares) > 1 else shares[0]
                growing[links[j]] -= share
                left[links[j]] -= share * level
    return rates
