"""Hierarchical routing (HR-SW), vectorised: one table per destination part, one search inside the last."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from addressing.hierarchy import Hierarchy
from addressing.jit import compiled, threaded
from addressing.scheme import Scheme
from dcnlab.evaluator.graph.hop_graph import attachment_points, live_links
from dcnlab.evaluator.graph.nearest import UNVISITED, bfs_next_hops, bfs_next_hops_each
from dcnlab.evaluator.graph.next_hops import LOST
from dcnlab.evaluator.routing.forms import PairLengths, Rule, TableCounts, Tables
from dcnlab.evaluator.routing.single_pairs import between_vertices
from dcnlab.evaluator.routing.tables.table_counts import one_next_hop, vertex_mask, with_local
from topos.arrays import Longs
from topos.fabric import Fabric
from topos.graph import NONE, IntArray, LinkState

#: Set of goal parts -> ``links[node]``, the link of every node towards them.
Towards = Callable[[tuple[int, ...]], IntArray]


def rule(scheme: Scheme, known_down: LinkState) -> Rule:
    """Between parts by the agreed next part, inside the last part by shortest paths, then to the host."""
    hierarchy = cast(Hierarchy, scheme)
    return with_intra_part_routing(hierarchy, _InterPartRouting(hierarchy).towards)


def pair_lengths(scheme: Scheme) -> PairLengths | None:
    """As :func:`rule`, part by part from the source on; None where a cluster is not connected."""
    hierarchy = cast(Hierarchy, scheme)
    if split_clusters(scheme.fabric, np.array(hierarchy.clustering)):
        return None
    fabric, group = scheme.fabric, np.array(hierarchy.clustering, dtype=np.int32)
    first, members = by_cluster(group)
    near_start, near = neighbouring_clusters(fabric, group)
    adjacency, usable = fabric.adjacency, live_links(fabric)

    def vertex_hops(sources: IntArray, destinations: IntArray, cost: IntArray) -> IntArray:
        return _hops(
            sources, destinations, cost, group, first, members, near_start, near,
            adjacency.start, adjacency.peer, usable, numba.get_num_threads(),
        )  # fmt: skip

    return between_vertices(fabric, vertex_hops)


def split_clusters(fabric: Fabric, group: IntArray) -> frozenset[int]:
    """The clusters that are not connected while all links are up."""
    ends = fabric.link_ends[:, [0, 2]]
    a, b = ends[group[ends[:, 0]] == group[ends[:, 1]]].T
    inside = coo_array((np.ones(len(a), dtype=np.int8), (a, b)), shape=(fabric.size, fabric.size))
    _, piece = connected_components(inside, directed=False)
    clusters = np.unique(np.stack([group, piece], axis=1)[group != NONE], axis=0)[:, 0]
    numbers, pieces = np.unique(clusters, return_counts=True)
    return frozenset(numbers[pieces > 1].tolist())


def by_cluster(group: IntArray) -> tuple[Longs, IntArray]:
    """The nodes of each cluster as compressed rows, ascending; plain hosts are left out."""
    order = np.argsort(group, kind="stable").astype(np.int32)
    members = order[np.count_nonzero(group == NONE) :]
    counts = np.bincount(group[members])
    return np.concatenate([[0], np.cumsum(counts)]), members


def neighbouring_clusters(fabric: Fabric, group: IntArray) -> tuple[Longs, IntArray]:
    """The clusters that a link joins to each cluster, as compressed rows, ascending."""
    ends = fabric.link_ends[:, [0, 2]]
    a, b = group[ends].T.astype(np.int64)
    across, count = (a != b) & (a != NONE) & (b != NONE), int(group.max()) + 1
    pairs = np.unique(np.concatenate([a[across] * count + b[across], b[across] * count + a[across]]))
    start = np.searchsorted(pairs, np.arange(count + 1) * count)
    return start, (pairs % count).astype(np.int32)


def table_counts(scheme: Scheme) -> Tables:
    """One entry per other cluster, one per other vertex of the own cluster, and those of split clusters."""
    hierarchy = cast(Hierarchy, scheme)
    clustering, vertex = np.array(hierarchy.clustering), vertex_mask(hierarchy)
    lengths = np.array([len(vertices) for vertices in hierarchy.places])
    split = hierarchy.split_clusters if scheme.known else split_clusters(scheme.fabric, clustering)
    lengths[list(split)] = 0
    others = np.count_nonzero(lengths)
    cluster_bits = hierarchy.vertex_bits - hierarchy.place_bits

    def transit(nodes: IntArray) -> TableCounts:
        own = lengths[clustering[nodes]]
        outside, inside = others - (own > 0), np.where(own > 0, own - vertex[nodes], 0)
        entries, compared = outside + inside, outside * cluster_bits + inside * hierarchy.vertex_bits
        if split:
            entries, compared = np.array([entries, compared]) + _split(hierarchy, nodes).T
        return one_next_hop(entries, compared)

    return with_local(hierarchy, transit)


def _split(scheme: Hierarchy, nodes: IntArray) -> Longs:
    """``[node]``: the number of entries for split clusters, and the bits that they compare."""
    rows = []
    for node in nodes.tolist():
        classes = (c for cluster in scheme.split_clusters for c in scheme.split_cluster_classes(node, cluster))
        lengths = [pattern.priority for pattern, _ in classes]
        rows.append((len(lengths), sum(lengths)))
    return np.array(rows, dtype=np.int64).reshape(-1, 2)


def with_intra_part_routing(scheme: Hierarchy, towards: Towards) -> Rule:
    """``towards`` for destinations in other parts, shortest paths inside the same part."""
    fabric, parts = scheme.fabric, scheme.parts
    adjacency, tables = fabric.adjacency, live_links(fabric, scheme.known)
    group = np.array(parts.part, dtype=np.int32)
    vertices, final = attachment_points(fabric)
    outward = _to_parts(scheme, towards)

    def destined(hosts: IntArray) -> IntArray:
        last = vertices[hosts]
        out = outward[group[last]]
        bfs_next_hops_each(out, last, adjacency.start, adjacency.peer, tables, tables, group)
        out[np.arange(len(hosts)), last] = final[hosts]
        return out

    return destined


def _to_parts(scheme: Hierarchy, towards: Towards) -> IntArray:
    """``[part, node]``: the link of packets for another part, including backup ports."""
    parts, start = scheme.parts, scheme.fabric.adjacency.start
    out = np.full((len(parts.members), scheme.fabric.size), NONE, dtype=np.int32)
    for part, row in enumerate(out):
        goal = scheme.target_parts(part, parts.component[part])
        row[:] = towards(goal)
        if len(goal) > 1:
            for node, port in parts.backup_ports(part).items():
                row[node] = start[node] + port - 1
    return out


class _InterPartRouting:
    """Links towards neighbouring parts, combined for each goal."""

    def __init__(self, scheme: Hierarchy) -> None:
        fabric, self.parts = scheme.fabric, scheme.parts
        self._adjacency, self._tables = fabric.adjacency, live_links(fabric, scheme.known)
        self.group = np.array(self.parts.part, dtype=np.int32)
        self._members = [np.array(nodes) for nodes in self.parts.members]
        self._exits: dict[tuple[int, int], IntArray] = {}
        self._crossing = self._crossings(fabric)

    def towards(self, goal: tuple[int, ...]) -> IntArray:
        """``[node]``: the link of every node towards the parts of ``goal``."""
        distance = self.parts.distance(goal)
        out = np.full(len(self.group), NONE, dtype=np.int32)
        for own, far in distance.items():
            if far:
                following = min(p for p in self.parts.part_neighbours[own] if distance.get(p) == far - 1)
                out[self._members[own]] = self._to(own, following)[self._members[own]]
        return out

    def _to(self, own: int, following: int) -> IntArray:
        key = own, following
        if key not in self._exits:
            leaving, owner = self._crossing[key]
            adjacency = self._adjacency
            self._exits[key] = _to_exits(
                leaving, owner, adjacency.start, adjacency.peer, self._tables, self.group
            )
        return self._exits[key]

    def _crossings(self, fabric: Fabric) -> dict[tuple[int, int], tuple[Longs, Longs]]:
        """By (part, other part) the links between them, and the nodes that they leave."""
        adjacency = fabric.adjacency
        owner: Longs = np.repeat(np.arange(fabric.size, dtype=np.int64), np.diff(adjacency.start))
        here, there = self.group[owner], self.group[adjacency.peer]
        across: Longs = np.flatnonzero(self._tables & (here != there) & (here != NONE) & (there != NONE))
        if not len(across):
            return {}
        pair = here[across].astype(np.int64) * len(self._members) + there[across]
        order = np.argsort(pair, kind="stable")
        keys, first = np.unique(pair[order], return_index=True)
        return {
            divmod(int(key), len(self._members)): (some, owner[some])
            for key, some in zip(keys, np.split(across[order], first[1:]), strict=True)
        }


@compiled
def _to_exits(
    leaving: NDArray[np.int64],
    owner: NDArray[np.int64],
    start: NDArray[np.int64],
    peer: IntArray,
    usable: NDArray[np.bool_],
    group: IntArray,
) -> IntArray:
    """Per node the link towards the nearest owner of a link in ``leaving``; at an owner, that link."""
    size = len(start) - 1
    out, depth = np.full(size, NONE, np.int32), np.full(size, UNVISITED, np.int32)
    queue, reached = np.empty(size, np.int32), 0
    for i in range(len(leaving)):
        if depth[owner[i]] == UNVISITED:
            depth[owner[i]], out[owner[i]], queue[reached] = 0, leaving[i], owner[i]
            reached += 1
    bfs_next_hops(out, depth, queue, reached, start, peer, usable, usable, group)
    return out


@threaded
def _hops(
    sources: IntArray, destinations: IntArray, cost: IntArray, group: IntArray, first: Longs, members: IntArray,
    near_start: Longs, near: IntArray, start: Longs, peer: IntArray, usable: NDArray[np.bool_], threads: int,
) -> IntArray:  # fmt: skip
    """``[pair]``: the hops between two different nodes."""
    size, hops = len(group), np.full(len(sources), LOST, np.int32)
    for thread in numba.prange(threads):
        depth, queue = np.full(size, UNVISITED, np.int32), np.empty(size, np.int32)
        distance = np.full(len(first) - 1, UNVISITED, np.int32)
        parts = np.empty(len(first) - 1, np.int32)
        for pair in range(thread, len(sources), threads):
            at, to, total = sources[pair], destinations[pair], 0
            reached = _cluster_distances(group[to], distance, parts, near_start, near)
            while total != LOST and group[at] != group[to]:
                own, following = group[at], NONE
                for place in range(near_start[own + 1] - 1, near_start[own] - 1, -1):
                    if distance[near[place]] == distance[own] - 1 and distance[own] > 0:
                        following = near[place]
                if following == NONE:
                    total = LOST
                    break
                roots = 0
                for node in members[first[own] : first[own + 1]]:
                    for link in range(start[node], start[node + 1]):
                        if usable[link] and group[peer[link]] == following and depth[node] == UNVISITED:
                            depth[node], queue[roots] = 0, node
                            roots += 1
                at, total = _walk(at, total, cost, depth, queue, roots, start, peer, usable, group)
                for link in range(start[at], start[at + 1]):
                    if usable[link] and group[peer[link]] == following:
                        at = peer[link]
                        total += cost[at]
                        break
            if total != LOST:
                depth[to], queue[0] = 0, to
                at, total = _walk(at, total, cost, depth, queue, 1, start, peer, usable, group)
            hops[pair] = total
            distance[parts[:reached]] = UNVISITED
    return hops


@compiled
def _cluster_distances(goal: int, distance: IntArray, queue: IntArray, start: Longs, near: IntArray) -> int:
    """Write the hops to ``goal`` in the graph of clusters; returns how many clusters were reached."""
    distance[goal], queue[0] = 0, goal
    head, reached = 0, 1
    while head < reached:
        at = queue[head]
        head += 1
        for place in range(start[at], start[at + 1]):
            end = near[place]
            if distance[end] == UNVISITED:
                distance[end] = distance[at] + 1
                queue[reached] = end
                reached += 1
    return reached


@compiled
def _walk(
    at: int, total: int, cost: IntArray, depth: IntArray, queue: IntArray, roots: int, start: Longs,
    peer: IntArray, usable: NDArray[np.bool_], group: IntArray,
) -> tuple[int, int]:  # fmt: skip
    """(node, hops so far) after a walk inside a cluster to the nearest of ``queue[:roots]``, which have
    ``depth`` 0; ``depth`` is UNVISITED everywhere afterwards."""
    head, reached = 0, roots
    while head < reached and depth[at] == UNVISITED:
        node = queue[head]
        head += 1
        for link in range(start[node], start[node + 1]):
            end = peer[link]
            if usable[link] and depth[end] == UNVISITED and group[end] == group[node]:
                depth[end] = depth[node] + 1
                queue[reached] = end
                reached += 1
    # All nodes nearer than ``at`` have their depths by now.
    while depth[at] > 0:
        for link in range(start[at], start[at + 1]):
            end = peer[link]
            if usable[link] and group[end] == group[at] and depth[end] == depth[at] - 1:
                at = end
                total += cost[end]
                break
    depth[queue[:reached]] = UNVISITED
    return at, total
