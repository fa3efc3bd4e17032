"""Backup paths around known failures for next-hop arrays, as :class:`addressing.rule.RuleScheme` has them.

A node whose path by the rule is broken takes one step along a shortest path over the links that
are up.  A node whose path is intact follows the rule.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.jit import threaded
from addressing.rule import RuleScheme
from dcnlab.evaluator.graph import next_hops
from dcnlab.evaluator.graph.hop_graph import attachment_points, live_links
from dcnlab.evaluator.graph.nearest import UNVISITED, bfs_next_hops
from dcnlab.evaluator.routing.forms import Rule
from topos.graph import NONE, IntArray


def repaired(scheme: RuleScheme, rule: Rule) -> Rule:
    """``rule`` with a backup next hop at every node whose path crosses a link known to be down."""
    fabric = scheme.fabric
    adjacency, known = fabric.adjacency, live_links(fabric, scheme.known)
    vertices, _ = attachment_points(fabric)
    cost, nowhere = np.ones(fabric.size, dtype=np.int32), np.zeros(0, dtype=np.int32)

    def towards(destinations: IntArray) -> IntArray:
        out, ends = rule(destinations), vertices[destinations]
        hops = next_hops.hops_to(out, ends, adjacency.peer, known, cost, nowhere)
        _add_backup_paths(out, hops, ends, adjacency.start, adjacency.peer, known)
        return out

    return towards


@threaded
def _add_backup_paths(
    out: IntArray,
    hops: IntArray,
    ends: IntArray,
    start: NDArray[np.int64],
    peer: IntArray,
    known: NDArray[np.bool_],
) -> None:
    size = len(start) - 1
    everywhere = np.zeros(size, np.int32)
    for i in numba.prange(len(ends)):
        depth, queue = np.full(size, UNVISITED, np.int32), np.empty(size, np.int32)
        depth[ends[i]], queue[0] = 0, ends[i]
        step = np.full(size, NONE, np.int32)
        bfs_next_hops(step, depth, queue, 1, start, peer, known, known, everywhere)
        for node in range(size):
            if hops[i, node] == next_hops.LOST:
                out[i, node] = step[node]
