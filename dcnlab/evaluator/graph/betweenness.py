"""Load of each directed link when packets spread over all shortest paths (edge betweenness).

Brandes' algorithm (2001), one pass per destination: sort the nodes by distance, collect the links
on shortest paths, then sum the traffic from the farthest nodes inwards.  Hosts that do not relay
are leaves.  All hosts of one switch share every link but their own, so one search serves them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from addressing.jit import inlined, threaded
from dcnlab.evaluator.graph.distances import distance_rows
from dcnlab.evaluator.graph.hop_graph import HopGraph, Hops, hop_graph, hub_of, live_links
from dcnlab.evaluator.graph.next_hops import by_level, uplinks
from dcnlab.evaluator.graph.pairs import Pairs
from dcnlab.evaluator.graph.sweeps import UNREACHABLE, Levels
from topos.arrays import Floats, Longs, Mask
from topos.fabric import Fabric
from topos.graph import ALL_UP, IntArray, LinkState

#: Unsigned, so that compiled code needs no check for negative indices.
Indices = NDArray[np.uint32]

#: Upper limits of one block: elements of its [destination, node] array, and destinations.
_MAX_ELEMENTS, _MAX_DESTINATIONS = 1 << 24, 512


def shortest_path_loads(
    fabric: Fabric,
    pairs: Pairs,
    down: LinkState = ALL_UP,
    *,
    hops: Hops = "links",
    split_by: Literal["hops", "paths"] = "hops",
) -> Floats:
    """Packets by directed link when every pair spreads one packet over all its shortest paths.

    ``split_by="hops"`` splits evenly over the next hops at each node (as ECMP does),
    ``split_by="paths"`` evenly over the paths.  With ``hops="servers"`` a path's length is its
    number of server hops; raises ValueError where switches are linked to each other, because
    path lengths are then unbounded.
    """
    live = live_links(fabric, down)
    leaves = _SingleHomedHosts.of(fabric, live)
    net = _SearchGraph.of(fabric, live & ~leaves.access, down, hops)
    total, threads = leaves.loads(fabric, pairs, live), numba.get_num_threads()
    for part in pairs.chunks(max(1, min(_MAX_DESTINATIONS, _MAX_ELEMENTS // max(1, net.graph.size)))):
        to, times, begun = leaves.demand(part)
        level = net.levels(to)
        farthest = int(level.max(where=level != UNREACHABLE, initial=0))
        carried = _accumulate(
            to, times, begun, level, farthest, net.start, net.peer, net.step, split_by == "paths", threads
        )  # fmt: skip
        total[net.back] += carried.sum(axis=0)
    return total


@dataclass(frozen=True, eq=False)
class _SearchGraph:
    """The links to search: node v has links to ``peer[start[v]:start[v + 1]]``.

    ``back[i]`` is the fabric's directed link opposite to link i; ``step[i]`` is its length.
    """

    start: Indices
    peer: Indices
    back: Longs
    step: IntArray
    #: The graph in which distances are counted, and its node for each fabric node (None: the same node).
    graph: HopGraph
    node: Longs | None

    @classmethod
    def of(cls, fabric: Fabric, kept: Mask, down: LinkState, hops: Hops) -> _SearchGraph:
        """The graph of the directed links in the mask ``kept``."""
        adjacency, node = fabric.adjacency, None
        owner, peer = np.repeat(np.arange(fabric.size), np.diff(adjacency.start))[kept], adjacency.peer[kept]
        start = np.concatenate([[0], np.cumsum(kept)])[adjacency.start]
        graph, step = HopGraph(start, peer), np.ones(len(peer), dtype=np.int32)
        if hops == "servers" and fabric.switches:
            if ((owner >= fabric.servers) & (peer >= fabric.servers)).any():
                raise ValueError(f"{fabric.spec} joins switches to switches: use hops=links")
            step[(owner < fabric.servers) & (peer < fabric.servers)] = 2
            graph, node = hop_graph(fabric, down, hops), hub_of(fabric, down)
        back = adjacency.start[peer] + adjacency.peer_port[kept] - 1
        return cls(start.astype(np.uint32), peer.astype(np.uint32), back, step, graph, node)

    def levels(self, to: IntArray) -> Levels:
        """``[i, v]``: the distance from v to ``to[i]``, in the unit of ``step``."""
        level = distance_rows(HopGraph(self.graph.start, self.graph.peer), to)
        return level if self.node is None else level.take(self.node, axis=1)


@dataclass(frozen=True, eq=False)
class _SingleHomedHosts:
    """Hosts that do not relay and have one live link, to a switch: searches start at that switch."""

    #: Per node, where its search starts: the switch of a single-homed host, else the node itself.
    home: IntArray
    #: The single-homed hosts, their links to the switch (``up``), and the switch's links to them (``down``).
    leaves: IntArray
    up: IntArray
    down: Longs
    #: Mask over all directed links: those in ``up`` and ``down``.
    access: Mask

    @classmethod
    def of(cls, fabric: Fabric, live: Mask) -> _SingleHomedHosts:
        """Find them over the ``live`` links of ``fabric``; none where servers relay."""
        adjacency, first = fabric.adjacency, uplinks(fabric, live)
        degree = np.diff(np.concatenate([[0], np.cumsum(live)])[adjacency.start[: len(first) + 1]])
        leaves = np.flatnonzero(degree == 1).astype(np.int32)
        leaves = leaves[adjacency.peer[first[leaves]] >= fabric.servers]
        up, home = first[leaves], np.arange(fabric.size, dtype=np.int32)
        home[leaves] = adjacency.peer[up]
        down = adjacency.start[adjacency.peer[up]] + adjacency.peer_port[up] - 1
        access = np.zeros(len(live), dtype=np.bool_)
        access[up] = access[down] = True
        return cls(home, leaves, up, down, access)

    def loads(self, fabric: Fabric, pairs: Pairs, live: Mask) -> Floats:
        """Packets by directed link on the hosts' own links: one per connected pair."""
        total = np.zeros(len(live))
        if len(self.leaves):
            sent, received = _connected_pairs(fabric, pairs, live)
            total[self.up], total[self.down] = sent[self.leaves], received[self.leaves]
        return total

    def demand(self, pairs: Pairs) -> tuple[IntArray, Longs, Longs]:
        """(home of each destination, destinations per home, packets).

        ``packets[i, v]`` start at v for one destination at home i.  Where all destinations share
        their sources, homes are merged and ``packets`` has a single row.
        """
        to = self.home[pairs.destinations]
        begun = np.stack([np.bincount(self.home[of], minlength=len(self.home)) for of in pairs.sources])
        if not pairs.shared:
            return to, np.ones(len(to), dtype=np.int64), begun
        to, times = np.unique(to, return_counts=True)
        return to, times, begun


def _connected_pairs(fabric: Fabric, pairs: Pairs, live: Mask) -> tuple[Longs, Longs]:
    """Per node the number of connected pairs that start at it, and that end at it."""
    start = np.concatenate([[0], np.cumsum(live)])[fabric.adjacency.start]
    ones, peer = np.ones(start[-1], dtype=np.int8), fabric.adjacency.peer[live]
    links = csr_array((ones, peer, start), shape=(fabric.size, fabric.size))
    _, part = connected_components(links, directed=False)
    sent, received = np.zeros(fabric.size, dtype=np.int64), np.zeros(fabric.size, dtype=np.int64)
    if pairs.shared:
        sources, to = pairs.of(0), pairs.destinations
        count = part.max(initial=0) + 1
        sent[sources] = np.bincount(part[to], minlength=count)[part[sources]] - np.isin(sources, to)
        received[to] = np.bincount(part[sources], minlength=count)[part[to]] - np.isin(to, sources)
        return sent, received
    for i, end in enumerate(pairs.destinations.tolist()):
        sources = pairs.of(i)
        there = sources[(part[sources] == part[end]) & (sources != end)]
        sent[there] += 1
        received[end] += len(there)
    return sent, received


@inlined
def _shortest_path_links(
    edges: Indices, first: Indices, path_counts: Floats, order: Indices, level: Levels,
    start: Indices, peer: Indices, step: IntArray,
) -> None:  # fmt: skip
    """Write the links on shortest paths: ``edges[first[i]:first[i + 1]]`` lead away from the destination
    at node ``order[i]``; ``path_counts`` gets each node's number of next hops towards it."""
    count = np.uint32(0)
    for place in range(len(order)):
        near, nearer = order[place], np.int32(0)
        mine = np.int32(level[near])
        for edge in range(start[near], start[near + np.uint32(1)]):
            # Always written, kept only where ``count`` advances: this avoids a branch.
            edges[count] = edge
            other = np.int32(level[peer[edge]])
            count += np.uint32(other == mine + step[edge])
            nearer += np.int32(other + step[edge] == mine)
        path_counts[near], first[place + 1] = nearer, count
    path_counts[order[0]] = 1.0


@inlined
def _count_paths(path_counts: Floats, edges: Indices, first: Indices, order: Indices, peer: Indices) -> None:
    """Write the number of shortest paths from each node to the destination."""
    path_counts[:] = 0.0
    path_counts[order[0]] = 1.0
    for place in range(len(order)):
        for k in range(first[place], first[place + 1]):
            path_counts[peer[edges[k]]] += path_counts[order[place]]


@threaded
def _accumulate(
    to: IntArray,
    times: Longs,
    begun: Longs,
    levels: Levels,
    farthest: int,
    start: Indices,
    peer: Indices,
    step: IntArray,
    by_paths: bool,
    threads: int,
) -> Floats:
    """``[thread, link]``: packets that cross each link towards the destination.

    A link lies on a shortest path where the level grows by its ``step``.
    """
    loads = np.zeros((threads, len(peer)))
    size = len(start) - 1
    for thread in numba.prange(threads):
        order, edges = np.empty(size, np.uint32), np.empty(len(peer) + 1, np.uint32)
        first, path_counts, flow = np.zeros(size + 1, np.uint32), np.empty(size), np.empty(size)
        for i in range(thread, len(to), threads):
            reached = order[: by_level(order, levels[i], farthest)]
            _shortest_path_links(edges, first, path_counts, reached, levels[i], start, peer, step)
            if by_paths:
                _count_paths(path_counts, edges, first, reached, peer)
            demand = begun[i if len(begun) > 1 else 0]
            for place in range(len(reached) - 1, -1, -1):
                near, arrived = reached[place], 0.0
                worth = path_counts[near] if by_paths else 1.0
                for k in range(first[place], first[place + 1]):
                    share = flow[peer[edges[k]]] * worth
                    loads[thread, edges[k]] += share
                    arrived += share
                flow[near] = (arrived + demand[near] * times[i]) / path_counts[near]
    return loads
