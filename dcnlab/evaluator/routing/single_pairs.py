"""The path lengths of single pairs: the parts that schemes have in common."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dcnlab.evaluator.graph.hop_graph import attachment_points
from dcnlab.evaluator.graph.next_hops import LOST
from dcnlab.evaluator.routing.forms import PairLengths
from topos.fabric import Fabric
from topos.graph import NONE, IntArray


def between_vertices(
    fabric: Fabric, vertex_hops: Callable[[IntArray, IntArray, IntArray], IntArray]
) -> PairLengths:
    """The hops of pairs of servers, from those of pairs of different vertices: their switches where the
    servers are plain hosts."""
    vertices, final = attachment_points(fabric)

    def hops_of(sources: IntArray, destinations: IntArray, cost: IntArray) -> IntArray:
        here, there = vertices[sources], vertices[destinations]
        hops, apart = np.zeros(len(sources), dtype=np.int32), here != there
        hops[apart] = vertex_hops(here[apart], there[apart], cost)
        if fabric.relaying:
            return hops
        lost = (hops == LOST) | (final[sources] == NONE) | (final[destinations] == NONE)
        return np.where(lost, LOST, hops + cost[here] + cost[destinations])

    return hops_of
