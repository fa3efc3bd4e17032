"""WMGR's greedy rule by arrays, and the search for scans that make its paths short.

Where several neighbours are equally near by the word metric, the scan decides, and how
good a choice was shows later only.  The search looks: with the path lengths of one round
it puts each node's neighbours in the order of what going on from them costs on average,
where there was a choice; that changes the lengths, hence further rounds.  The best round
of all is kept, so the result is never worse than ``built`` and ``revlex``.  Nothing is
drawn: every process finds the same.
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
from addressing.algorithms.wmgr_scan_order import Scans, by_word, in_port_order
from addressing.jit import compiled, inlined, threaded
from topos.fabric import Fabric
from topos.graph import ALL_UP, NONE, Adjacency, IntArray

Flags = NDArray[np.bool_]

#: Rounds of improvement from each beginning, and destinations over which lengths are measured:
#: few on large fabrics, whose nodes are many.
ROUNDS = 6
MAX_DESTINATIONS = 512


@dataclass(frozen=True, eq=False)
class Tree:
    """An embedding as arrays: parents, depths, and the nodes from the roots down."""

    parents: IntArray
    depths: IntArray
    downwards: IntArray

    @classmethod
    def of(cls, embedding: Embedding) -> Tree:
        """The arrays of an embedding."""
        depths = np.array([len(word) for word in embedding.words], dtype=np.int32)
        order = np.argsort(depths, kind="stable").astype(np.int32)
        return cls(np.array(embedding.parents, dtype=np.int32), depths, order)


def scanned_slots(adjacency: Adjacency, scans: Scans) -> IntArray:
    """Per node its slots in the order of the scan; slots without a cable come last."""
    out = np.arange(len(adjacency.peer), dtype=np.int32)
    for node, ports in enumerate(scans):
        first, last = int(adjacency.start[node]), int(adjacency.start[node + 1])
        chosen = [first + port - 1 for port in ports]
        out[first:last] = chosen + sorted(set(range(first, last)).difference(chosen))
    return out


@dataclass(frozen=True, eq=False)
class Scan:
    """Live slots in the order of the scan, in compressed rows: those of node v are
    ``slot[first[v]:first[v + 1]]``, and ``end`` says where each leads."""

    first: NDArray[np.uint32]
    slot: IntArray
    end: NDArray[np.uint32]

    @classmethod
    def of(cls, adjacency: Adjacency, scan: IntArray, live: Flags) -> Scan:
        """Those of ``scan`` (as :func:`scanned_slots` gives it) that are ``live``."""
        kept = live[scan]
        before = np.concatenate([[0], np.cumsum(kept)])
        chosen = scan[kept]
        return cls(before[adjacency.start].astype(np.uint32), chosen, adjacency.peer[chosen].astype(np.uint32))

    @property
    def bits(self) -> int:
        """Bits for a place in any node's row, counted from 1."""
        return int(np.diff(self.first).max(initial=0)).bit_length()


def next_slots(destinations: IntArray, tree: Tree, scan: Scan) -> IntArray:
    """``out[i, v]``: the slot that v sends packets for destination i out of; NONE where it has none."""
    deepest = (int(tree.depths.max(initial=0)) + 1) << scan.bits
    depths = tree.depths if deepest <= np.iinfo(np.int32).max else tree.depths.astype(np.int64)
    return _next_slots(
        destinations, tree.parents, depths, tree.downwards, scan.first, scan.slot, scan.end, scan.bits
    )


@lru_cache(maxsize=16)
def searched(fabric: Fabric, root: int) -> Scans:
    """The best scans found for a root on the intact fabric."""
    embedding = freegroup.embed(fabric, ALL_UP, root)
    built = in_port_order(fabric)
    beginnings = (built, by_word(fabric, embedding, built, reverse=True))
    adjacency, tree = fabric.adjacency, Tree.of(embedding)
    count = min(fabric.size, MAX_DESTINATIONS)
    destinations = np.unique(np.linspace(0, fabric.size - 1, count).astype(np.int32))
    rounds = (
        found
        for scans in beginnings
        for found in _improved(destinations, tree, adjacency, scanned_slots(adjacency, scans))
    )
    _, best = min(rounds, key=lambda found: found[0])
    ports = best - adjacency.start[:-1].repeat(np.diff(adjacency.start)) + 1
    cabled = adjacency.peer[best] != NONE
    return tuple(
        tuple(ports[first:last][cabled[first:last]].tolist())
        for first, last in zip(adjacency.start[:-1].tolist(), adjacency.start[1:].tolist(), strict=True)
    )


def _improved(
    destinations: IntArray, tree: Tree, adjacency: Adjacency, scan: IntArray
) -> Iterator[tuple[float, IntArray]]:  # fmt: skip
    """(mean hops, scan) of each round, the first that of the scan itself."""
    live = adjacency.peer != NONE
    owner = np.repeat(np.arange(len(adjacency.start) - 1), np.diff(adjacency.start))
    for _ in range(ROUNDS + 1):
        out = next_slots(destinations, tree, Scan.of(adjacency, scan, live))
        total, regret = _regrets(
            destinations, tree.parents, tree.depths, tree.downwards, adjacency.start, adjacency.peer, out
        )
        yield total / out.size, scan
        # Whole numbers, so that equal regrets stay in the order that they had.
        better = scan[np.lexsort((np.round(regret[scan] * 1e6), owner))].astype(np.int32)
        if np.array_equal(better, scan):
            return
        scan = better


@inlined
def _ranks(
    rank: IntArray, prefix_of: Flags, at: int, parents: IntArray, depths: IntArray, downwards: IntArray
) -> None:  # fmt: skip
    """Write depth(v) - 2 lcp(v, at) for every node v: the word metric less depth(at)."""
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
            # One letter more than the parent, none of them in common.
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
        # The place in the scan, from 1, goes below the rank: the least number is the first of the
        # nearest, found without a branch; place 0 is the node itself.
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
    """The sum of all path lengths, and per slot, over the destinations for which it ties with others,
    how much longer (in sum) the path by it is than by them on average."""
    size = len(parents)
    regret = np.zeros(len(peer), np.float64)
    rank, prefix_of, hops = np.empty(size, np.int32), np.empty(size, np.bool_), np.empty(size, np.int32)
    total = 0.0
    for i in range(len(destinations)):
        _ranks(rank, prefix_of, destinations[i], parents, depths, downwards)
        # The rank falls at every hop: paths are known from the destination outwards.
        for node in np.argsort(rank):
            slot = out[i, node]
            hops[node] = 0 if slot == NONE else hops[peer[slot]] + 1
            total += hops[node]
        for node in range(size):
            if out[i, node] == NONE:
                continue
            best, ties, length = rank[peer[out[i, node]]], 0, 0
            for slot in range(start[node], start[node + 1]):
                if peer[slot] != NONE and rank[peer[slot]] == best:
                    ties += 1
                    length += hops[peer[slot]]
            if ties > 1:
                for slot in range(start[node], start[node + 1]):
                    if peer[slot] != NONE and rank[peer[slot]] == best:
                        regret[slot] += hops[peer[slot]] - length / ties
    return total, regret
