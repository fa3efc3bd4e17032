"""HR-SW's set mode, vectorised: one search per goal over the whole network."""

from __future__ import annotations

from typing import cast

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.hierarchy import Hierarchy
from addressing.jit import threaded
from addressing.scheme import Scheme
from dcnlab.evaluator.graph.hop_graph import live_links
from dcnlab.evaluator.graph.nearest import UNVISITED, bfs_next_hops
from dcnlab.evaluator.graph.next_hops import LOST
from dcnlab.evaluator.graph.paths.first_paths import first_path, room
from dcnlab.evaluator.routing.forms import PairLengths, Rule, Tables
from dcnlab.evaluator.routing.single_pairs import between_vertices
from dcnlab.evaluator.routing.vector import hrsw
from dcnlab.evaluator.routing.vector.hrsw import (
    Towards,
    by_cluster,
    split_clusters,
    with_intra_part_routing,
)
from topos.arrays import Longs
from topos.graph import NONE, IntArray, LinkState


def rule(scheme: Scheme, known_down: LinkState) -> Rule:
    """Towards the nearest node of the destination's part; inside that part as ``hrsw``."""
    hierarchy = cast(Hierarchy, scheme)
    return with_intra_part_routing(hierarchy, _to_nearest(hierarchy))


def _to_nearest(scheme: Hierarchy) -> Towards:
    """The links towards the nearest node of a set of parts."""
    fabric, parts = scheme.fabric, scheme.parts
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

    return towards


def pair_lengths(scheme: Scheme) -> PairLengths | None:
    """As :func:`rule`, by a search from the source and from the destination's cluster."""
    hierarchy = cast(Hierarchy, scheme)
    if split_clusters(scheme.fabric, np.array(hierarchy.clustering)):
        return None
    fabric, group = scheme.fabric, np.array(hierarchy.clustering, dtype=np.int32)
    first, members = by_cluster(group)
    adjacency, forwards = fabric.adjacency, group != NONE
    between = live_links(fabric) & forwards[adjacency.peer]
    between &= np.repeat(forwards, np.diff(adjacency.start))
    inside = between & (np.repeat(group, np.diff(adjacency.start)) == group[adjacency.peer])

    def vertex_hops(sources: IntArray, destinations: IntArray, cost: IntArray) -> IntArray:
        return _hops(
            sources, destinations, cost, group, first, members, adjacency.start, adjacency.peer, between,
            inside, numba.get_num_threads(),
        )  # fmt: skip

    return between_vertices(fabric, vertex_hops)


def table_counts(scheme: Scheme) -> Tables:
    """As ``hrsw``."""
    return hrsw.table_counts(scheme)


@threaded
def _hops(
    sources: IntArray, destinations: IntArray, cost: IntArray, group: IntArray, first: Longs, members: IntArray,
    start: Longs, peer: IntArray, between: NDArray[np.bool_], inside: NDArray[np.bool_], threads: int,
) -> IntArray:  # fmt: skip
    """``[pair]``: the hops to the nearest node of the destination's cluster, then inside it."""
    hops = np.full(len(sources), LOST, np.int32)
    for thread in numba.prange(threads):
        memory = room(len(group))
        for pair in range(thread, len(sources), threads):
            at, to, total = sources[pair], destinations[pair], 0
            goal = members[first[group[to]] : first[group[to] + 1]]
            for leg in range(2):
                targets = goal if leg == 0 else destinations[pair : pair + 1]
                usable = between if leg == 0 else inside
                far = first_path(at, targets, start, peer, usable, memory)
                for hop in range(far):
                    at = memory.trail[hop]
                    total += cost[at]
                if far == NONE:
                    break
            hops[pair] = total if at == to else LOST
    return hops
