"""Cheapest paths of single pairs, searched from both ends at once (kernels).

Where each source has few targets, that settles far fewer nodes than a tree from each source: two balls of half
the radius.
"""

from __future__ import annotations

import numba
import numpy as np

from addressing.jit import compiled, inlined, threaded
from dcnlab.evaluator.optimum.shortest import rise, sink
from topos.arrays import Floats, Longs
from topos.graph import NONE, IntArray


@threaded
def cheaper_paths(
    start: Longs, head: IntArray, reverse: IntArray, price: Floats, source: IntArray, target: IntArray,
    known: Floats, rows: IntArray, lengths: IntArray, threads: int,
) -> None:  # fmt: skip
    """Per pair a path of least price if that is less than ``known``: ``rows[i, : lengths[i]]``, backwards.

    ``known`` becomes the least price.  A length of 0 says that no path is cheaper; pairs whose length is not
    NONE are left alone.  A path that is longer than a row is not written, nor is its price: its length becomes
    NONE - length.
    """
    size = len(start) - 1
    back = price[reverse]
    for thread in numba.prange(threads):
        far, far_back = np.empty(size), np.empty(size)
        into, into_back = np.empty(size, np.int32), np.empty(size, np.int32)
        heap, heap_back = np.empty(size + 1, np.int32), np.empty(size + 1, np.int32)
        key, key_back = np.empty(size + 1), np.empty(size + 1)
        place, place_back = np.empty(size, np.int32), np.empty(size, np.int32)
        for i in range(thread, len(source), threads):
            if lengths[i] != NONE:
                continue
            best, meet = _search(
                start, head, price, back, source[i], target[i], known[i],
                far, far_back, into, into_back, heap, heap_back, key, key_back, place, place_back,
            )  # fmt: skip
            if meet == NONE:
                lengths[i] = 0
                continue
            lengths[i] = _trace(head, reverse, source[i], target[i], meet, into, into_back, rows[i])
            if lengths[i] >= 0:
                known[i] = best


@compiled
def _search(
    start: Longs, head: IntArray, price: Floats, back: Floats, source: int, target: int, known: float,
    far: Floats, far_back: Floats, into: IntArray, into_back: IntArray, heap: IntArray, heap_back: IntArray,
    key: Floats, key_back: Floats, place: IntArray, place_back: IntArray,
) -> tuple[float, int]:  # fmt: skip
    """(the least price, a node on such a path), or (``known``, NONE) where no path is cheaper than ``known``.

    ``into`` has the arc by which each node is reached from the source, ``into_back`` the reverse of the arc by
    which it reaches the target.
    """
    far[:], far_back[:] = np.inf, np.inf
    place[:], place_back[:] = NONE, NONE
    best, meet = known, NONE
    far[source], heap[0], key[0], place[source], size = 0.0, source, 0.0, 0, 1
    far_back[target], heap_back[0], key_back[0], place_back[target], size_back = 0.0, target, 0.0, 0, 1
    while size > 0 and size_back > 0 and key[0] + key_back[0] < best:
        if size <= size_back:
            size, best, meet = _step(
                start, head, price, far, far_back, into, heap, key, place, size, key_back[0], best, meet
            )
        else:
            size_back, best, meet = _step(
                start, head, back, far_back, far, into_back, heap_back, key_back, place_back, size_back,
                key[0], best, meet,
            )  # fmt: skip
    return best, meet


@inlined
def _step(
    start: Longs, head: IntArray, price: Floats, far: Floats, other: Floats, into: IntArray, heap: IntArray,
    key: Floats, place: IntArray, size: int, least: float, best: float, meet: int,
) -> tuple[int, float, int]:  # fmt: skip
    """Settle the nearest node of one side.

    Nodes that the ``other`` has not settled are at least ``least`` away from its end; those that it has need
    not be settled here.
    """
    node, here = heap[0], key[0]
    size -= 1
    if size > 0:
        sink(heap, key, place, heap[size], key[size], size)
    for arc in range(start[node], start[node + 1]):
        there = head[arc]
        length = here + price[arc]
        if length >= far[there]:
            continue
        far[there], into[there] = length, arc
        if length + other[there] < best:
            best, meet = length + other[there], there
        if length + least < best and other[there] > least:
            if place[there] == NONE:
                place[there] = size
                size += 1
            rise(heap, key, place, there, length, place[there])
    return size, best, meet


@inlined
def _trace(
    head: IntArray, reverse: IntArray, source: int, target: int, meet: int, into: IntArray, into_back: IntArray,
    row: IntArray,
) -> int:  # fmt: skip
    """Write the path back from the target; returns its length, or NONE - length where the row is too short."""
    half, node = 0, meet
    while node != target:
        node = head[reverse[into_back[node]]]
        half += 1
    length, node = half, meet
    while node != source:
        node = head[reverse[into[node]]]
        length += 1
    if length > len(row):
        return NONE - length
    place, node = half, meet
    while node != target:
        place -= 1
        row[place] = reverse[into_back[node]]
        node = head[row[place]]
    place, node = half, meet
    while node != source:
        row[place] = into[node]
        node = head[reverse[row[place]]]
        place += 1
    return length
