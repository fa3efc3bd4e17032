"""Up*/down* by arrays: a search up from every destination, then one sweep from the root down."""

from __future__ import annotations

from typing import cast

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.jit import threaded
from addressing.scheme import Scheme
from addressing.schemes.updown import UpDown
from dcnlab.evaluator.graph.hop_graph import attachment_points, live_links
from dcnlab.evaluator.graph.nearest import UNSEEN
from dcnlab.evaluator.routing.forms import Rule
from topos.graph import NONE, IntArray, LinkState


def rule(scheme: Scheme, links: LinkState) -> Rule:
    """Down where going down alone arrives, else up."""
    fabric, order = scheme.fabric, np.array(cast(UpDown, scheme).order, dtype=np.int32)
    slots, tables = fabric.adjacency, live_links(fabric, scheme.known)
    rank = np.full(fabric.size, NONE, dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    vertices, final = attachment_points(fabric)

    def towards(destinations: IntArray) -> IntArray:
        last = vertices[destinations]
        out = _sweep(last, order, rank, slots.start, slots.peer, tables)
        out[np.arange(len(out)), last] = final[destinations]
        return out

    return towards


@threaded
def _sweep(
    last: IntArray,
    order: IntArray,
    rank: IntArray,
    start: NDArray[np.int64],
    peer: IntArray,
    usable: NDArray[np.bool_],
) -> IntArray:
    out = np.full((len(last), len(rank)), NONE, np.int32)
    for i in numba.prange(len(last)):
        hops, queue = np.full(len(rank), UNSEEN, np.int32), np.empty(len(rank), np.int32)
        hops[last[i]], queue[0] = 0, last[i]
        head, reached = 0, 1
        while head < reached:
            at = queue[head]
            head += 1
            for slot in range(start[at], start[at + 1]):
                end = peer[slot]
                if usable[slot] and rank[end] != NONE and rank[end] < rank[at] and hops[end] == UNSEEN:
                    hops[end], queue[reached] = hops[at] + 1, end
                    reached += 1
        for place in range(1, reached):
            at = queue[place]
            for slot in range(start[at], start[at + 1]):
                end = peer[slot]
                if usable[slot] and rank[end] > rank[at] and hops[end] == hops[at] - 1:
                    out[i, at] = slot
                    break
        for at in order:
            if hops[at] == UNSEEN:
                for slot in range(start[at], start[at + 1]):
                    end = peer[slot]
                    above = usable[slot] and rank[end] != NONE and rank[end] < rank[at]
                    if above and hops[end] != UNSEEN and (out[i, at] == NONE or hops[end] < hops[at] - 1):
                        out[i, at], hops[at] = slot, hops[end] + 1
    return out
