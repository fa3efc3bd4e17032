"""WMGR by arrays: the word metric from one pass down the tree per destination."""

from __future__ import annotations

from typing import cast

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.scheme import Scheme
from addressing.schemes.wmgr import Wmgr
from evaluator.adjacency import live_slots
from evaluator.jit import threaded
from evaluator.vector import Rule
from topos.graph import NONE, IntArray, LinkState


def rule(scheme: Scheme, links: LinkState) -> Rule:
    """The neighbour w with the least depth(w) - 2 lcp(w, v), if that is less than one's own."""
    tree = cast(Wmgr, scheme).embedding
    parents = np.array(tree.parents, dtype=np.int32)
    depths = np.array([len(word) for word in tree.words], dtype=np.int32)
    order = np.argsort(depths, kind="stable").astype(np.int32)
    slots, live = scheme.fabric.slots, live_slots(scheme.fabric, links)

    def towards(destinations: IntArray) -> IntArray:
        return _greedy(destinations, parents, depths, order, slots.start, slots.peer, live)

    return towards


@threaded
def _greedy(
    destinations: IntArray,
    parents: IntArray,
    depths: IntArray,
    order: IntArray,
    start: NDArray[np.int64],
    peer: IntArray,
    live: NDArray[np.bool_],
) -> IntArray:
    size = len(parents)
    out = np.full((len(destinations), size), NONE, np.int32)
    for i in numba.prange(len(destinations)):
        prefix_of = np.zeros(size, np.bool_)
        at = destinations[i]
        while at != NONE:
            prefix_of[at] = True
            at = parents[at]
        common, rank = np.zeros(size, np.int32), np.empty(size, np.int32)
        for node in order:
            if prefix_of[node]:
                common[node] = depths[node]
            elif parents[node] != NONE:
                common[node] = common[parents[node]]
            rank[node] = depths[node] - 2 * common[node]
        for node in range(size):
            best = rank[node]
            for slot in range(start[node], start[node + 1]):
                if live[slot] and rank[peer[slot]] < best:
                    best = rank[peer[slot]]
                    out[i, node] = slot
    return out
