"""The optimum over some paths only: the k shortest, those of some more hops than the shortest, or Valiant's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from addressing.jit import compiled, threaded
from dcnlab.evaluator.graph.paths.simple_paths import k_shortest
from dcnlab.evaluator.optimum.by_paths import Extend
from dcnlab.evaluator.optimum.pool import Pool
from dcnlab.evaluator.optimum.problem import Demands, Network
from topos.arrays import Floats, Longs
from topos.graph import NONE, IntArray
from topos.spec import SpecError

Hops = NDArray[np.int32]
#: Pairs whose paths are held in rows at a time.
_PAIRS = 1 << 16


@dataclass(frozen=True)
class Limit:
    """Which paths a pair may use, counted in hops between switches or relaying servers.

    ``k``: its ``number`` shortest simple paths.  ``slack``: all with at most ``number`` hops more than the
    shortest.  ``valiant``: a shortest path to any node, and a shortest path from there.
    """

    kind: Literal["k", "slack", "valiant"]
    number: int = 0

    def __str__(self) -> str:
        return self.kind if self.kind == "valiant" else f"{self.kind}={self.number}"


def read_limit(text: str) -> Limit | None:
    """Parse ``k=8``, ``slack=1`` or ``valiant``; None for an empty text.  Raises SpecError with one line."""
    if not text:
        return None
    kind, _, number = text.partition("=")
    if text == "valiant":
        return Limit("valiant")
    if kind == "k" and number.isdecimal() and 1 <= int(number) <= 128:
        return Limit("k", int(number))
    if kind == "slack" and number.isdecimal() and int(number) <= 64:
        return Limit("slack", int(number))
    raise SpecError(f"paths: cannot read {text!r}: write k=8 (1 to 128), slack=1 (0 to 64) or valiant")


def over(limit: Limit, network: Network, demands: Demands) -> Extend:
    """The cheapest path of each pair that ``limit`` allows."""
    if limit.kind == "k":
        return _over_k(network, demands, limit.number)
    return (
        _over_slack(network, demands, limit.number)
        if limit.kind == "slack"
        else _over_valiant(network, demands)
    )


def _hops(network: Network) -> Hops:
    """The distances of all nodes in hops."""
    graph = csr_array((np.ones(len(network.head)), network.head, network.start), (network.size, network.size))
    return np.asarray(shortest_path(graph, unweighted=True), dtype=np.int32)


def _blocks(demands: Demands) -> Iterator[tuple[int, int]]:
    """Ranges of sources, each with about ``_PAIRS`` pairs."""
    begin = 0
    while begin < len(demands.sources):
        most = int(np.searchsorted(demands.first, demands.first[begin] + _PAIRS, "right")) - 1
        yield begin, max(begin + 1, most)
        begin = max(begin + 1, most)


# --- the k shortest -----------------------------------------------------------------


def _over_k(network: Network, demands: Demands, k: int) -> Extend:
    source, added = demands.source, False

    def add(pool: Pool) -> None:
        for begin, end in _blocks(demands):
            pairs = slice(int(demands.first[begin]), int(demands.first[end]))
            rows, lengths = _k_rows(network, source[pairs], demands.target[pairs], k)
            for rank in range(k):
                pool.insert(pairs.start, rows[:, rank], lengths[:, rank])

    def extend(pool: Pool, prices: Floats) -> Floats:
        nonlocal added
        if not added:
            add(pool)
            added = True
        return pool.cheapest(prices)

    return extend


def _k_rows(network: Network, source: IntArray, target: IntArray, k: int) -> tuple[IntArray, IntArray]:
    """``rows[i, rank, : lengths[i, rank]]``: the arcs of a path; where a pair has fewer, its first again."""
    width = 16
    while True:
        rows = np.empty((len(source), k, width), np.int32)
        lengths = _fill_k(network.start, network.head, source, target, rows)
        if lengths.max(initial=0) <= width:
            return rows, lengths
        width = int(lengths.max())


@threaded
def _fill_k(start: Longs, head: IntArray, source: IntArray, target: IntArray, rows: IntArray) -> IntArray:
    """Fill ``rows`` where they are long enough; returns the lengths of the paths."""
    pairs, k, width = rows.shape
    lengths = np.zeros((pairs, k), np.int32)
    for i in numba.prange(pairs):
        nodes, first = k_shortest(start, head, int(source[i]), int(target[i]), k)
        for rank in range(k):
            path = rank if rank < len(first) - 1 else 0
            lengths[i, rank] = first[path + 1] - first[path] - 1
            for place in range(min(width, lengths[i, rank])):
                tail, there = nodes[first[path] + place], nodes[first[path] + place + 1]
                row = head[start[tail] : start[tail + 1]]
                rows[i, rank, place] = start[tail] + np.searchsorted(row, there)
    return lengths


# --- some more hops than the shortest -------------------------------------------------


def _over_slack(network: Network, demands: Demands, slack: int) -> Extend:
    hops = _hops(network)

    def extend(pool: Pool, prices: Floats) -> Floats:
        distances = np.empty(len(demands))
        for begin, end in _blocks(demands):
            rows, lengths = _fill_slack(
                network.start, network.head, network.reverse, prices, hops, slack,
                demands.sources, demands.first, demands.target, begin, end, distances,
            )  # fmt: skip
            pool.insert(int(demands.first[begin]), rows, lengths)
        return distances

    return extend


@threaded
def _fill_slack(
    start: Longs, head: IntArray, reverse: IntArray, prices: Floats, hops: Hops, slack: int,
    sources: IntArray, first: Longs, target: IntArray, begin: int, end: int, distances: Floats,
) -> tuple[IntArray, IntArray]:  # fmt: skip
    """Per pair its cheapest path of at most ``hops + slack`` hops, backwards; fills ``distances``."""
    base, longest = first[begin], hops.max() + slack
    rows = np.empty((first[end] - base, longest), np.int32)
    lengths = np.zeros(len(rows), np.int32)
    for q in numba.prange(begin, end):
        cost, into = _by_hops(start, head, reverse, prices, sources[q], longest)
        for pair in range(first[q], first[q + 1]):
            node, left = target[pair], hops[sources[q], target[pair]] + slack
            distances[pair] = cost[left, node]
            while node != sources[q]:
                while into[left, node] == NONE:  # the cheapest has fewer hops
                    left -= 1
                arc = into[left, node]
                rows[pair - base, lengths[pair - base]] = arc
                lengths[pair - base] += 1
                node = head[reverse[arc]]
                left -= 1
    return rows, lengths


@compiled
def _by_hops(
    start: Longs, head: IntArray, reverse: IntArray, prices: Floats, source: int, longest: int
) -> tuple[Floats, IntArray]:
    """``[h, v]``: the least price of a path to v of at most h hops, and its last arc; NONE where one hop less
    is as cheap."""
    size = len(start) - 1
    cost, into = np.full((longest + 1, size), np.inf), np.full((longest + 1, size), NONE, np.int32)
    cost[0, source] = 0.0
    for h in range(1, longest + 1):
        for node in range(size):
            cost[h, node] = cost[h - 1, node]
            for arc in range(start[node], start[node + 1]):
                price = cost[h - 1, head[arc]] + prices[reverse[arc]]
                if price < cost[h, node]:
                    cost[h, node], into[h, node] = price, reverse[arc]
    return cost, into


# --- Valiant's ------------------------------------------------------------------------


def _over_valiant(network: Network, demands: Demands) -> Extend:
    hops, source = _hops(network), demands.source

    def extend(pool: Pool, prices: Floats) -> Floats:
        distances = np.empty(len(demands))
        cost, into = _among_shortest(network.start, network.head, network.reverse, prices, hops)
        towards = np.ascontiguousarray(cost.T)
        for begin, end in _blocks(demands):
            pairs = slice(int(demands.first[begin]), int(demands.first[end]))
            rows, lengths = _fill_valiant(
                network.tail, source[pairs], demands.target[pairs], cost, towards, into,
                2 * int(hops.max()), distances[pairs],
            )  # fmt: skip
            pool.insert(pairs.start, rows, lengths)
        return distances

    return extend


@threaded
def _among_shortest(
    start: Longs, head: IntArray, reverse: IntArray, prices: Floats, hops: Hops
) -> tuple[Floats, IntArray]:
    """``[s, v]``: the least price of a path from s to v among those of fewest hops, and its last arc."""
    size = len(start) - 1
    cost, into = np.full((size, size), np.inf), np.full((size, size), NONE, np.int32)
    for s in numba.prange(size):
        cost[s, s] = 0.0
        for node in np.argsort(hops[s]):
            for arc in range(start[node], start[node + 1]):
                price = cost[s, head[arc]] + prices[reverse[arc]]
                if hops[s, head[arc]] == hops[s, node] - 1 and price < cost[s, node]:
                    cost[s, node], into[s, node] = price, reverse[arc]
    return cost, into


@threaded
def _fill_valiant(
    tail: IntArray, source: IntArray, target: IntArray, cost: Floats, towards: Floats, into: IntArray,
    longest: int, distances: Floats,
) -> tuple[IntArray, IntArray]:  # fmt: skip
    """Per pair its cheapest path by any node, from its target backwards; ``towards`` is ``cost`` transposed."""
    rows, lengths = np.empty((len(source), longest), np.int32), np.zeros(len(source), np.int32)
    for i in numba.prange(len(source)):
        by_way = cost[source[i]] + towards[target[i]]
        middle = np.argmin(by_way)
        distances[i] = by_way[middle]
        node = target[i]
        for leg in range(2):
            begin = source[i] if leg else middle
            while node != begin:
                arc = into[begin, node]
                rows[i, lengths[i]] = arc
                lengths[i] += 1
                node = tail[arc]
    return rows, lengths
