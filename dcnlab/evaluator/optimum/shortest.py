"""Shortest paths under prices, and even splits over all of them (kernels)."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.jit import compiled, inlined, threaded
from dcnlab.evaluator.optimum.problem import Demands, Network
from topos.arrays import Floats, Longs
from topos.graph import IntArray

#: Values of ``rank`` of nodes that are not settled: never seen; in the heap.
_UNSEEN, _WAITING = -1, -2
#: Two paths are equally long when their lengths differ by less than this share.
_EQUAL = 1e-9
#: Entries of the shortest path trees that are held at a time: arrays of their paths are then small enough to be
#: taken from memory that the process has, which saves a tenth of the time.
TREES = 1 << 16


def split_evenly(network: Network, demands: Demands, price: Floats) -> tuple[Floats, float]:
    """(the load of each arc when every pair uses all its shortest paths evenly, sum of amount * distance)."""
    loads, value = _split_all(
        network.start, network.head, network.reverse, price,
        demands.sources, demands.first, demands.target, demands.amount, numba.get_num_threads(),
    )  # fmt: skip
    return loads.sum(axis=0), float(value.sum())


def least_cost(network: Network, demands: Demands, price: Floats) -> float:
    """The sum of amount * distance."""
    distances, block = np.empty(len(demands)), max(1, TREES // network.size)
    parents = np.empty((block, network.size), np.int32)
    for begin in range(0, len(demands.sources), block):
        shortest_trees(
            network.start, network.head, price, demands.sources, demands.first, demands.target,
            begin, min(begin + block, len(demands.sources)), parents, distances, numba.get_num_threads(),
        )  # fmt: skip
    return float(demands.amount @ distances)


@inlined
def rise(heap: IntArray, key: Floats, place: IntArray, node: int, far: float, slot: int) -> None:
    """Move ``node``, which is ``far`` away, up from ``slot`` to where no parent is farther."""
    while slot > 0:
        parent = (slot - 1) // 2
        if key[parent] <= far:
            break
        heap[slot], key[slot] = heap[parent], key[parent]
        place[heap[slot]] = slot
        slot = parent
    heap[slot], key[slot] = node, far
    place[node] = slot


@inlined
def sink(heap: IntArray, key: Floats, place: IntArray, node: int, far: float, size: int) -> None:
    """Put ``node``, which is ``far`` away, at the top and move it down to where no child is nearer."""
    slot = 0
    while True:
        child = 2 * slot + 1
        if child >= size:
            break
        if child + 1 < size and key[child + 1] < key[child]:
            child += 1
        if key[child] >= far:
            break
        heap[slot], key[slot] = heap[child], key[child]
        place[heap[slot]] = slot
        slot = child
    heap[slot], key[slot] = node, far
    place[node] = slot


@compiled
def search(
    start: Longs,
    head: IntArray,
    price: Floats,
    source: int,
    wanted: NDArray[np.bool_],
    left: int,
    distance: Floats,
    parent: IntArray,
    order: IntArray,
    rank: IntArray,
    heap: IntArray,
    place: IntArray,
) -> int:
    """Dijkstra's search until ``left`` wanted nodes are settled.

    Returns how many nodes are settled: ``order`` has them by distance, ``rank`` their places in it, ``parent``
    the arc into each.
    """
    distance[:] = np.inf
    rank[:] = _UNSEEN
    distance[source], rank[source] = 0.0, _WAITING
    key = np.empty(len(heap))
    heap[0], key[0], place[source], size, settled = source, 0.0, 0, 1, 0
    while size > 0:
        node, here = heap[0], key[0]
        size -= 1
        if size > 0:
            sink(heap, key, place, heap[size], key[size], size)
        rank[node], order[settled] = settled, node
        settled += 1
        if wanted[node]:
            left -= 1
            if left == 0:
                break
        for arc in range(start[node], start[node + 1]):
            there = head[arc]
            length = here + price[arc]
            if rank[there] < 0 and length < distance[there]:
                if rank[there] == _UNSEEN:
                    rank[there], place[there] = _WAITING, size
                    size += 1
                distance[there], parent[there] = length, arc
                rise(heap, key, place, there, length, place[there])
    return settled


@compiled
def send_back(
    start: Longs,
    head: IntArray,
    reverse: IntArray,
    price: Floats,
    distance: Floats,
    order: IntArray,
    rank: IntArray,
    settled: int,
    arriving: Floats,
    paths: Floats,
    loads: Floats,
) -> None:
    """Add to ``loads`` the amounts ``arriving`` at nodes, over all shortest paths from ``order[0]`` evenly.

    ``paths`` and ``arriving`` are scratch of one number per node.
    """
    paths[order[0]] = 1.0
    for i in range(1, settled):
        node = order[i]
        paths[node] = 0.0
        for arc in range(start[node], start[node + 1]):
            before = head[arc]
            if 0 <= rank[before] < i and tight(distance, price, before, node, reverse[arc]):
                paths[node] += paths[before]
    for i in range(settled - 1, 0, -1):
        node = order[i]
        if arriving[node] <= 0.0:
            continue
        for arc in range(start[node], start[node + 1]):
            before = head[arc]
            if 0 <= rank[before] < i and tight(distance, price, before, node, reverse[arc]):
                part = arriving[node] * paths[before] / paths[node]
                loads[reverse[arc]] += part
                arriving[before] += part


@inlined
def tight(distance: Floats, price: Floats, before: int, node: int, arc: int) -> bool:
    """Whether ``arc`` from ``before`` to ``node`` lies on a shortest path."""
    return distance[before] + price[arc] <= distance[node] * (1 + _EQUAL)  # type: ignore[no-any-return]


@threaded
def _split_all(
    start: Longs,
    head: IntArray,
    reverse: IntArray,
    price: Floats,
    sources: IntArray,
    first: Longs,
    target: IntArray,
    amount: Floats,
    threads: int,
) -> tuple[Floats, Floats]:
    """Per thread the loads of its sources' even splits, and the sum of amount * distance."""
    size = len(start) - 1
    loads, value = np.zeros((threads, len(head))), np.zeros(threads)
    for thread in numba.prange(threads):
        wanted, distance, paths = np.zeros(size, np.bool_), np.empty(size), np.empty(size)
        parent, order, rank, heap, place = (
            np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32),
            np.empty(size + 1, np.int32), np.empty(size, np.int32),
        )  # fmt: skip
        arriving = np.zeros(size)
        for q in range(thread, len(sources), threads):
            for r in range(first[q], first[q + 1]):
                wanted[target[r]] = True
            settled = search(
                start, head, price, sources[q], wanted, first[q + 1] - first[q],
                distance, parent, order, rank, heap, place,
            )  # fmt: skip
            arriving[:] = 0.0
            for r in range(first[q], first[q + 1]):
                wanted[target[r]] = False
                arriving[target[r]] = amount[r]
                value[thread] += amount[r] * distance[target[r]]
            send_back(
                start, head, reverse, price, distance, order, rank, settled, arriving, paths, loads[thread]
            )
    return loads, value


@threaded
def shortest_trees(
    start: Longs,
    head: IntArray,
    price: Floats,
    sources: IntArray,
    first: Longs,
    target: IntArray,
    begin: int,
    end: int,
    parents: IntArray,
    distances: Floats,
    threads: int,
) -> None:
    """Per source from ``begin`` to ``end`` a row of ``parents``: the arc into each node on a shortest path.

    ``distances`` gets the distance of each pair.
    """
    size = len(start) - 1
    for thread in numba.prange(threads):
        wanted, distance = np.zeros(size, np.bool_), np.empty(size)
        order, rank, heap, place = (
            np.empty(size, np.int32), np.empty(size, np.int32),
            np.empty(size + 1, np.int32), np.empty(size, np.int32),
        )  # fmt: skip
        for q in range(begin + thread, end, threads):
            for r in range(first[q], first[q + 1]):
                wanted[target[r]] = True
            search(
                start, head, price, sources[q], wanted, first[q + 1] - first[q],
                distance, parents[q - begin], order, rank, heap, place,
            )  # fmt: skip
            for r in range(first[q], first[q + 1]):
                wanted[target[r]] = False
                distances[r] = distance[target[r]]


@compiled
def trace(
    tail: IntArray, source: IntArray, target: IntArray, row: Longs, parents: IntArray
) -> tuple[IntArray, IntArray]:
    """The path of each pair back from its target along ``parents[row]``: (arcs in rows, their numbers)."""
    lengths = np.zeros(len(source), np.int32)
    for i in range(len(source)):
        node = target[i]
        while node != source[i]:
            lengths[i] += 1
            node = tail[parents[row[i], node]]
    rows = np.empty((len(source), max(1, lengths.max())), np.int32)
    for i in range(len(source)):
        node = target[i]
        for place in range(lengths[i]):
            rows[i, place] = parents[row[i], node]
            node = tail[rows[i, place]]
    return rows, lengths
