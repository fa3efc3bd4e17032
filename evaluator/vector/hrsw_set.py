"""HR-SW's set mode by arrays: one search per destination cluster over the whole network."""

from __future__ import annotations

import numpy as np

from addressing.scheme import Scheme
from evaluator.adjacency import live_slots
from evaluator.nearest import UNSEEN, descend
from evaluator.vector import Rule
from evaluator.vector.hrsw import clusters, with_inside
from topos.graph import NONE, IntArray, LinkState


def rule(scheme: Scheme, links: LinkState) -> Rule:
    """Nearer to the set of the destination cluster's switches; inside it as ``hrsw``."""
    fabric, group = scheme.fabric, clusters(scheme)
    slots, tables = fabric.slots, live_slots(fabric, scheme.known)
    outward = np.full((int(group.max()) + 1, fabric.size), NONE, dtype=np.int32)
    everywhere = np.zeros(fabric.size, dtype=np.int32)
    for cluster, out in enumerate(outward):
        members = np.flatnonzero(group == cluster).astype(np.int32)
        depth = np.full(fabric.size, UNSEEN, dtype=np.int32)
        queue: IntArray = np.empty(fabric.size, dtype=np.int32)
        depth[members], queue[: len(members)] = 0, members
        descend(out, depth, queue, len(members), slots.start, slots.peer, tables, tables, everywhere)
    return with_inside(fabric, group, outward, tables)
