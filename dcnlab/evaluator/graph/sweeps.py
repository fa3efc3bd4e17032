"""Bit-parallel breadth-first search, compiled: the kernels of :mod:`~dcnlab.evaluator.graph.distances`.

One machine word holds one bit for each of 64 sources.  ``seen[v]`` marks the sources that have
reached node v; one level of the search ORs the newest bits of the neighbours.  A sweep handles
eight words (512 sources), so that the inner loop is one vector operation on one cache line.
Sweeps run in parallel on all cores.  Counting the new bits of each level gives the histogram of
distances without a distance matrix.  For rows of distances, each new bit writes one element of
a table that is transposed at the end.  The idea is MS-BFS (Then et al., VLDB 2014).

A graph is given as ``start``, ``peer`` of a :class:`~dcnlab.evaluator.graph.hop_graph.HopGraph`; levels
are divided by its ``scale``.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.jit import compiled, inlined, threaded
from topos.arrays import Longs, Mask, Words
from topos.graph import IntArray

#: Sources per word, and words per sweep.
BITS, WORDS = 64, 8
#: Distances per cache line.
LINE = 32
#: The distance of a node that cannot be reached.
UNREACHABLE = np.iinfo(np.uint16).max

Levels = NDArray[np.uint16]


@compiled
def level_bound(start: Longs, peer: IntArray) -> int:
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
    start: Longs,
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
def popcount(word: np.uint64) -> np.int64:
    """The number of set bits (compiled to one instruction)."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@threaded
def count_levels(start: Longs, peer: IntArray, sources: IntArray, wanted: Mask, levels: int) -> Longs:
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
                        counts[sweep * WORDS + word, level] += popcount(following[node, word])
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
def rows(start: Longs, peer: IntArray, sources: IntArray, scale: int) -> Levels:
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
                columns[node, word * BITS + popcount(lowest - np.uint64(1))] = level
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
def between(
    start: Longs, peer: IntArray, roots: IntArray, first_of: Longs, targets: IntArray, scale: int
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


@compiled
def _record(
    out: NDArray[np.uint16],
    roots: IntArray,
    first_of: Longs,
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
