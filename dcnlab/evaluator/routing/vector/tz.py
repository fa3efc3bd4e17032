"""Thorup-Zwick routing, vectorised: a search from every destination, and one from every landmark."""

from __future__ import annotations

from typing import cast

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.algorithms.balls import members
from addressing.algorithms.shortest_paths import live_rows
from addressing.jit import inlined, threaded
from addressing.scheme import Scheme
from addressing.schemes.tz import Tz
from dcnlab.evaluator.graph.hop_graph import attachment_points, live_links
from dcnlab.evaluator.graph.nearest import UNVISITED, ball, bfs_next_hops_each
from dcnlab.evaluator.graph.next_hops import LOST
from dcnlab.evaluator.graph.paths.first_paths import first_path, first_torus_path, room
from dcnlab.evaluator.routing.forms import PairLengths, Rule, TableCounts, Tables
from dcnlab.evaluator.routing.single_pairs import between_vertices
from dcnlab.evaluator.routing.tables.table_counts import one_next_hop, with_local
from dcnlab.evaluator.routing.torus_distances import torus_sizes
from topos.graph import NONE, IntArray, LinkState


def rule(scheme: Scheme, known_down: LinkState) -> Rule | None:
    """A shortest path from nodes that store the destination, else towards its landmark.

    None where nodes react to failures that the control plane does not know, and where destinations are spread.
    """
    bound = cast(Tz, scheme)
    if known_down.down - bound.known.down or bound.ties == "spread":
        return None
    fabric, landmarks = bound.fabric, np.array(bound.landmarks, dtype=np.int32)
    adjacency, usable = fabric.adjacency, live_links(fabric, bound.known)
    vertices, final = attachment_points(fabric)
    to_landmarks = np.full((len(landmarks), fabric.size), NONE, np.int32)
    everywhere = np.zeros(fabric.size, np.int32)
    bfs_next_hops_each(to_landmarks, landmarks, adjacency.start, adjacency.peer, usable, usable, everywhere)

    def towards(destinations: IntArray) -> IntArray:
        last = vertices[destinations]
        out = to_landmarks[bound.nearest[last]]
        ends, radius = landmarks[bound.nearest[last]], bound.radius[last]
        _enter_clusters(out, last, radius, ends, adjacency.start, adjacency.peer, usable)
        out[np.arange(len(last)), last] = final[destinations]
        return out

    return towards


@threaded
def _enter_clusters(
    out: IntArray,
    last: IntArray,
    radius: IntArray,
    landmarks: IntArray,
    start: NDArray[np.int64],
    peer: IntArray,
    usable: NDArray[np.bool_],
) -> None:
    """Next hops of the nodes that store ``last[i]``: those nearer than ``radius[i]``, and its landmark, which
    stores it as well or finds the port in the label."""
    size = len(start) - 1
    for i in numba.prange(len(last)):
        depth, queue = np.full(size, UNVISITED, np.int32), np.empty(size + 1, np.int32)
        depth[last[i]], queue[0] = 0, last[i]
        reached = ball(depth, queue, radius[i] - 1, start, peer, usable)
        queue[reached] = landmarks[i]
        for place in range(1, reached + (depth[landmarks[i]] == UNVISITED)):
            at = queue[place]
            depth[at] = radius[i] if place == reached else depth[at]
            out[i, at] = NONE
            for link in range(start[at], start[at + 1]):
                if usable[link] and depth[peer[link]] == depth[at] - 1:
                    out[i, at] = link
                    break


def pair_lengths(scheme: Scheme) -> PairLengths | None:
    """The first shortest path to the landmark, left at the first node that stores the destination; None where
    destinations are spread."""
    tz, fabric = cast(Tz, scheme), scheme.fabric
    if tz.ties == "spread":
        return None
    adjacency, usable = fabric.adjacency, live_links(fabric)
    landmarks = np.array(tz.landmarks, dtype=np.int32)
    sizes = np.array(torus_sizes(fabric) or (), dtype=np.int32)

    def vertex_hops(sources: IntArray, destinations: IntArray, cost: IntArray) -> IntArray:
        return _hops(
            sources, destinations, landmarks[tz.nearest[destinations]], tz.radius[destinations], cost,
            adjacency.start, adjacency.peer, usable, sizes, numba.get_num_threads(),
        )  # fmt: skip

    return between_vertices(fabric, vertex_hops)


def table_counts(scheme: Scheme) -> Tables | None:
    """One entry per vertex of the node's cluster and one per landmark of all other vertices; a landmark has
    one per port in the labels of its vertices.  None where landmarks represent their vertices."""
    tz = cast(Tz, scheme)
    if tz.represented:
        return None
    fabric, vertices, nearest = tz.fabric, np.array(tz.vertices), tz.nearest
    start, peer = live_rows(fabric, tz.known)
    is_vertex = np.zeros(fabric.size, dtype=np.bool_)
    is_vertex[vertices] = True
    served = np.bincount(nearest[vertices], minlength=len(tz.landmarks))
    _, landmark_bits, port_bits = tz.widths
    numbers = {landmark: number for number, landmark in enumerate(tz.landmarks)}

    def count(node: int, cluster: IntArray) -> tuple[int, int]:
        stored = cluster[is_vertex[cluster] & (cluster != node)]
        others = served - np.bincount(nearest[stored], minlength=len(served))
        others[nearest[node]] -= is_vertex[node]
        behind = int(np.count_nonzero(others))
        entries, compared = len(stored), len(stored) * sum(tz.widths)
        own = numbers.get(node)
        if own is not None and others[own]:
            mine = vertices[(nearest[vertices] == own) & (vertices != node)]
            labels = map(tz.vertex_label, np.setdiff1d(mine, stored).tolist())
            ports = len({label & (1 << port_bits) - 1 for label in labels})
            entries, compared = entries + ports, compared + ports * (landmark_bits + port_bits)
            behind -= 1
        return entries + behind, compared + behind * landmark_bits

    def transit(nodes: IntArray) -> TableCounts:
        depth, queue = np.full(fabric.size, UNVISITED, np.int32), np.empty(fabric.size, np.int32)
        clusters = (queue[: members(node, tz.radius, start, peer, depth, queue)] for node in nodes.tolist())
        rows = [count(node, cluster) for node, cluster in zip(nodes.tolist(), clusters, strict=True)]
        return one_next_hop(*np.array(rows).T)

    return with_local(tz, transit)


@threaded
def _hops(
    sources: IntArray,
    destinations: IntArray,
    landmarks: IntArray,
    radius: IntArray,
    cost: IntArray,
    start: NDArray[np.int64],
    peer: IntArray,
    usable: NDArray[np.bool_],
    sizes: IntArray,
    threads: int,
) -> IntArray:
    """``[pair]``: the hops between two different nodes; ``sizes`` are those of a whole torus, else empty."""
    size, hops = len(start) - 1, np.full(len(sources), LOST, np.int32)
    for thread in numba.prange(threads):
        memory, depth, queue = room(size), np.full(size, UNVISITED, np.int32), np.empty(size, np.int32)
        for pair in range(thread, len(sources), threads):
            at, to, total = sources[pair], destinations[pair], 0
            depth[to], queue[0] = 0, to
            reached = ball(depth, queue, radius[pair] - 1, start, peer, usable)
            if depth[at] == UNVISITED:
                if len(sizes):
                    far = first_torus_path(at, landmarks[pair], sizes, start, peer, usable, memory.trail)
                else:
                    far = first_path(at, landmarks[pair : pair + 1], start, peer, usable, memory)
                total = 0 if far != NONE else LOST
                for hop in range(far):
                    if depth[at] == UNVISITED:
                        at = memory.trail[hop]
                        total += cost[at]
            if total != LOST:
                inside = _hops_inside(at, depth, radius[pair], cost, start, peer, usable)
                hops[pair] = total + inside if inside != LOST else LOST
            depth[queue[:reached]] = UNVISITED
    return hops


@inlined
def _hops_inside(
    at: int, depth: IntArray, radius: int, cost: IntArray, start: NDArray[np.int64], peer: IntArray,
    usable: NDArray[np.bool_],
) -> int:  # fmt: skip
    """The hops from a node of the ball around the destination, or from its landmark at ``radius``."""
    total, left = 0, depth[at] if depth[at] != UNVISITED else radius
    while left and total != LOST:
        onward = NONE
        for link in range(start[at], start[at + 1]):
            if usable[link] and depth[peer[link]] == left - 1:
                onward = link
                break
        if onward == NONE:
            total = LOST
        else:
            at, left = peer[onward], left - 1
            total += cost[at]
    return total
