"""How much each directed link carries when packets spread over all shortest paths (edge betweenness).

One pass per destination, in Brandes' order (2001): nodes by distance, the links of shortest paths
found from the near end, then traffic summed from the farthest nodes inwards.  Plain hosts are
leaves: those of one switch have all but their own cables in common, and are searched from once.
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
from dcnlab.evaluator.graph.distances import FAR, Levels, rows
from dcnlab.evaluator.graph.hop_graph import HopGraph, Hops, hop_graph, hub_of, live_links
from dcnlab.evaluator.graph.next_hops import by_level, uplinks
from dcnlab.evaluator.graph.pairs import Pairs
from topos.fabric import Fabric
from topos.graph import ALL_UP, IntArray, LinkState

Floats = NDArray[np.float64]
Offsets = NDArray[np.int64]
#: Without a sign, so that compiled code need not ask whether one counts from the end.
Indices = NDArray[np.uint32]
Mask = NDArray[np.bool_]

#: Most elements of an array of [destination, node], and most destinations in one.
_ROOM, _MOST = 1 << 24, 512


def shortest_path_loads(
    fabric: Fabric,
    pairs: Pairs,
    down: LinkState = ALL_UP,
    *,
    hops: Hops = "links",
    split_by: Literal["hops", "paths"] = "hops",
) -> Floats:
    """Loads by slot when every pair spreads one packet over all its shortest paths: evenly at
    each node over the next hops (as ECMP does), or evenly over the paths themselves.

    With ``hops="servers"`` the shortest paths are those of fewest server hops; raises
    ValueError where switches are joined to each other, since no path is longest then.
    """
    live = live_links(fabric, down)
    leaves = _SingleHomedHosts.of(fabric, live)
    net = _SearchGraph.of(fabric, live & ~leaves.access, down, hops)
    total, threads = leaves.loads(fabric, pairs, live), numba.get_num_threads()
    for part in pairs.chunks(max(1, min(_MOST, _ROOM // max(1, net.graph.size)))):
        to, times, begun = leaves.demand(part)
        level = net.levels(to)
        farthest = int(level.max(where=level != FAR, initial=0))
        carried = _accumulate(
            to, times, begun, level, farthest, net.start, net.peer, net.step, split_by == "paths", threads
        )  # fmt: skip
        total[net.back] += carried.sum(axis=0)
    return total


@dataclass(frozen=True, eq=False)
class _SearchGraph:
    """The links that are searched: those of node v lead to ``peer[start[v]:start[v + 1]]``; the ways
    back to v are the fabric's slots in ``back``, which are ``step`` long."""

    start: Indices
    peer: Indices
    back: Offsets
    step: IntArray
    #: Where distances are counted, and which of its nodes stands for each of the fabric's, if not itself.
    graph: HopGraph
    node: Offsets | None

    @classmethod
    def of(cls, fabric: Fabric, kept: Mask, down: LinkState, hops: Hops) -> _SearchGraph:
        """Over the slots that are ``kept``."""
        slots, node = fabric.adjacency, None
        owner, peer = np.repeat(np.arange(fabric.size), np.diff(slots.start))[kept], slots.peer[kept]
        start = np.concatenate([[0], np.cumsum(kept)])[slots.start]
        graph, step = HopGraph(start, peer), np.ones(len(peer), dtype=np.int32)
        if hops == "servers" and fabric.switches:
            if ((owner >= fabric.servers) & (peer >= fabric.servers)).any():
                raise ValueError(f"{fabric.spec} joins switches to switches: use hops=links")
            step[(owner < fabric.servers) & (peer < fabric.servers)] = 2
            graph, node = hop_graph(fabric, down, hops), hub_of(fabric, down)
        back = slots.start[peer] + slots.peer_port[kept] - 1
        return cls(start.astype(np.uint32), peer.astype(np.uint32), back, step, graph, node)

    def levels(self, to: IntArray) -> Levels:
        """``[i, v]``: how far v is from ``to[i]``, counted as ``step`` is."""
        found = rows(HopGraph(self.graph.start, self.graph.peer), to)
        return found if self.node is None else found.take(self.node, axis=1)


@dataclass(frozen=True, eq=False)
class _SingleHomedHosts:
    """Plain hosts with one live cable, to a switch: their packets begin and end there."""

    #: Per node where it is searched from: of a leaf its switch, else itself.
    home: IntArray
    #: The leaves' slots, and those of their switches towards them.
    leaves: IntArray
    up: IntArray
    down: Offsets
    #: Which slots these are.
    access: Mask

    @classmethod
    def of(cls, fabric: Fabric, live: Mask) -> _SingleHomedHosts:
        """Those of ``fabric`` over its ``live`` slots: none where servers relay."""
        slots, first = fabric.adjacency, uplinks(fabric, live)
        cables = np.diff(np.concatenate([[0], np.cumsum(live)])[slots.start[: len(first) + 1]])
        leaves = np.flatnonzero(cables == 1).astype(np.int32)
        leaves = leaves[slots.peer[first[leaves]] >= fabric.servers]
        up, home = first[leaves], np.arange(fabric.size, dtype=np.int32)
        home[leaves] = slots.peer[up]
        down = slots.start[slots.peer[up]] + slots.peer_port[up] - 1
        access = np.zeros(len(live), dtype=np.bool_)
        access[up] = access[down] = True
        return cls(home, leaves, up, down, access)

    def loads(self, fabric: Fabric, pairs: Pairs, live: Mask) -> Floats:
        """What their own cables carry, by slot: a packet per pair that is joined at all."""
        total = np.zeros(len(live))
        if len(self.leaves):
            sent, received = _connected_pairs(fabric, pairs, live)
            total[self.up], total[self.down] = sent[self.leaves], received[self.leaves]
        return total

    def demand(self, pairs: Pairs) -> tuple[IntArray, Offsets, Offsets]:
        """The destinations' homes, how many destinations are at each, and ``[i, v]``: the packets for one
        of them that begin at v; a single row where all have the same, else a destination of its own each."""
        to = self.home[pairs.destinations]
        begun = np.stack([np.bincount(self.home[of], minlength=len(self.home)) for of in pairs.sources])
        if not pairs.shared:
            return to, np.ones(len(to), dtype=np.int64), begun
        to, times = np.unique(to, return_counts=True)
        return to, times, begun


def _connected_pairs(fabric: Fabric, pairs: Pairs, live: Mask) -> tuple[Offsets, Offsets]:
    """Per node the pairs from it, and to it, that have any path."""
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
    """Write the links on shortest paths, ``edges[first[i]:first[i + 1]]`` from ``order[i]`` outwards, and
    per node how many of them lead on towards the destination."""
    count = np.uint32(0)
    for place in range(len(order)):
        near, nearer = order[place], np.int32(0)
        mine = np.int32(level[near])
        for edge in range(start[near], start[near + np.uint32(1)]):
            # Written always and kept where it counts: no branch.
            edges[count] = edge
            other = np.int32(level[peer[edge]])
            count += np.uint32(other == mine + step[edge])
            nearer += np.int32(other + step[edge] == mine)
        path_counts[near], first[place + 1] = nearer, count
    path_counts[order[0]] = 1.0


@inlined
def _count_paths(path_counts: Floats, edges: Indices, first: Indices, order: Indices, peer: Indices) -> None:
    """Write how many shortest paths each node has."""
    path_counts[:] = 0.0
    path_counts[order[0]] = 1.0
    for place in range(len(order)):
        for k in range(first[place], first[place + 1]):
            path_counts[peer[edges[k]]] += path_counts[order[place]]


@threaded
def _accumulate(
    to: IntArray,
    times: Offsets,
    begun: Offsets,
    levels: Levels,
    farthest: int,
    start: Indices,
    peer: Indices,
    step: IntArray,
    by_paths: bool,
    threads: int,
) -> Floats:
    """What comes back along each link, to its near end, by thread: a link lies on a shortest path
    where the level grows by its ``step``."""
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
