"""Exact distances by bit-parallel breadth-first search.

One machine word holds one bit for each of 64 sources: ``seen[v]`` says which of them
have reached node v, and a level of the search ORs the neighbours' newest bits together.
Eight words (512 sources) go in one sweep, so that the inner loop is a vector operation
and a cache line; sweeps run on all cores.  Counting the new bits of a level gives the
histogram of distances without a matrix; where rows are asked for, each new bit writes
one element of a table that is turned at the end.  (The idea is Then et al.'s MS-BFS, VLDB
2014; the code is our own.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numba
import numpy as np
from numpy.typing import NDArray
from scipy import stats

from addressing.jit import compiled, inlined, threaded
from dcnlab.evaluator.graph.hop_graph import HopGraph
from topos.graph import IntArray

#: Sources in a word, and words in a sweep.
BITS, WORDS = 64, 8
#: Distances in a cache line.
LINE = 32
#: What stands in a row where a node cannot be reached.
FAR = np.iinfo(np.uint16).max

Counts = NDArray[np.int64]
Nodes = IntArray | Sequence[int]
Mask = NDArray[np.bool_]
Words = NDArray[np.uint64]
Levels = NDArray[np.uint16]


@dataclass(frozen=True, eq=False)
class Distances:
    """How many ordered pairs lie how far apart.

    ``by_word[w, d]`` counts the pairs at distance d whose source is in the w-th group
    of 64 sources; a node's distance to itself is not counted.  ``exact`` is False when
    the sources are a sample.
    """

    by_word: Counts
    pairs: int
    exact: bool = True

    @cached_property
    def histogram(self) -> Counts:
        """Ordered pairs at distance 0, 1, 2, ...; the first is 0."""
        total: Counts = self.by_word.sum(axis=0)
        return total[: int(np.flatnonzero(total)[-1]) + 1] if total.any() else total[:1]

    @property
    def reached(self) -> int:
        """Pairs with a path."""
        return int(self.histogram.sum())

    @property
    def unreachable(self) -> int:
        """Pairs without a path."""
        return self.pairs - self.reached

    @property
    def diameter(self) -> int:
        """The largest distance met; of a sample, a lower bound."""
        return len(self.histogram) - 1

    @property
    def mean(self) -> float:
        """Over pairs with a path; NaN when there is none."""
        return _mean(self.histogram) if self.reached else math.nan

    def confidence(self, level: float = 0.95) -> float:
        """Half the width of the mean's confidence interval; 0 when exact.

        Student's interval over the means of the groups of 64 sources; infinite with
        fewer than two groups.
        """
        if self.exact:
            return 0.0
        means = [_mean(row) for row in self.by_word if row.any()]
        if len(means) < 2:
            return math.inf
        spread = float(np.std(means, ddof=1)) / math.sqrt(len(means))
        return float(stats.t.ppf((1 + level) / 2, len(means) - 1)) * spread


def distances(
    graph: HopGraph, sources: Nodes | None = None, targets: Nodes | None = None, *, exact: bool = True
) -> Distances:
    """The histogram of distances from ``sources`` to ``targets`` (all nodes where not given).

    Pass ``exact=False`` when the sources are a random sample, in random order.
    """
    everything = np.arange(graph.size, dtype=np.int32)
    sources = everything if sources is None else np.asarray(sources, dtype=np.int32)
    targets = everything if targets is None else np.asarray(targets, dtype=np.int32)
    wanted = np.zeros(graph.size, dtype=np.bool_)
    wanted[targets] = True
    levels = _level_bound(graph.start, graph.peer)
    by_word = _count(graph.start, graph.peer, sources, wanted, levels + 2)
    pairs = len(sources) * int(wanted.sum()) - int(wanted[sources].sum())
    return Distances(by_word[:, :: graph.scale], pairs, exact)


def sample(graph: HopGraph, nodes: IntArray, count: int, seed: int) -> Distances:
    """Distances from ``count`` of ``nodes``, drawn with ``seed``, to all of ``nodes``."""
    if count >= len(nodes):
        return distances(graph, nodes, nodes)
    chosen = np.random.default_rng(seed).choice(nodes, count, replace=False)
    return distances(graph, chosen, nodes, exact=False)


def rows(graph: HopGraph, sources: IntArray) -> Levels:
    """One row of distances to all nodes per source, ``FAR`` where there is no path.

    Raises ValueError when a distance does not fit in 16 bits.
    """
    _check_width(graph)
    return _rows(graph.start, graph.peer, np.asarray(sources, dtype=np.int32), graph.scale)


def between(graph: HopGraph, sources: IntArray, targets: IntArray) -> Levels:
    """The distance of each pair ``sources[i]``, ``targets[i]``, ``FAR`` where there is no path.

    For pairs drawn at random: 512 different sources cost one sweep.  Raises ValueError when
    a distance does not fit in 16 bits.
    """
    _check_width(graph)
    order = np.argsort(sources, kind="stable")
    roots, first = np.unique(sources[order], return_index=True)
    first = np.append(first, len(order))
    found = _between(graph.start, graph.peer, roots, first, targets[order], graph.scale)
    result = np.empty_like(found)
    result[order] = found
    return result


def _check_width(graph: HopGraph) -> None:
    if _level_bound(graph.start, graph.peer) // graph.scale >= FAR:
        raise ValueError("distances beyond 65,534 hops")


def _mean(histogram: Counts) -> float:
    return float(histogram @ np.arange(len(histogram)) / histogram.sum())


@compiled
def _level_bound(start: Counts, peer: IntArray) -> int:
    """At least the diameter of every component: twice one node's eccentricity."""
    size = len(start) - 1
    depth = np.full(size, -1, np.int32)
    queue = np.empty(size, np.int32)
    bound = 0
    for root in range(size):
        if depth[root] >= 0:
            continue
        depth[root], queue[0] = 0, root
        head, tail = 0, 1
        while head < tail:
            at = queue[head]
            head += 1
            for slot in range(start[at], start[at + 1]):
                end = peer[slot]
                if depth[end] < 0:
                    depth[end] = depth[at] + 1
                    queue[tail] = end
                    tail += 1
        bound = max(bound, 2 * depth[queue[tail - 1]])
    return bound


@inlined
def _begin(seen: Words, frontier: Words, active: NDArray[np.uint8], sources: IntArray, first: int) -> None:
    """Give each source of this sweep its bit, at itself."""
    for index in range(first, min(first + BITS * WORDS, len(sources))):
        bit = np.uint64(1) << np.uint64(index % BITS)
        node, word = sources[index], (index - first) // BITS
        seen[node, word] |= bit
        frontier[node, word] |= bit
        active[node] = 1


@compiled
def _step(
    start: Counts,
    peer: IntArray,
    seen: Words,
    frontier: Words,
    active: NDArray[np.uint8],
    following: Words,
    next_active: NDArray[np.uint8],
    everyone: Words,
) -> bool:
    """One level: ``following[v]`` becomes the sources that reach v now, where ``next_active[v]``."""
    moved = False
    gathered = np.zeros(WORDS, np.uint64)
    for node in range(len(start) - 1):
        next_active[node] = 0
        missing = np.uint64(0)
        for word in range(WORDS):
            missing |= everyone[word] & ~seen[node, word]
        if missing == 0:
            continue
        gathered[:] = 0
        for slot in range(start[node], start[node + 1]):
            end = peer[slot]
            if active[end]:
                for word in range(WORDS):
                    gathered[word] |= frontier[end, word]
        fresh = np.uint64(0)
        for word in range(WORDS):
            new = gathered[word] & ~seen[node, word]
            following[node, word] = new
            seen[node, word] |= new
            fresh |= new
        if fresh != 0:
            next_active[node] = 1
            moved = True
    return moved


@inlined
def _ones(word: np.uint64) -> np.int64:
    """The number of set bits (the compiler turns this into one instruction)."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@threaded
def _count(start: Counts, peer: IntArray, sources: IntArray, wanted: Mask, levels: int) -> Counts:
    """Pairs by group of 64 sources and distance in links."""
    size = len(start) - 1
    sweeps = (len(sources) + BITS * WORDS - 1) // (BITS * WORDS)
    counts = np.zeros((sweeps * WORDS, levels), np.int64)
    for sweep in numba.prange(sweeps):
        first = sweep * BITS * WORDS
        seen, frontier = np.zeros((size, WORDS), np.uint64), np.zeros((size, WORDS), np.uint64)
        following = np.empty((size, WORDS), np.uint64)
        active, next_active = np.zeros(size, np.uint8), np.zeros(size, np.uint8)
        _begin(seen, frontier, active, sources, first)
        everyone = _union(seen)
        level = 1
        while _step(start, peer, seen, frontier, active, following, next_active, everyone):
            for node in range(size):
                if wanted[node] and next_active[node]:
                    for word in range(WORDS):
                        counts[sweep * WORDS + word, level] += _ones(following[node, word])
            frontier, following = following, frontier
            active, next_active = next_active, active
            level += 1
    return counts


@compiled
def _union(seen: Words) -> Words:
    """The bits in use."""
    everyone = np.zeros(WORDS, np.uint64)
    for node in range(len(seen)):
        for word in range(WORDS):
            everyone[word] |= seen[node, word]
    return everyone


@threaded
def _rows(start: Counts, peer: IntArray, sources: IntArray, scale: int) -> Levels:
    size = len(start) - 1
    sweeps = (len(sources) + BITS * WORDS - 1) // (BITS * WORDS)
    out = np.empty((len(sources), size), np.uint16)
    for sweep in numba.prange(sweeps):
        first = sweep * BITS * WORDS
        count = min(BITS * WORDS, len(sources) - first)
        seen, frontier = np.zeros((size, WORDS), np.uint64), np.zeros((size, WORDS), np.uint64)
        following = np.empty((size, WORDS), np.uint64)
        active, next_active = np.zeros(size, np.uint8), np.zeros(size, np.uint8)
        _begin(seen, frontier, active, sources, first)
        everyone = _union(seen)
        columns = np.full((size, BITS * WORDS), FAR, np.uint16)
        for index in range(count):
            columns[sources[first + index], index] = 0
        level = 1
        while _step(start, peer, seen, frontier, active, following, next_active, everyone):
            _write(columns, following, next_active, level // scale)
            frontier, following = following, frontier
            active, next_active = next_active, active
            level += 1
        _turn(out[first : first + count], columns)
    return out


@compiled
def _write(columns: Levels, following: Words, active: NDArray[np.uint8], level: int) -> None:
    """Write one level at ``[node, source of this sweep]`` where the source's bit is set."""
    for node in range(len(active)):
        if not active[node]:
            continue
        for word in range(WORDS):
            bits = following[node, word]
            while bits != 0:
                lowest = bits & (~bits + np.uint64(1))
                columns[node, word * BITS + _ones(lowest - np.uint64(1))] = level
                bits ^= lowest


@compiled
def _turn(out: Levels, columns: Levels) -> None:
    """Transpose, a cache line of each row at a time: rows a power of two apart share cache sets."""
    count, size = out.shape
    for first in range(0, size, LINE):
        for source in range(count):
            for node in range(first, min(first + LINE, size)):
                out[source, node] = columns[node, source]


@threaded
def _between(
    start: Counts, peer: IntArray, roots: IntArray, first_of: Counts, targets: IntArray, scale: int
) -> Levels:
    size = len(start) - 1
    sweeps = (len(roots) + BITS * WORDS - 1) // (BITS * WORDS)
    out = np.full(len(targets), FAR, np.uint16)
    for sweep in numba.prange(sweeps):
        first = sweep * BITS * WORDS
        seen, frontier = np.zeros((size, WORDS), np.uint64), np.zeros((size, WORDS), np.uint64)
        following = np.empty((size, WORDS), np.uint64)
        active, next_active = np.zeros(size, np.uint8), np.zeros(size, np.uint8)
        _begin(seen, frontier, active, roots, first)
        everyone = _union(seen)
        level = 0
        missing = _note(out, roots, first_of, targets, frontier, active, first, 0)
        while missing and _step(start, peer, seen, frontier, active, following, next_active, everyone):
            frontier, following = following, frontier
            active, next_active = next_active, active
            level += 1
            missing = _note(out, roots, first_of, targets, frontier, active, first, level // scale)
    return out


@compiled
def _note(
    out: NDArray[np.uint16],
    roots: IntArray,
    first_of: Counts,
    targets: IntArray,
    frontier: Words,
    active: NDArray[np.uint8],
    first: int,
    level: int,
) -> bool:
    """Write the level of the pairs that are reached at it; False when none is left in this sweep."""
    missing = False
    for index in range(first, min(first + BITS * WORDS, len(roots))):
        word, bit = (index - first) // BITS, np.uint64(1) << np.uint64(index % BITS)
        for pair in range(first_of[index], first_of[index + 1]):
            if out[pair] != FAR:
                continue
            if active[targets[pair]] and frontier[targets[pair], word] & bit:
                out[pair] = level
            else:
                missing = True
    return missing
