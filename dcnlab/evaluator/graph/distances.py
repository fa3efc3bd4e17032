"""Exact distances by bit-parallel breadth-first search.

One machine word holds one bit for each of 64 sources.  ``seen[v]`` marks the sources that have
reached node v; one level of the search ORs the newest bits of the neighbours.  A sweep handles
eight words (512 sources), so that the inner loop is one vector operation on one cache line.
Sweeps run in parallel on all cores.  Counting the new bits of each level gives the histogram of
distances without a distance matrix.  For rows of distances, each new bit writes one element of
a table that is transposed at the end.  The idea is MS-BFS (Then et al., VLDB 2014).
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

#: Sources per word, and words per sweep.
BITS, WORDS = 64, 8
#: Distances per cache line.
LINE = 32
#: The nodes beyond which the two balls that meet between a pair are small beside a sweep.
LARGE = 1 << 17
#: The distance of a node that cannot be reached.
UNREACHABLE = np.iinfo(np.uint16).max

Counts = NDArray[np.int64]
Nodes = IntArray | Sequence[int]
Mask = NDArray[np.bool_]
Words = NDArray[np.uint64]
Levels = NDArray[np.uint16]


@dataclass(frozen=True, eq=False)
class Distances:
    """The number of ordered pairs at each distance.

    ``by_word[w, d]`` counts the pairs at distance d whose source is in the w-th group of 64
    sources; pairs of a node with itself are not counted.  ``exact`` is False when the sources
    are a random sample.
    """

    by_word: Counts
    pairs: int
    exact: bool = True

    @cached_property
    def histogram(self) -> Counts:
        """Ordered pairs at distance 0, 1, 2, ...; none is at distance 0."""
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
        """The largest distance found; for a sample, a lower bound."""
        return len(self.histogram) - 1

    @property
    def mean(self) -> float:
        """The mean distance of the pairs with a path; NaN when there is none."""
        return _mean(self.histogram) if self.reached else math.nan

    def confidence(self, level: float = 0.95) -> float:
        """Half the width of the confidence interval of the mean; 0 when exact.

        Student's t interval over the means of the groups of 64 sources; infinite with
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
    """The histogram of distances from ``sources`` to ``targets`` (default: all nodes).

    Pass ``exact=False`` when the sources are a random sample in random order.
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


def sampled_distances(graph: HopGraph, nodes: IntArray, count: int, seed: int) -> Distances:
    """Distances from ``count`` random nodes of ``nodes``, drawn with ``seed``, to all of ``nodes``."""
    if count >= len(nodes):
        return distances(graph, nodes, nodes)
    chosen = np.random.default_rng(seed).choice(nodes, count, replace=False)
    return distances(graph, chosen, nodes, exact=False)


def distance_rows(graph: HopGraph, sources: IntArray, large: int = LARGE) -> Levels:
    """``[i, v]``: the distance from ``sources[i]`` to node v, ``UNREACHABLE`` where there is no path.

    On a graph of more than ``large`` nodes few sources are searched one by one.  Raises ValueError when
    a distance does not fit in 16 bits.
    """
    _check_width(graph)
    search = _rows_singly if graph.size > large and len(sources) <= BITS else _rows
    return search(graph.start, graph.peer, np.asarray(sources, dtype=np.int32), graph.scale)


def pair_distances(graph: HopGraph, sources: IntArray, targets: IntArray, large: int = LARGE) -> Levels:
    """The distance from ``sources[i]`` to ``targets[i]``, ``UNREACHABLE`` where there is no path.

    Meant for random pairs: 512 different sources cost one sweep.  On a graph of more than ``large`` nodes
    each pair is searched from both ends instead.  Raises ValueError when a distance does not fit in 16
    bits.
    """
    _check_width(graph)
    if graph.size > large:
        return _bidirectional(graph.start, graph.peer, sources, targets, graph.scale, numba.get_num_threads())
    order = np.argsort(sources, kind="stable")
    roots, first = np.unique(sources[order], return_index=True)
    first = np.append(first, len(order))
    lengths = _between(graph.start, graph.peer, roots, first, targets[order], graph.scale)
    result = np.empty_like(lengths)
    result[order] = lengths
    return result


def _check_width(graph: HopGraph) -> None:
    if _level_bound(graph.start, graph.peer) // graph.scale >= UNREACHABLE:
        raise ValueError("distances beyond 65,534 hops")


def _mean(histogram: Counts) -> float:
    return float(histogram @ np.arange(len(histogram)) / histogram.sum())


@compiled
def _level_bound(start: Counts, peer: IntArray) -> int:
    """An upper bound of every component's diameter: twice the eccentricity of one node."""
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
            for link in range(start[at], start[at + 1]):
                end = peer[link]
                if depth[end] < 0:
                    depth[end] = depth[at] + 1
                    queue[tail] = end
                    tail += 1
        bound = max(bound, 2 * depth[queue[tail - 1]])
    return bound


@inlined
def _place_sources(
    seen: Words, frontier: Words, active: NDArray[np.uint8], sources: IntArray, first: int
) -> None:
    """Set the bit of each source of this sweep at its own node."""
    for index in range(first, min(first + BITS * WORDS, len(sources))):
        bit = np.uint64(1) << np.uint64(index % BITS)
        node, word = sources[index], (index - first) // BITS
        seen[node, word] |= bit
        frontier[node, word] |= bit
        active[node] = 1


@compiled
def _advance(
    start: Counts,
    peer: IntArray,
    seen: Words,
    frontier: Words,
    active: NDArray[np.uint8],
    following: Words,
    next_active: NDArray[np.uint8],
    everyone: Words,
) -> bool:
    """One level of the search; returns False when no source reached a new node.

    Where ``next_active[v]``, ``following[v]`` marks the sources that reach v at this level.
    """
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
        for link in range(start[node], start[node + 1]):
            end = peer[link]
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
def _popcount(word: np.uint64) -> np.int64:
    """The number of set bits (compiled to one instruction)."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@threaded
def _count(start: Counts, peer: IntArray, sources: IntArray, wanted: Mask, levels: int) -> Counts:
    """``[group of 64 sources, distance in links]``: the number of pairs."""
    size = len(start) - 1
    sweeps = (len(sources) + BITS * WORDS - 1) // (BITS * WORDS)
    counts = np.zeros((sweeps * WORDS, levels), np.int64)
    for sweep in numba.prange(sweeps):
        first = sweep * BITS * WORDS
        seen, frontier = np.zeros((size, WORDS), np.uint64), np.zeros((size, WORDS), np.uint64)
        following = np.empty((size, WORDS), np.uint64)
        active, next_active = np.zeros(size, np.uint8), np.zeros(size, np.uint8)
        _place_sources(seen, frontier, active, sources, first)
        everyone = _used_bits(seen)
        level = 1
        while _advance(start, peer, seen, frontier, active, following, next_active, everyone):
            for node in range(size):
                if wanted[node] and next_active[node]:
                    for word in range(WORDS):
                        counts[sweep * WORDS + word, level] += _popcount(following[node, word])
            frontier, following = following, frontier
            active, next_active = next_active, active
            level += 1
    return counts


@compiled
def _used_bits(seen: Words) -> Words:
    """The bits of all sources of this sweep."""
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
        _place_sources(seen, frontier, active, sources, first)
        everyone = _used_bits(seen)
        columns = np.full((size, BITS * WORDS), UNREACHABLE, np.uint16)
        for index in range(count):
            columns[sources[first + index], index] = 0
        level = 1
        while _advance(start, peer, seen, frontier, active, following, next_active, everyone):
            _write_level(columns, following, next_active, level // scale)
            frontier, following = following, frontier
            active, next_active = next_active, active
            level += 1
        _transpose(out[first : first + count], columns)
    return out


@threaded
def _rows_singly(start: Counts, peer: IntArray, sources: IntArray, scale: int) -> Levels:
    """As :func:`_rows`, one search per source: for few sources in little memory."""
    size = len(start) - 1
    out = np.full((len(sources), size), UNREACHABLE, np.uint16)
    for i in numba.prange(len(sources)):
        queue, head, tail = np.empty(size, np.int32), 0, 1
        depth = np.full(size, -1, np.int32)
        queue[0], depth[sources[i]] = sources[i], 0
        while head < tail:
            at = queue[head]
            head += 1
            out[i, at] = depth[at] // scale
            for link in range(start[at], start[at + 1]):
                end = peer[link]
                if depth[end] < 0:
                    depth[end] = depth[at] + 1
                    queue[tail] = end
                    tail += 1
    return out


@compiled
def _write_level(columns: Levels, following: Words, active: NDArray[np.uint8], level: int) -> None:
    """Write the level at ``[node, source]`` for every bit that this level set."""
    for node in range(len(active)):
        if not active[node]:
            continue
        for word in range(WORDS):
            bits = following[node, word]
            while bits != 0:
                lowest = bits & (~bits + np.uint64(1))
                columns[node, word * BITS + _popcount(lowest - np.uint64(1))] = level
                bits ^= lowest


@compiled
def _transpose(out: Levels, columns: Levels) -> None:
    """Transpose one cache line of each row at a time: rows a power of two apart share cache sets."""
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
    out = np.full(len(targets), UNREACHABLE, np.uint16)
    for sweep in numba.prange(sweeps):
        first = sweep * BITS * WORDS
        seen, frontier = np.zeros((size, WORDS), np.uint64), np.zeros((size, WORDS), np.uint64)
        following = np.empty((size, WORDS), np.uint64)
        active, next_active = np.zeros(size, np.uint8), np.zeros(size, np.uint8)
        _place_sources(seen, frontier, active, roots, first)
        everyone = _used_bits(seen)
        level = 0
        missing = _record(out, roots, first_of, targets, frontier, active, first, 0)
        while missing and _advance(start, peer, seen, frontier, active, following, next_active, everyone):
            frontier, following = following, frontier
            active, next_active = next_active, active
            level += 1
            missing = _record(out, roots, first_of, targets, frontier, active, first, level // scale)
    return out


@threaded
def _bidirectional(
    start: Counts, peer: IntArray, sources: IntArray, targets: IntArray, scale: int, threads: int
) -> Levels:
    """The distance of each pair by breadth-first search from both ends, level by level, on the side with
    the smaller frontier."""
    size = len(start) - 1
    out = np.full(len(sources), UNREACHABLE, np.uint16)
    for thread in numba.prange(threads):
        # Depths are positive from the source and negative from the target, 0 where neither has been.
        depth, queues = np.zeros(size, np.int32), np.empty((2, size), np.int32)
        for pair in range(thread, len(sources), threads):
            found = _meet(start, peer, sources[pair], targets[pair], depth, queues)
            if found >= 0:
                out[pair] = found // scale
    return out


@compiled
def _meet(start: Counts, peer: IntArray, source: int, target: int, depth: IntArray, queues: IntArray) -> int:
    """The number of links between two nodes, -1 without a path.  ``depth`` is 0 before and afterwards."""
    if source == target:
        return 0
    head, tail = np.zeros(2, np.int64), np.ones(2, np.int64)
    queues[0, 0], queues[1, 0] = source, target
    depth[source], depth[target] = 1, -1
    best = -1
    while best < 0 and head[0] < tail[0] and head[1] < tail[1]:
        side = 0 if tail[0] - head[0] <= tail[1] - head[1] else 1
        sign, level_end = 1 - 2 * side, tail[side]
        # No path is shorter than the first that is found: the searches met at no earlier level.
        while best < 0 and head[side] < level_end:
            at = queues[side, head[side]]
            head[side] += 1
            for link in range(start[at], start[at + 1]):
                end = peer[link]
                if depth[end] == 0:
                    depth[end] = depth[at] + sign
                    queues[side, tail[side]] = end
                    tail[side] += 1
                elif depth[end] * sign < 0:
                    best = abs(depth[at]) + abs(depth[end]) - 1
                    break
    for side in range(2):
        for place in range(tail[side]):
            depth[queues[side, place]] = 0
    return best


@compiled
def _record(
    out: NDArray[np.uint16],
    roots: IntArray,
    first_of: Counts,
    targets: IntArray,
    frontier: Words,
    active: NDArray[np.uint8],
    first: int,
    level: int,
) -> bool:
    """Write the level of the pairs reached at this level; returns False when none of this sweep is left."""
    missing = False
    for index in range(first, min(first + BITS * WORDS, len(roots))):
        word, bit = (index - first) // BITS, np.uint64(1) << np.uint64(index % BITS)
        for pair in range(first_of[index], first_of[index + 1]):
            if out[pair] != UNREACHABLE:
                continue
            if active[targets[pair]] and frontier[targets[pair], word] & bit:
                out[pair] = level
            else:
                missing = True
    return missing
