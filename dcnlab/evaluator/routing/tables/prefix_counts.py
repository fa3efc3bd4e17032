"""The number and the lengths of the prefixes of :func:`addressing.algorithms.cover.prefixes`, for many nodes.

All nodes decide over the same values, so the binary trie of the values is built once.  Its chains of
blocks that contain the same values are one block here: the shortest of their prefixes is written.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np

from addressing.jit import compiled, inlined, threaded
from topos.arrays import Longs, Words
from topos.graph import NONE, IntArray

#: The most bits of a value, and the most different decisions.
WIDTH = 64


@dataclass(frozen=True, eq=False)
class Trie:
    """The blocks of a set of values, each before its halves: ``low[i]`` and ``high[i]`` are the halves of
    block i, and ``length[i]`` its prefix; a block of one value has no halves, ``low[i]`` is ``NONE``, and
    ``high[i]`` is the value's index."""

    low: IntArray
    high: IntArray
    length: IntArray

    @classmethod
    def of(cls, values: Words, bits: int) -> Trie:
        """The trie of different values of ``bits`` bits, at most 64, in ascending order."""
        return cls(*_grow(values, bits))

    def prefixes(self, decisions: Words) -> Longs:
        """An array of shape (nodes, 2): the number of prefixes that state row i of ``decisions``, and the
        sum of their lengths.

        ``decisions[i, j]`` is one bit that stands for the decision about value j, 0 for a don't-care.
        Among equally good decisions for a block the lowest bit is written."""
        return _cover(decisions, self.low, self.high, self.length)


@compiled
def _grow(values: Words, bits: int) -> tuple[IntArray, IntArray, IntArray]:
    size = max(0, 2 * len(values) - 1)
    low, high, length = np.full(size, NONE, np.int32), np.full(size, NONE, np.int32), np.zeros(size, np.int32)
    first, last = np.zeros(size, np.int64), np.zeros(size, np.int64)
    if size:
        last[0] = len(values)
    used = 1
    for block in range(size):
        begin, end = first[block], last[block]
        if end - begin == 1:
            high[block] = begin
            continue
        differing, shift = values[begin] ^ values[end - 1], 0
        while differing >> np.uint64(shift) > np.uint64(1):
            shift += 1
        bit = np.uint64(1) << np.uint64(shift)
        cut, above = begin, end - 1
        while cut < above:
            middle = (cut + above) // 2
            if values[middle] & bit:
                above = middle
            else:
                cut = middle + 1
        low[block], high[block] = used, used + 1
        first[used], last[used], first[used + 1], last[used + 1] = begin, cut, cut, end
        length[used] = length[used + 1] = bits - shift
        used += 2
    return low, high, length


@threaded
def _cover(decisions: Words, low: IntArray, high: IntArray, length: IntArray) -> Longs:
    out = np.zeros((len(decisions), 2), np.int64)
    for i in numba.prange(len(decisions)):
        best = np.zeros(len(low), np.uint64)
        for block in range(len(low) - 1, -1, -1):
            best[block] = _best(best, decisions[i], low[block], high[block])
        # From here on ``best`` of a block that has been visited is the decision that its halves inherit.
        inherited = np.zeros(len(low), np.uint64)
        for block in range(len(low)):
            decision = inherited[block]
            if best[block] and not best[block] & decision:
                decision = best[block] & (~best[block] + np.uint64(1))
                out[i, 0] += 1
                out[i, 1] += length[block]
            if low[block] != NONE:
                inherited[low[block]] = inherited[high[block]] = decision
    return out


@inlined
def _best(best: Words, decisions: Words, low: int, high: int) -> np.uint64:
    """The decisions of a block that need the fewest prefixes below it."""
    if low == NONE:
        word: np.uint64 = decisions[high]
    else:
        word = best[low] & best[high]
        if not word:
            word = best[low] | best[high]
    return word
