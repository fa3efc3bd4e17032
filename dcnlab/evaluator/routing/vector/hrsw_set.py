"""HR-SW's set mode, vectorised: one search per goal over the whole network."""

from __future__ import annotations

from typing import cast

import numpy as np

from addressing.hierarchy import Hierarchy
from addressing.scheme import Scheme
from dcnlab.evaluator.graph.hop_graph import live_links
from dcnlab.evaluator.graph.nearest import UNVISITED, bfs_next_hops
from dcnlab.evaluator.routing.forms import Rule, Tables
from dcnlab.evaluator.routing.vector import hrsw
from dcnlab.evaluator.routing.vector.hrsw import with_intra_part_routing
from topos.graph import NONE, IntArray, LinkState


def rule(scheme: Scheme, known_down: LinkState) -> Rule:
    """Towards the nearest node of the destination's part; inside that part as ``hrsw``."""
    hierarchy = cast(Hierarchy, scheme)
    fabric, parts = scheme.fabric, hierarchy.parts
    adjacency, tables = fabric.adjacency, live_links(fabric, scheme.known)
    routers = (np.array(parts.part) != NONE).astype(np.int32)

    def towards(goal: tuple[int, ...]) -> IntArray:
        members = np.concatenate([parts.members[part] for part in goal])
        out = np.full(fabric.size, NONE, dtype=np.int32)
        depth = np.full(fabric.size, UNVISITED, dtype=np.int32)
        queue: IntArray = np.empty(fabric.size, dtype=np.int32)
        depth[members], queue[: len(members)] = 0, members
        bfs_next_hops(out, depth, queue, len(members), adjacency.start, adjacency.peer, tables, tables, routers)
        return out

    return with_intra_part_routing(hierarchy, towards)


def table_counts(scheme: Scheme) -> Tables:
    """As ``hrsw``."""
    return hrsw.table_counts(scheme)
