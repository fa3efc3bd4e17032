"""Channels and the dependencies that are possible between them, numbered in compressed rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from topos.arrays import Longs
from topos.fabric import Fabric
from topos.graph import NONE, IntArray


@dataclass(frozen=True, eq=False)
class Channels:
    """Channel c leads from node ``tail[c]`` to node ``head[c]``.

    A packet that holds c may wait for a channel out of ``head[c]``: those of node v are
    ``out[first[v]:first[v + 1]]``.  The dependency on the i-th of them has number ``start[c] + i``.
    """

    tail: IntArray
    head: IntArray
    first: Longs
    out: IntArray
    start: Longs

    @classmethod
    def of(cls, size: int, tail: IntArray, head: IntArray) -> Channels:
        """The channels of a network of ``size`` nodes; a head may be ``NONE``: nothing waits behind it."""
        degree = np.bincount(tail, minlength=size)
        first = np.concatenate([[0], np.cumsum(degree)])
        behind = np.where(head == NONE, 0, degree[head])
        start = np.concatenate([[0], np.cumsum(behind)])
        return cls(tail, head, first, np.argsort(tail, kind="stable").astype(np.int32), start)

    @property
    def possible(self) -> int:
        """The number of possible dependencies."""
        return int(self.start[-1])

    def numbers(self, before: IntArray, after: IntArray) -> Longs:
        """The numbers of the dependencies of channels ``before`` on ``after``, which begin at their heads."""
        rank = np.empty(len(self.out), np.int64)
        rank[self.out] = np.arange(len(self.out)) - self.first[self.tail[self.out]]
        return np.asarray(self.start[before] + rank[after])

    def ends(self, numbers: IntArray | Longs) -> tuple[IntArray, IntArray]:
        """The two channels of each dependency."""
        before = np.searchsorted(self.start, numbers, side="right") - 1
        after = self.out[self.first[self.head[before]] + numbers - self.start[before]]
        return before.astype(np.int32), after


def of_links(fabric: Fabric) -> Channels:
    """A channel for every directed link: switches have buffers too."""
    adjacency = fabric.adjacency
    tail = np.repeat(np.arange(fabric.size, dtype=np.int32), np.diff(adjacency.start))
    return Channels.of(fabric.size, tail, adjacency.peer)
