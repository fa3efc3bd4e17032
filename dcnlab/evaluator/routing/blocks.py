"""Pairs in blocks of some destinations, with their distances."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dcnlab.evaluator.graph.distances import distance_rows, pair_distances
from dcnlab.evaluator.graph.hop_graph import HopGraph
from dcnlab.evaluator.graph.pairs import Pairs
from dcnlab.evaluator.graph.sweeps import UNREACHABLE, Levels
from topos.graph import IntArray

#: The destinations of a block whose pairs are followed one by one.
_MANY = 4096


@dataclass(frozen=True, eq=False)
class Block:
    """The pairs of some destinations, with their distances."""

    pairs: Pairs
    #: ``[destination][source]``; a single array where the destinations share their sources.
    distances: Levels | tuple[Levels, ...]

    def __iter__(self) -> Iterator[tuple[int, int, IntArray, Levels]]:
        """(position, destination, sources, distances of the sources) of each destination."""
        for position, to in enumerate(self.pairs.destinations.tolist()):
            yield position, to, self.pairs.of(position), self.distances[position]

    @property
    def _rows(self) -> tuple[Levels, ...]:
        """The distances in as few arrays as there are."""
        return (self.distances,) if isinstance(self.distances, np.ndarray) else self.distances

    @cached_property
    def connected(self) -> int:
        """The number of pairs with a path, not counting a node with itself (distance 0)."""
        return sum(int(np.count_nonzero((row != UNREACHABLE) & (row != 0))) for row in self._rows)

    @cached_property
    def farthest(self) -> int:
        """The largest distance of a connected pair."""
        return max((_farthest(row) for row in self._rows), default=0)

    @cached_property
    def ends(self) -> tuple[IntArray, IntArray, Levels]:
        """(sources, destinations, distances) of the pairs, one after the other."""
        to = self.pairs.destinations
        shared = self.pairs.shared
        sources = np.tile(self.pairs.of(0), len(to)) if shared else np.concatenate(self.pairs.sources)
        return sources, np.repeat(to, [len(row) for row in self.distances]), np.concatenate(self.distances)

    def parts(self, size: int) -> Iterator[Block]:
        """The same pairs, at most ``size`` destinations at a time."""
        for position, part in enumerate(self.pairs.chunks(size)):
            yield Block(part, self.distances[position * size : (position + 1) * size])


def _farthest(row: Levels) -> int:
    most = int(row.max(initial=0))
    return most if most != UNREACHABLE else int(row[row != UNREACHABLE].max(initial=0))


def single_distances(graph: HopGraph, pairs: Pairs) -> Levels | None:
    """The distances of all pairs, destination by destination; None where the destinations share their
    sources."""
    if pairs.shared:
        return None
    ends = np.repeat(pairs.destinations, [len(part) for part in pairs.sources])
    return pair_distances(graph, ends, np.concatenate(pairs.sources))


def blocks(graph: HopGraph, pairs: Pairs, apart: Levels | None = None) -> Iterator[Block]:
    """The pairs in blocks of few enough destinations for arrays of [destination, node]."""
    size = (1 << 24) // max(1, graph.size)
    if pairs.shared and pairs.singly(graph.size):
        # Links have no direction: distances from the sources are those to them.
        rows = distance_rows(graph, pairs.of(0))
        for part in pairs.chunks(_MANY):
            yield Block(part, np.ascontiguousarray(rows[:, part.destinations].T))
        return
    if pairs.shared:
        sources = pairs.of(0)
        for part in pairs.chunks(max(64, min(1024, size))):
            table = distance_rows(graph, part.destinations)
            yield Block(part, table if len(sources) == graph.size else table.take(sources, axis=1))
        return
    lengths = np.array([len(part) for part in pairs.sources])
    all_distances = single_distances(graph, pairs) if apart is None else apart
    assert all_distances is not None
    first = 0
    for part in pairs.chunks(max(1, min(1024, size))):
        count = len(part.destinations)
        ends = np.cumsum(lengths[first : first + count])
        base = int(lengths[:first].sum())
        yield Block(part, tuple(np.split(all_distances[base : base + int(ends[-1])], ends[:-1])))
        first += count
