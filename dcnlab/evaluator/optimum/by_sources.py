"""The search that keeps the flow of each source: block-coordinate Frank-Wolfe, for millions of pairs.

Memory is sources x arcs.  One source after the other moves its flow towards even shares of its shortest paths.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from addressing.jit import compiled, inlined
from dcnlab.evaluator.optimum.problem import Problem
from dcnlab.evaluator.optimum.search import FLOOR, Bounds
from dcnlab.evaluator.optimum.shortest import search as dijkstra
from dcnlab.evaluator.optimum.shortest import send_back, split_evenly
from topos.arrays import Floats, Longs
from topos.graph import IntArray

_SHARPNESS = 60.0
#: The certificate costs as much as a round: it is computed when it may do, and every so many rounds.
_CERTIFY = 8


def improve(problem: Problem, bounds: Bounds, rounds: int) -> Iterator[Floats]:
    """Improve ``bounds`` until the gap is met or ``rounds`` are over; yields each flow better than before,
    a row of arcs for each source."""
    network, demands = problem.network, problem.demands
    flow = np.zeros((len(demands.sources), len(network.head)))
    loads = np.zeros(len(network.head))
    rng = np.random.default_rng(0)
    bounds.sharpness = _SHARPNESS
    while bounds.rounds < rounds:
        turn = rng.permutation(len(demands.sources))
        paid = _round(
            network.start, network.head, network.reverse, network.capacity,
            demands.sources, demands.first, demands.target, demands.amount,
            flow, loads, bounds.sharpness / bounds.top, bounds.top, turn, bounds.rounds == 0,
        )  # fmt: skip
        bounds.rounds += 1
        loads = flow.sum(axis=0)
        if bounds.feasible(loads):
            yield flow.copy()
        prices = bounds.prices_of(loads)
        cost = float(prices @ loads) / paid  # an estimate
        if bounds.top * cost < 1.1 * bounds.gap + 1 or bounds.rounds % _CERTIFY == 1:
            cost = split_evenly(network, demands, prices)[1]
            bounds.priced(prices, cost)
            if bounds.met():
                return
        bounds.sharpen(loads, prices, cost)


@compiled
def _round(
    start: Longs, head: IntArray, reverse: IntArray, capacity: Floats,
    sources: IntArray, first: Longs, target: IntArray, amount: Floats,
    flow: Floats, loads: Floats, slope: float, top: float, turn: Longs, begin: bool,
) -> float:  # fmt: skip
    """One step of each source; returns cost paid / least cost, at the prices that each source met.

    With ``begin`` there is no flow yet: all take their shortest paths by capacity.
    """
    size, arcs = len(start) - 1, len(head)
    wanted, distance, paths = np.zeros(size, np.bool_), np.empty(size), np.empty(size)
    parent, order, rank = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32)
    heap, place, arriving = np.empty(size + 1, np.int32), np.empty(size, np.int32), np.zeros(size)
    better, changed = np.empty(arcs), np.empty(arcs, np.int32)
    now, change = np.empty(arcs), np.empty(arcs)
    prices = 1 / capacity if begin else (np.exp(slope * (loads / capacity - top)) + FLOOR) / capacity
    paid, ideal = 0.0, 0.0
    for q in turn:
        for r in range(first[q], first[q + 1]):
            wanted[target[r]] = True
        settled = dijkstra(
            start, head, prices, sources[q], wanted, first[q + 1] - first[q],
            distance, parent, order, rank, heap, place,
        )  # fmt: skip
        arriving[:], better[:] = 0.0, 0.0
        for r in range(first[q], first[q + 1]):
            wanted[target[r]] = False
            arriving[target[r]] = amount[r]
            ideal += amount[r] * distance[target[r]]
        send_back(start, head, reverse, prices, distance, order, rank, settled, arriving, paths, better)
        if begin:
            flow[q] = better
            loads += better
            paid = ideal
            continue
        count = 0
        for arc in range(arcs):
            paid += prices[arc] * flow[q, arc]
            step = better[arc] - flow[q, arc]
            if step != 0.0:
                changed[count] = arc
                now[count] = slope * (loads[arc] / capacity[arc] - top)
                change[count] = slope * step / capacity[arc]
                count += 1
        share = _share(now, change, count)
        for i in range(count):
            arc = changed[i]
            step = share * (better[arc] - flow[q, arc])
            flow[q, arc] += step
            loads[arc] += step
            prices[arc] = (np.exp(slope * (loads[arc] / capacity[arc] - top)) + FLOOR) / capacity[arc]
    return paid / ideal


@inlined
def _share(now: Floats, change: Floats, count: int) -> float:
    """Where sum(exp(now + share * change)) is least, share from 0 to 1: Newton's method inside a bracket."""
    low, high, share = 0.0, 1.0, 1.0
    for _ in range(20):
        first, second = 0.0, 0.0
        for i in range(count):
            steep = np.exp(now[i] + share * change[i])
            first += (steep + FLOOR) * change[i]
            second += steep * change[i] ** 2
        if first > 0:
            high = share
        else:
            low = share
        if low == 1.0 or high - low < 0.02 * high:
            break
        share -= first / max(second, 1e-300)
        if not low + 0.1 * (high - low) < share < high - 0.1 * (high - low):
            share = 0.5 * (low + high) if low > 0 else 0.25 * high
    return low
