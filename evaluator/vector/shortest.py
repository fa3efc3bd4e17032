"""Full tables by arrays: one breadth-first search per destination."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.scheme import Scheme
from evaluator.adjacency import live_slots
from evaluator.jit import threaded
from evaluator.nearest import UNSEEN, descend
from evaluator.vector import Rule
from topos.graph import NONE, IntArray, LinkState


def rule(scheme: Scheme, links: LinkState) -> Rule:
    """The first live port that is nearer over the links that the tables know to be up."""
    slots = scheme.fabric.slots
    known, live = live_slots(scheme.fabric, scheme.known), live_slots(scheme.fabric, links)

    def towards(destinations: IntArray) -> IntArray:
        return _search(destinations, slots.start, slots.peer, known, known & live)

    return towards


@threaded
def _search(
    destinations: IntArray,
    start: NDArray[np.int64],
    peer: IntArray,
    known: NDArray[np.bool_],
    live: NDArray[np.bool_],
) -> IntArray:
    size = len(start) - 1
    out = np.full((len(destinations), size), NONE, np.int32)
    everywhere = np.zeros(size, np.int32)
    for i in numba.prange(len(destinations)):
        depth, queue = np.full(size, UNSEEN, np.int32), np.empty(size, np.int32)
        depth[destinations[i]], queue[0] = 0, destinations[i]
        descend(out[i], depth, queue, 1, start, peer, known, live, everywhere)
    return out
