"""The path lengths of all pairs of some nodes: the parts that schemes have in common."""

from __future__ import annotations

from collections.abc import Callable

import numba
import numpy as np

from addressing.jit import threaded
from dcnlab.evaluator.graph.hop_graph import attachment_points
from dcnlab.evaluator.graph.next_hops import LOST
from dcnlab.evaluator.routing.forms import Lengths, Longs
from topos.fabric import Fabric
from topos.graph import NONE, IntArray


def between_all_vertices(fabric: Fabric, to_vertices: Callable[[IntArray, IntArray], IntArray]) -> Lengths:
    """The hops of pairs of servers, from ``to_vertices``: vertices, cost -> hops[vertex, node].  A vertex is a
    server that relays, or the switch of plain hosts."""
    vertices, final = attachment_points(fabric)

    def hops_of(sources: IntArray, destinations: IntArray, cost: IntArray) -> IntArray:
        homes, place = np.unique(vertices[destinations], return_inverse=True)
        hops, place = to_vertices(homes, cost), place.astype(np.int64)
        if not fabric.relaying:
            return _between_hosts(hops, place, sources, destinations, vertices, final, cost)
        if len(homes) != len(place) or not np.array_equal(homes, destinations):
            hops = hops[place]
        return hops if len(sources) == fabric.size else hops.take(sources, axis=1)

    return hops_of


@threaded
def _between_hosts(
    hops: IntArray,
    place: Longs,
    sources: IntArray,
    destinations: IntArray,
    vertices: IntArray,
    final: IntArray,
    cost: IntArray,
) -> IntArray:
    """``[destination, source]``: the hops over the vertices of both, LOST for hosts without a link."""
    out = np.full((len(destinations), len(sources)), LOST, np.int32)
    for i in numba.prange(len(destinations)):
        to = destinations[i]
        if final[to] == NONE:
            continue
        row = hops[place[i]]
        for k in range(len(sources)):
            here = vertices[sources[k]]
            if final[sources[k]] != NONE and row[here] != LOST:
                out[i, k] = row[here] + cost[here] + cost[to]
    return out
