"""HR-SW by arrays: one table per destination cluster, and one search inside the last cluster."""

from __future__ import annotations

from typing import cast

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import shortest_path

from addressing.scheme import Scheme
from addressing.schemes.hrsw import Hrsw
from evaluator.adjacency import homes, live_slots
from evaluator.jit import compiled, threaded
from evaluator.nearest import UNSEEN, descend
from evaluator.vector import Rule
from topos.graph import NONE, Fabric, IntArray, LinkState

_HOST = -1


def rule(scheme: Scheme, links: LinkState) -> Rule:
    """Between clusters by the agreed next cluster, then inside by shortest paths, then the host."""
    fabric, group = scheme.fabric, clusters(scheme)
    tables = live_slots(fabric, scheme.known)
    return with_inside(fabric, group, _outward(fabric, group, tables), tables)


def clusters(scheme: Scheme) -> IntArray:
    """The cluster of each switch; hosts are in none."""
    world, fabric = cast(Hrsw, scheme).world, scheme.fabric
    group = np.full(fabric.size, _HOST, dtype=np.int32)
    group[fabric.servers :] = [world.cluster(switch) for switch in range(fabric.switches)]
    return group


def with_inside(fabric: Fabric, group: IntArray, outward: IntArray, tables: NDArray[np.bool_]) -> Rule:
    """``outward[cluster, switch]`` towards other clusters, shortest paths inside the own one."""
    slots = fabric.slots
    switches, final = homes(fabric)

    def towards(hosts: IntArray) -> IntArray:
        last = switches[hosts]
        out = outward[group[last]]
        _inside(out, last, slots.start, slots.peer, tables, group)
        out[np.arange(len(hosts)), last] = final[hosts]
        return out

    return towards


def _outward(fabric: Fabric, group: IntArray, usable: NDArray[np.bool_]) -> IntArray:
    """``[cluster, switch]``: the slot of packets for another cluster."""
    slots, clusters = fabric.slots, int(group.max()) + 1
    owner = np.repeat(np.arange(fabric.size), np.diff(slots.start))
    here, there = group[owner], group[slots.peer]
    crossing = usable & (here != there) & (here != _HOST) & (there != _HOST)
    touching = np.zeros((clusters, clusters), dtype=np.bool_)
    touching[here[crossing], there[crossing]] = True
    distance = shortest_path(touching.astype(np.float64), unweighted=True)
    out = np.full((clusters, fabric.size), NONE, dtype=np.int32)
    exits: dict[tuple[int, int], IntArray] = {}
    for own in range(clusters):
        for to in range(clusters):
            nearer = np.flatnonzero(touching[own] & (distance[to] == distance[to, own] - 1))
            if len(nearer):
                key = own, int(nearer[0])
                if key not in exits:
                    leaving = np.flatnonzero(crossing & (here == own) & (there == key[1]))
                    exits[key] = _to_exits(leaving, owner[leaving], slots.start, slots.peer, usable, group)
                out[to] = np.where(group == own, exits[key], out[to])
    return out


@compiled
def _to_exits(
    leaving: NDArray[np.int64],
    owner: NDArray[np.int64],
    start: NDArray[np.int64],
    peer: IntArray,
    usable: NDArray[np.bool_],
    group: IntArray,
) -> IntArray:
    """Per switch the slot towards the nearest of the ``leaving`` slots' owners, or that slot."""
    size = len(start) - 1
    out, depth = np.full(size, NONE, np.int32), np.full(size, UNSEEN, np.int32)
    queue, reached = np.empty(size, np.int32), 0
    for i in range(len(leaving)):
        if depth[owner[i]] == UNSEEN:
            depth[owner[i]], out[owner[i]], queue[reached] = 0, leaving[i], owner[i]
            reached += 1
    descend(out, depth, queue, reached, start, peer, usable, usable, group)
    return out


@threaded
def _inside(
    out: IntArray,
    last: IntArray,
    start: NDArray[np.int64],
    peer: IntArray,
    usable: NDArray[np.bool_],
    group: IntArray,
) -> None:
    """Shortest paths inside the cluster of each ``last`` switch."""
    size = len(start) - 1
    for i in numba.prange(len(last)):
        depth, queue = np.full(size, UNSEEN, np.int32), np.empty(size, np.int32)
        depth[last[i]], queue[0] = 0, last[i]
        descend(out[i], depth, queue, 1, start, peer, usable, usable, group)
