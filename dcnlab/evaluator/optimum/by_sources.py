"""The search that keeps the flow of each source, for millions of pairs.

Memory is sources x arcs.  One source after the other moves its flow, at every node at once, from dear arcs
into the node to the cheapest one, as origin-based traffic assignment does (Bar-Gera, Transportation Science 36,
2002).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from addressing.jit import compiled, inlined
from dcnlab.evaluator.optimum.problem import Problem
from dcnlab.evaluator.optimum.search import FLOOR, Bounds
from dcnlab.evaluator.optimum.shortest import least_cost, send_back
from dcnlab.evaluator.optimum.shortest import search as dijkstra
from topos.arrays import Floats, Longs
from topos.graph import IntArray

#: The certificate is computed every so many rounds, under a mean of the prices of all: each round counts so
#: much less than the next.  That is much closer than the prices of one round.
_CERTIFY, _FORGET = 4, 0.7
#: Prices follow the loads less sharply at first than in the search by paths: that saves a fifth of the rounds.
_FIRST_SHARPNESS = 15.0
#: Up to here a short series is the exponential to a millionth.
_SMALL = 0.25
#: With this slope all flow takes the cheapest arcs.  That always lowers its cost; giving up as much as makes
#: the arcs of each node equal may raise it, where more flow comes to a node than before.
_ALL_AT_ONCE = 1e-300


def improve(problem: Problem, bounds: Bounds, rounds: int) -> Iterator[Floats]:
    """Improve ``bounds`` until the gap is met or ``rounds`` are over; yields each flow better than before,
    a row of arcs for each source."""
    network, demands = problem.network, problem.demands
    flow = np.zeros((len(demands.sources), len(network.head)))
    loads, mixed = np.zeros(len(network.head)), bounds.prices
    rng = np.random.default_rng(0)
    bounds.sharpness = _FIRST_SHARPNESS
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
        mixed = _FORGET * mixed + (1 - _FORGET) * prices if bounds.rounds > 2 else prices
        if bounds.rounds % _CERTIFY == 0:
            bounds.priced(mixed, least_cost(network, demands, mixed))
            if bounds.met():
                return
        bounds.sharpen(loads, prices, float(prices @ loads) / paid)  # an estimate


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
    wanted, distance, scratch = np.zeros(size, np.bool_), np.empty(size), np.empty(size)
    parent, order, rank = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32)
    heap, place, arriving = np.empty(size + 1, np.int32), np.empty(size, np.int32), np.zeros(size)
    better, changed, change, steep = np.empty(arcs), np.empty(arcs, np.int32), np.empty(arcs), np.empty(arcs)
    prices = 1 / capacity if begin else (np.exp(slope * (loads / capacity - top)) + FLOOR) / capacity
    paid, ideal = 0.0, 0.0
    for q in turn:
        for r in range(first[q], first[q + 1]):
            wanted[target[r]] = True
        settled = dijkstra(
            start, head, prices, sources[q], wanted, first[q + 1] - first[q],
            distance, parent, order, rank, heap, place,
        )  # fmt: skip
        pairs = slice(first[q], first[q + 1])
        wanted[target[pairs]] = False
        ideal += (amount[pairs] * distance[target[pairs]]).sum()
        if begin:
            arriving[:], better[:] = 0.0, 0.0
            arriving[target[pairs]] = amount[pairs]
            send_back(start, head, reverse, prices, distance, order, rank, settled, arriving, scratch, better)
            flow[q] = better
            continue
        _curvatures(start, head, reverse, capacity, prices, parent, order, rank, settled, flow[q], scratch)
        for stiff in (slope, _ALL_AT_ONCE):
            arriving[:], better[:] = 0.0, 0.0
            arriving[target[pairs]] = amount[pairs]
            _cheaper(
                start, head, reverse, capacity, prices, stiff, distance, parent, order, rank, settled, flow[q],
                scratch, arriving, better,
            )  # fmt: skip
            cost, lowered = _step(capacity, flow[q], better, slope, loads, prices, changed, change, steep)
            if lowered:
                break
        paid += cost
    return 1.0 if begin else paid / ideal


@compiled
def _curvatures(
    start: Longs, head: IntArray, reverse: IntArray, capacity: Floats, prices: Floats, parent: IntArray,
    order: IntArray, rank: IntArray, settled: int, flow: Floats, curvature: Floats,
) -> None:  # fmt: skip
    """Per node how fast the price of its paths from the source rises with the flow to it, over the slope."""
    curvature[order[0]] = 0.0
    for i in range(1, settled):
        node, inflow, total = order[i], 0.0, 0.0
        for arc in range(start[node], start[node + 1]):
            into, before = reverse[arc], head[arc]
            if flow[into] > 0.0 and 0 <= rank[before] < i:
                inflow += flow[into]
                total += flow[into] ** 2 * (prices[into] / capacity[into] + curvature[before])
        if inflow > 0.0:
            curvature[node] = total / inflow**2
        else:
            into = parent[node]
            curvature[node] = prices[into] / capacity[into] + curvature[head[reverse[into]]]


@compiled
def _cheaper(
    start: Longs, head: IntArray, reverse: IntArray, capacity: Floats, prices: Floats, slope: float,
    distance: Floats, parent: IntArray, order: IntArray, rank: IntArray, settled: int, flow: Floats,
    curvature: Floats, arriving: Floats, better: Floats,
) -> None:  # fmt: skip
    """Add to ``better`` the amounts ``arriving`` at nodes, in the shares of ``flow``, after at every node each
    arc into it has given to the cheapest one what makes them equal: Newton's step."""
    for i in range(settled - 1, 0, -1):
        node = order[i]
        if arriving[node] <= 0.0:
            continue
        cheap, left, inflow = parent[node], arriving[node], 0.0
        rise = prices[cheap] / capacity[cheap] + curvature[head[reverse[cheap]]]
        for arc in range(start[node], start[node + 1]):
            inflow += flow[reverse[arc]]
        for arc in range(start[node], start[node + 1]):
            into, before = reverse[arc], head[arc]
            if flow[into] <= 0.0 or into == cheap or not 0 <= rank[before] < i:
                continue
            dear = distance[before] + prices[into] - distance[node]
            keep = flow[into] - dear / (slope * (rise + prices[into] / capacity[into] + curvature[before]))
            if keep > 0.0:
                better[into] = arriving[node] * keep / inflow
                arriving[before] += better[into]
                left -= better[into]
        better[cheap] += left
        arriving[head[reverse[cheap]]] += left


@compiled
def _step(
    capacity: Floats, flow: Floats, better: Floats, slope: float, loads: Floats, prices: Floats,
    changed: IntArray, change: Floats, steep: Floats,
) -> tuple[float, bool]:  # fmt: skip
    """Move ``flow`` towards ``better`` as far as that lowers the potential.

    Returns what it paid before, and whether ``better`` is cheaper than that; if not, nothing moves.
    ``changed``, ``change`` and ``steep`` are scratch.
    """
    paid, count, falls, bends, largest = 0.0, 0, 0.0, 0.0, 0.0
    for arc in range(len(flow)):
        paid += prices[arc] * flow[arc]
        step = better[arc] - flow[arc]
        if step != 0.0:
            changed[count], steep[count] = arc, prices[arc] * capacity[arc]
            change[count] = slope * step / capacity[arc]
            falls -= steep[count] * change[count]
            bends += steep[count] * change[count] ** 2
            largest = max(largest, change[count])
            count += 1
    if falls <= 0:
        return paid, False
    share = min(1.0, falls / max(bends, 1e-300))
    if share * largest > _SMALL:
        share = _share(steep, change, count)
    for i in range(count):
        arc = changed[i]
        step = share * (better[arc] - flow[arc])
        flow[arc] += step
        loads[arc] += step
        prices[arc] = steep[i] * _exp(share * change[i]) / capacity[arc]
    return paid, True


@inlined
def _exp(x: float) -> float:
    if abs(x) > _SMALL:
        return float(np.exp(x))
    return 1 + x * (1 + x / 2 * (1 + x / 3 * (1 + x / 4 * (1 + x / 5))))


@inlined
def _share(steep: Floats, change: Floats, count: int) -> float:
    """Where sum(steep * exp(share * change)) is least, share from 0 to 1: Newton's method inside a bracket."""
    low, high, share = 0.0, 1.0, 1.0
    for _ in range(20):
        first, second = 0.0, 0.0
        for i in range(count):
            risen = steep[i] * _exp(share * change[i])
            first += risen * change[i]
            second += risen * change[i] ** 2
        if first > 0:
            high = share
        else:
            low = share
        if low == 1.0 or high - low < 0.1 * high:
            break
        share -= first / max(second, 1e-300)
        if not low + 0.1 * (high - low) < share < high - 0.1 * (high - low):
            share = 0.5 * (low + high) if low > 0 else 0.25 * high
    return low
