"""WMGR, vectorised: the word metric by one pass down the tree per destination."""

from __future__ import annotations

from typing import cast

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.algorithms.freegroup import Embedding
from addressing.algorithms.scan.wmgr_scan_search import Scan, Tree, next_slots, scanned_slots
from addressing.jit import inlined, threaded
from addressing.scheme import Scheme
from addressing.schemes.wmgr import Wmgr
from dcnlab.evaluator.graph.hop_graph import live_links
from dcnlab.evaluator.routing.forms import Rule, SourceRoutes, TableCounts, Tables
from topos.arrays import Longs
from topos.graph import NONE, IntArray, LinkState


def rule(scheme: Scheme, known_down: LinkState) -> Rule | None:
    """The first neighbour in scan order with the smallest word metric, if smaller than the node's own; None
    where destinations are spread over several."""
    wmgr = cast(Wmgr, scheme)
    if wmgr.ties == "spread":
        return None
    tree, scan = Tree.of(wmgr.embedding), _scan(wmgr, known_down)

    def towards(destinations: IntArray) -> IntArray:
        return next_slots(destinations, tree, scan)

    return towards


def source_routes(scheme: Scheme, known_down: LinkState) -> SourceRoutes | None:
    """The same next hops, followed pair by pair; None where nodes know failures that the tree does not,
    and where destinations are spread."""
    wmgr = cast(Wmgr, scheme)
    if known_down != wmgr.known or wmgr.ties == "spread":
        return None
    tree, scan = wmgr.embedding, _scan(wmgr, known_down)

    def routes_of(sources: IntArray, destinations: IntArray) -> IntArray:
        return _follow(
            sources, destinations, wmgr.hop_bound(), scan.first, scan.slot, scan.end, tree.parent, tree.depth
        )

    return routes_of


def _scan(wmgr: Wmgr, down: LinkState) -> Scan:
    """The links of all nodes in scan order, without those that are ``down``."""
    adjacency = wmgr.fabric.adjacency
    if wmgr.order == "built":
        slots = np.arange(len(adjacency.peer), dtype=np.int32)
    else:
        slots = scanned_slots(adjacency, wmgr.scans)
    return Scan.of(adjacency, slots, live_links(wmgr.fabric, down))


def table_counts(scheme: Scheme) -> Tables | None:
    """One prefix for the node itself, and one per neighbour; None where destinations are spread."""
    wmgr = cast(Wmgr, scheme)
    if wmgr.ties == "spread":
        return None
    tree, scan = wmgr.embedding, _scan(wmgr, wmgr.known)

    def counts(nodes: IntArray) -> TableCounts:
        entries, compared = _owned(nodes, scan.first, scan.end, *_arrays(tree)).T
        return TableCounts(entries, compared, entries)

    return counts


def _arrays(tree: Embedding) -> tuple[IntArray, IntArray, IntArray, IntArray, int]:
    return tree.parent, tree.depth, tree.length, tree.width, tree.common


@threaded
def _follow(
    sources: IntArray,
    destinations: IntArray,
    longest: int,
    first: NDArray[np.uint32],
    slot: IntArray,
    end: NDArray[np.uint32],
    parent: IntArray,
    depth: IntArray,
) -> IntArray:
    """``[pair, hop]``: the links of each pair; none where no path is up."""
    out = np.full((len(sources), longest), NONE, np.int32)
    for pair in numba.prange(len(sources)):
        at, to = int(sources[pair]), int(destinations[pair])
        best = depth[at] - 2 * _shared(at, to, parent, depth)
        for hop in range(longest if _shared(at, to, parent, depth) != NONE else 0):
            following = NONE
            for place in range(first[at], first[at + 1]):
                far = depth[end[place]] - 2 * _shared(int(end[place]), to, parent, depth)
                if far < best:
                    best, out[pair, hop], following = far, slot[place], int(end[place])
            if following == NONE:
                break
            at = following
    return out


@threaded
def _owned(
    nodes: IntArray,
    first: NDArray[np.uint32],
    end: NDArray[np.uint32],
    parent: IntArray,
    depth: IntArray,
    length: IntArray,
    width: IntArray,
    common: int,
) -> Longs:
    """``[i]``: the number of entries of ``nodes[i]``, and the bits that they compare.

    A neighbour owns the prefix of its word that :meth:`addressing.schemes.wmgr.Wmgr.forwarding_classes`
    states."""
    out = np.ones((len(nodes), 2), np.int64)
    for i in numba.prange(len(nodes)):
        at = nodes[i]
        near, count = np.empty(first[at + 1] - first[at], np.int64), 0
        for place in range(first[at], first[at + 1]):
            if not np.any(near[:count] == end[place]):
                near[count] = end[place]
                count += 1
        compared = length[at] + width[at]
        for position in range(count):
            mine, cut = near[position], common
            for place in range(count):
                other = near[place]
                ahead = depth[other] < depth[mine] or (depth[other] == depth[mine] and place < position)
                if not ahead:
                    continue
                above = place < position and depth[mine] == depth[at] + 1 and depth[other] == depth[at] - 1
                cut = max(cut, _shared(other, mine, parent, depth) + 1 + above)
            while depth[mine] > cut:
                mine = parent[mine]
            compared += length[mine]
        out[i, 0], out[i, 1] = count + 1, compared
    return out


@inlined
def _shared(a: int, b: int, parent: IntArray, depth: IntArray) -> int:
    """The length of the longest common prefix of two nodes' words; ``NONE`` in different trees."""
    while depth[a] > depth[b]:
        a = parent[a]
    while depth[b] > depth[a]:
        b = parent[b]
    while a != b:
        a, b = parent[a], parent[b]
    shared: int = depth[a] if a != NONE else NONE
    return shared
