"""Up*/down* routing, vectorised: a search up from every destination, then one sweep down from the root."""

from __future__ import annotations

from typing import cast

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.jit import threaded
from addressing.scheme import Scheme
from addressing.schemes.updown import UpDown
from dcnlab.evaluator.graph.hop_graph import attachment_points, live_links
from dcnlab.evaluator.graph.nearest import UNVISITED
from dcnlab.evaluator.routing.forms import Rule, Tables
from dcnlab.evaluator.routing.table_counts import each_vertex
from topos.graph import NONE, IntArray, LinkState


def rule(scheme: Scheme, known_down: LinkState) -> Rule:
    """Down where links down alone lead to the destination, else up."""
    fabric, order = scheme.fabric, np.array(cast(UpDown, scheme).order, dtype=np.int32)
    adjacency, tables = fabric.adjacency, live_links(fabric, scheme.known)
    rank = np.full(fabric.size, NONE, dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    vertices, final = attachment_points(fabric)

    def towards(destinations: IntArray) -> IntArray:
        last = vertices[destinations]
        out = _sweep(last, order, rank, adjacency.start, adjacency.peer, tables)
        out[np.arange(len(out)), last] = final[destinations]
        return out

    return towards


def table_counts(scheme: Scheme) -> Tables:
    """One entry per other vertex."""
    return each_vertex(cast(UpDown, scheme))


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
        hops, queue = np.full(len(rank), UNVISITED, np.int32), np.empty(len(rank), np.int32)
        hops[last[i]], queue[0] = 0, last[i]
        head, reached = 0, 1
        while head < reached:
            at = queue[head]
            head += 1
            for link in range(start[at], start[at + 1]):
                end = peer[link]
                if usable[link] and rank[end] != NONE and rank[end] < rank[at] and hops[end] == UNVISITED:
                    hops[end], queue[reached] = hops[at] + 1, end
                    reached += 1
        for place in range(1, reached):
            at = queue[place]
            for link in range(start[at], start[at + 1]):
                end = peer[link]
                if usable[link] and rank[end] > rank[at] and hops[end] == hops[at] - 1:
                    out[i, at] = link
                    break
        for at in order:
            if hops[at] == UNVISITED:
                for link in range(start[at], start[at + 1]):
                    end = peer[link]
                    above = usable[link] and rank[end] != NONE and rank[end] < rank[at]
                    if above and hops[end] != UNVISITED and (out[i, at] == NONE or hops[end] < hops[at] - 1):
                        out[i, at], hops[at] = link, hops[end] + 1
    return out
