"""The search that keeps some paths of each pair: prices find new ones, shifts of flow balance them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numba
import numpy as np

from dcnlab.evaluator.optimum.both_ends import cheaper_paths
from dcnlab.evaluator.optimum.pool import Pool, balance
from dcnlab.evaluator.optimum.problem import Demands, Network, Problem
from dcnlab.evaluator.optimum.search import FLOOR, Bounds
from dcnlab.evaluator.optimum.shortest import TREES, shortest_trees, trace
from topos.arrays import Floats
from topos.graph import NONE

#: Finds for every pair the cheapest path under prices, adds it to the pool, and returns its price.
Extend = Callable[[Pool, Floats], Floats]

#: New paths are sought under a mean of the current prices and the best so far, which is steadier.
_MIX = 0.5
#: Paths of a pair are equally cheap when their prices differ by this share of the gap.
_EQUAL = 0.15
#: The most passes of shifts between two searches for paths.
_PASSES = 200
#: With at most so many targets per source, paths are searched pair by pair, from both ends.
_FEW = 4
#: So many paths of single pairs are held at a time, and room for so many arcs of each; longer ones take more.
_PAIRS, _ROOM = 1 << 12, 64


def improve(problem: Problem, bounds: Bounds, rounds: int, pool: Pool, extend: Extend) -> Iterator[Pool]:
    """Improve ``bounds`` until the gap is met or ``rounds`` are over; yields each flow better than before.

    The one after the next may overwrite it.
    """
    network, amount = problem.network, pool.demands.amount
    last: Pool | None = None
    spare: Pool | None = None
    mark, token = np.zeros(len(network.head), np.int64), 1
    prices = bounds.prices
    while bounds.rounds < rounds:
        bounds.rounds += 1
        mixed = (1 - _MIX) * prices + _MIX * bounds.prices
        cost = (1 + pool.mirrored) * float(amount @ extend(pool, mixed))
        bounds.priced(mixed, cost)
        loads = pool.loads()
        if bounds.feasible(loads):
            last, spare = pool.copy(spare), last
            yield last
        if bounds.met():
            return
        paid = bounds.sharpen(loads, mixed, cost) if bounds.rounds > 1 else 9.0
        slope = bounds.sharpness / bounds.top
        steep = np.exp(slope * (loads / network.capacity - bounds.top))
        prices = (steep + FLOOR) / network.capacity
        for done in range(_PASSES):  # until the pool fits its prices better than these fit the loads
            token, now, ideal = balance(
                amount, pool.arcs, pool.at, pool.length, pool.count, pool.flow,
                loads, steep, prices, network.capacity, slope, mark, token, _EQUAL * bounds.gap,
            )  # fmt: skip
            if done > 2 and now / ideal - 1 < max(0.1 * bounds.gap, 0.15 * min(paid - 1, 1.0)):
                break
        prices = prices[pool.number]
        prices /= network.capacity @ prices


def over_all_paths(network: Network, demands: Demands) -> Extend:
    """The cheapest of all paths, by Dijkstra's searches."""
    few = len(demands) <= _FEW * len(demands.sources)
    return _from_both_ends(network, demands) if few else _by_trees(network, demands)


def _from_both_ends(network: Network, demands: Demands) -> Extend:
    """Pair by pair."""
    threads, source = numba.get_num_threads(), demands.source
    rows = np.empty((min(len(demands), _PAIRS), _ROOM), np.int32)

    def extend(pool: Pool, prices: Floats) -> Floats:
        nonlocal rows
        distances = pool.cheapest(prices)
        for begin in range(0, len(demands), len(rows)):
            pairs = slice(begin, min(begin + len(rows), len(demands)))
            lengths = np.full(pairs.stop - begin, NONE, np.int32)
            while True:
                cheaper_paths(
                    network.start, network.head, network.reverse, prices, source[pairs], demands.target[pairs],
                    distances[pairs], rows, lengths, threads,
                )  # fmt: skip
                if lengths.min() >= 0:
                    break
                rows = np.pad(rows, ((0, 0), (0, int(NONE - lengths.min()) - rows.shape[1])))
                lengths[lengths < 0] = NONE
            pool.insert(begin, rows, lengths)
        return distances

    return extend


def _by_trees(network: Network, demands: Demands) -> Extend:
    """A tree from each source."""
    threads = numba.get_num_threads()
    source, rank = demands.source, np.repeat(np.arange(len(demands.sources)), np.diff(demands.first))
    block = max(1, min(len(demands.sources), TREES // network.size))
    parents = np.empty((block, network.size), np.int32)

    def extend(pool: Pool, prices: Floats) -> Floats:
        distances = np.empty(len(demands))
        for begin in range(0, len(demands.sources), block):
            end = min(begin + block, len(demands.sources))
            shortest_trees(
                network.start, network.head, prices, demands.sources, demands.first, demands.target,
                begin, end, parents, distances, threads,
            )  # fmt: skip
            pairs = slice(demands.first[begin], demands.first[end])
            rows, lengths = trace(
                network.tail, source[pairs], demands.target[pairs], rank[pairs] - begin, parents
            )
            pool.insert(pairs.start, rows, lengths)
        return distances

    return extend
