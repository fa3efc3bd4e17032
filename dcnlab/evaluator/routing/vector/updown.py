"""Up*/down* routing, vectorised: a search up from every destination, then one sweep down from the root."""

from __future__ import annotations

from typing import cast

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.jit import compiled, threaded
from addressing.scheme import Scheme
from addressing.schemes.updown import UpDown
from dcnlab.evaluator.graph.hop_graph import attachment_points, live_links
from dcnlab.evaluator.graph.nearest import UNVISITED
from dcnlab.evaluator.graph.next_hops import LOST
from dcnlab.evaluator.routing.forms import PairLengths, Rule, Tables
from dcnlab.evaluator.routing.single_pairs import between_vertices
from dcnlab.evaluator.routing.tables.table_counts import each_vertex
from topos.graph import NONE, IntArray, LinkState


def rule(scheme: Scheme, known_down: LinkState) -> Rule:
    """Down where links down alone lead to the destination, else up."""
    updown, fabric = cast(UpDown, scheme), scheme.fabric
    adjacency, tables = fabric.adjacency, live_links(fabric, scheme.known)
    order = np.array(updown.order, dtype=np.int32)
    rank, number = np.full((2, fabric.size), NONE, dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    if updown.ties == "spread":
        number[list(updown.vertices)] = np.arange(len(updown.vertices), dtype=np.int32)
    vertices, final = attachment_points(fabric)

    def towards(destinations: IntArray) -> IntArray:
        last = vertices[destinations]
        out = _sweep(last, number[last], order, rank, adjacency.start, adjacency.peer, tables)
        out[np.arange(len(out)), last] = final[destinations]
        return out

    return towards


def pair_lengths(scheme: Scheme) -> PairLengths | None:
    """As :func:`rule`, from the nodes above the two ends alone; None where destinations are spread."""
    if cast(UpDown, scheme).ties == "spread":
        return None
    fabric, order = scheme.fabric, np.array(cast(UpDown, scheme).order, dtype=np.int32)
    adjacency, usable = fabric.adjacency, live_links(fabric)
    rank = np.full(fabric.size, NONE, dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)

    def vertex_hops(sources: IntArray, destinations: IntArray, cost: IntArray) -> IntArray:
        threads = numba.get_num_threads()
        return _hops(sources, destinations, cost, order, rank, adjacency.start, adjacency.peer, usable, threads)

    return between_vertices(fabric, vertex_hops)


def table_counts(scheme: Scheme) -> Tables:
    """One entry per other vertex."""
    return each_vertex(cast(UpDown, scheme))


@threaded
def _sweep(
    last: IntArray,
    number: IntArray,
    order: IntArray,
    rank: IntArray,
    start: NDArray[np.int64],
    peer: IntArray,
    usable: NDArray[np.bool_],
) -> IntArray:
    """``[i, node]``: the link towards ``last[i]``; ties by its ``number``, or to the first port without one."""
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
            out[i, at] = _nearer(at, False, number[i], hops, rank, start, peer, usable)
        for at in order:
            if hops[at] == UNVISITED:
                for link in range(start[at], start[at + 1]):
                    end = peer[link]
                    above = usable[link] and rank[end] != NONE and rank[end] < rank[at]
                    if above and hops[end] != UNVISITED and (hops[at] == UNVISITED or hops[end] < hops[at] - 1):
                        hops[at] = hops[end] + 1
                if hops[at] != UNVISITED:
                    out[i, at] = _nearer(at, True, number[i], hops, rank, start, peer, usable)
    return out


@compiled
def _nearer(
    at: int, above: bool, number: int, hops: IntArray, rank: IntArray, start: NDArray[np.int64], peer: IntArray,
    usable: NDArray[np.bool_],
) -> int:  # fmt: skip
    """The link up, or down, to a node one hop nearer: the first, or the one that
    :func:`addressing.algorithms.shortest_paths.spread` names for the destination's number."""
    count, wanted = 0, 0
    for turn in range(2):
        for link in range(start[at], start[at + 1]):
            end = peer[link]
            onward = usable[link] and rank[end] != NONE and (rank[end] < rank[at]) == above
            if onward and hops[end] == hops[at] - 1:
                if (turn or number == NONE) and wanted == 0:
                    return link
                count, wanted = count + (1 - turn), wanted - turn
        if count == 0:
            return NONE
        wanted = (number if hops[at] % 2 else number // count) % count
    return NONE


@threaded
def _hops(
    sources: IntArray,
    destinations: IntArray,
    cost: IntArray,
    order: IntArray,
    rank: IntArray,
    start: NDArray[np.int64],
    peer: IntArray,
    usable: NDArray[np.bool_],
    threads: int,
) -> IntArray:
    """``[pair]``: the hops between two different nodes."""
    size, hops = len(rank), np.full(len(sources), LOST, np.int32)
    for thread in numba.prange(threads):
        down, up = np.full(size, UNVISITED, np.int32), np.full(size, UNVISITED, np.int32)
        below, above = np.empty(size, np.int32), np.empty(size, np.int32)
        for pair in range(thread, len(sources), threads):
            at, to = sources[pair], destinations[pair]
            # Links down alone lead to the destination from the nodes above it.
            down[to], below[0] = 0, to
            reached = _climb(down, below, down, rank, start, peer, usable, False)
            up[at], above[0] = 0, at
            climbed = _climb(up, above, down, rank, start, peer, usable, True)
            for place in np.sort(rank[above[:climbed]]):
                node = order[place]
                up[node] = down[node]
                for link in range(start[node], start[node + 1]):
                    end = peer[link]
                    higher = usable[link] and rank[end] != NONE and rank[end] < rank[node]
                    if down[node] != UNVISITED or not higher or up[end] == UNVISITED:
                        continue
                    if up[node] == UNVISITED or up[end] < up[node] - 1:
                        up[node] = up[end] + 1
            total = 0 if up[at] != UNVISITED else LOST
            while total != LOST and at != to:
                at = _step(at, down, up, rank, start, peer, usable)
                total += cost[at]
            hops[pair] = total
            down[below[:reached]] = UNVISITED
            up[above[:climbed]] = UNVISITED
    return hops


@compiled
def _climb(
    depth: IntArray,
    queue: IntArray,
    down: IntArray,
    rank: IntArray,
    start: NDArray[np.int64],
    peer: IntArray,
    usable: NDArray[np.bool_],
    stop: bool,
) -> int:
    """Search from ``queue[0]`` over links up; with ``stop`` not beyond nodes from which links lead down to
    the destination.  Returns the number of nodes in ``queue``."""
    head, reached = 0, 1
    while head < reached:
        at = queue[head]
        head += 1
        if stop and down[at] != UNVISITED:
            continue
        for link in range(start[at], start[at + 1]):
            end = peer[link]
            if usable[link] and rank[end] != NONE and rank[end] < rank[at] and depth[end] == UNVISITED:
                depth[end] = depth[at] + 1
                queue[reached] = end
                reached += 1
    return reached


@compiled
def _step(
    at: int,
    down: IntArray,
    up: IntArray,
    rank: IntArray,
    start: NDArray[np.int64],
    peer: IntArray,
    usable: NDArray[np.bool_],
) -> int:
    """The next node: by the first link down where those lead to the destination, else by the first link up
    to a node with the fewest hops left."""
    for link in range(start[at], start[at + 1]):
        end = peer[link]
        if not usable[link] or rank[end] == NONE:
            continue
        if down[at] != UNVISITED:
            if rank[end] > rank[at] and down[end] == down[at] - 1:
                return int(end)
        elif rank[end] < rank[at] and up[end] == up[at] - 1:
            return int(end)
    return NONE
