"""WMGR's greedy rule as array code, and the search for scan orders that make its paths short.

Where several neighbours are equally near by the word metric, the scan order decides.  The search sorts
each node's neighbours by the average length of the paths over them, counting the destinations for which
they tie.  That changes the path lengths, so there are several rounds.  The best round is kept, so the
result is never worse than ``built`` and ``revlex``.  The search is deterministic: every process finds the
same order.

A *slot* is an index into the arrays of a fabric's :class:`Adjacency`: one port of one node.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.algorithms import freegroup
from addressing.algorithms.freegroup import Embedding
from addressing.algorithms.scan.wmgr_scan_order import Scans, by_word, in_port_order
from addressing.jit import compiled, inlined, threaded
from topos.arrays import Mask
from topos.fabric import Fabric
from topos.graph import ALL_UP, NONE, Adjacency, IntArray

#: Rounds of improvement from each initial order, and the largest number of destinations over which path
#: lengths are measured.
ROUNDS = 6
MAX_DESTINATIONS = 512


@dataclass(frozen=True, eq=False)
class Tree:
    """An embedding as arrays: parents and depths by node, and the nodes from the roots down."""

    parents: IntArray
    depths: IntArray
    downwards: IntArray

    @classmethod
    def of(cls, embedding: Embedding) -> Tree:
        """The arrays of an embedding."""
        return cls(embedding.parent, embedding.depth, embedding.downwards)


def scanned_slots(adjacency: Adjacency, scans: Scans) -> IntArray:
    """Per node its slots in the order of the scan; slots without a link come last."""
    out = np.arange(len(adjacency.peer), dtype=np.int32)
    for node, ports in enumerate(scans):
        first, last = int(adjacency.start[node]), int(adjacency.start[node + 1])
        chosen = [first + port - 1 for port in ports]
        out[first:last] = chosen + sorted(set(range(first, last)).difference(chosen))
    return out


@dataclass(frozen=True, eq=False)
class Scan:
    """The slots over links that are up in scan order, as compressed rows: those of node v are
    ``slot[first[v]:first[v + 1]]``; ``end`` is the neighbour that each leads to."""

    first: NDArray[np.uint32]
    slot: IntArray
    end: NDArray[np.uint32]

    @classmethod
    def of(cls, adjacency: Adjacency, scan: IntArray, live: Mask) -> Scan:
        """The slots of ``scan`` (a result of :func:`scanned_slots`) that are ``live``."""
        kept = live[scan]
        before = np.concatenate([[0], np.cumsum(kept)])
        chosen = scan[kept]
        return cls(before[adjacency.start].astype(np.uint32), chosen, adjacency.peer[chosen].astype(np.uint32))

    @property
    def bits(self) -> int:
        """Bits for a position in any node's row, counted from 1."""
        return int(np.diff(self.first).max(initial=0)).bit_length()


def next_slots(destinations: IntArray, tree: Tree, scan: Scan) -> IntArray:
    """An array of shape (destinations, nodes): ``out[i, v]`` is the slot of v's next hop to destination
    i, NONE at i itself and where no neighbour is nearer."""
    deepest = (int(tree.depths.max(initial=0)) + 1) << scan.bits
    depths = tree.depths if deepest <= np.iinfo(np.int32).max else tree.depths.astype(np.int64)
    return _next_slots(
        destinations, tree.parents, depths, tree.downwards, scan.first, scan.slot, scan.end, scan.bits
    )


@lru_cache(maxsize=16)
def searched(fabric: Fabric, root: int) -> Scans:
    """The best scan orders found for a root on the intact fabric."""
    embedding = freegroup.embed(fabric, ALL_UP, root)
    built = in_port_order(fabric)
    initial = (built, by_word(fabric, embedding, built, reverse=True))
    adjacency, tree = fabric.adjacency, Tree.of(embedding)
    count = min(fabric.size, MAX_DESTINATIONS)
    destinations = np.unique(np.linspace(0, fabric.size - 1, count).astype(np.int32))
    rounds = (
        result
        for scans in initial
        for result in _improved(destinations, tree, adjacency, scanned_slots(adjacency, scans))
    )
    _, best = min(rounds, key=lambda result: result[0])
    ports = best - adjacency.start[:-1].repeat(np.diff(adjacency.start)) + 1
    linked = adjacency.peer[best] != NONE
    return tuple(
        tuple(ports[first:last][linked[first:last]].tolist())
        for first, last in zip(adjacency.start[:-1].tolist(), adjacency.start[1:].tolist(), strict=True)
    )


def _improved(
    destinations: IntArray, tree: Tree, adjacency: Adjacency, scan: IntArray
) -> Iterator[tuple[float, IntArray]]:  # fmt: skip
    """(mean hops, scan) of each round, first of the initial scan."""
    live = adjacency.peer != NONE
    owner = np.repeat(np.arange(len(adjacency.start) - 1), np.diff(adjacency.start))
    for _ in range(ROUNDS + 1):
        out = next_slots(destinations, tree, Scan.of(adjacency, scan, live))
        total, regret = _regrets(
            destinations, tree.parents, tree.depths, tree.downwards, adjacency.start, adjacency.peer, out
        )
        yield total / out.size, scan
        # Rounded to whole numbers, so that equal regrets keep their order.
        better = scan[np.lexsort((np.round(regret[scan] * 1e6), owner))].astype(np.int32)
        if np.array_equal(better, scan):
            return
        scan = better


@inlined
def _ranks(
    rank: IntArray, prefix_of: Mask, at: int, parents: IntArray, depths: IntArray, downwards: IntArray
) -> None:  # fmt: skip
    """Write depth(v) - 2 lcp(v, at) for every node v: the word metric |v^-1 at| less depth(at), where
    lcp is the length of the longest common prefix."""
    prefix_of[:] = False
    while at != NONE:
        prefix_of[at] = True
        at = parents[at]
    for node in downwards:
        if prefix_of[node]:
            rank[node] = -depths[node]
        elif parents[node] == NONE:
            rank[node] = depths[node]
        else:
            # One letter more than the parent, which ``at`` does not share.
            rank[node] = rank[parents[node]] + 1


@threaded
def _next_slots(
    destinations: IntArray, parents: IntArray, depths: NDArray[np.signedinteger], downwards: IntArray,
    first: NDArray[np.uint32], slot: IntArray, end: NDArray[np.uint32], bits: int,
) -> IntArray:  # fmt: skip
    size, mask = len(parents), np.int32((1 << bits) - 1)
    out = np.empty((len(destinations), size), np.int32)
    for i in numba.prange(len(destinations)):
        rank, prefix_of = np.empty(size, depths.dtype), np.empty(size, np.bool_)
        _ranks(rank, prefix_of, destinations[i], parents, depths, downwards)
        # The position in the scan, from 1, fills the bits below the rank.  So the minimum, computed
        # without a branch, is the first of the nearest neighbours.  Position 0 is the node itself.
        rank <<= bits
        for node in range(size):
            best = rank[node]
            for place in range(first[node], first[node + 1]):
                best = min(best, rank[end[place]] + np.int32(place - first[node] + 1))
            chosen = best & mask
            out[i, node] = slot[first[node] + chosen - 1] if chosen > 0 else NONE
    return out


@compiled
def _regrets(
    destinations: IntArray, parents: IntArray, depths: IntArray, downwards: IntArray,
    start: NDArray[np.int64], peer: IntArray, out: IntArray,
) -> tuple[float, NDArray[np.float64]]:  # fmt: skip
    """The sum of all path lengths, and the regret per slot: summed over the destinations for which the
    slot ties with others, the length of the path over it less the mean length over the tied ones."""
    size = len(parents)
    regret = np.zeros(len(peer), np.float64)
    rank, prefix_of, hops = np.empty(size, np.int32), np.empty(size, np.bool_), np.empty(size, np.int32)
    total = 0.0
    for i in range(len(destinations)):
        _ranks(rank, prefix_of, destinations[i], parents, depths, downwards)
        # The rank falls at every hop, so the lengths of nearer nodes are known first.
        for near in np.argsort(rank):
            slot = out[i, near]
            hops[near] = 0 if slot == NONE else hops[peer[slot]] + 1
            total += hops[near]
        for node in range(size):
            if out[i, node] == NONE:
                continue
            best, ties, length = rank[peer[out[i, node]]], 0, 0
            for other in range(start[node], start[node + 1]):
                if peer[other] != NONE and rank[peer[other]] == best:
                    ties += 1
                    length += hops[peer[other]]
            if ties > 1:
                for other in range(start[node], start[node + 1]):
                    if peer[other] != NONE and rank[peer[other]] == best:
                        regret[other] += hops[peer[other]] - length / ties
    return total, regret
