"""Equal-cost multipath, vectorised: all live ports on shortest paths, by one search per destination."""

from __future__ import annotations

from functools import partial

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.jit import threaded
from addressing.scheme import Scheme
from dcnlab.evaluator.graph.betweenness import shortest_path_loads
from dcnlab.evaluator.graph.hop_graph import hop_graph, live_links
from dcnlab.evaluator.graph.nearest import UNVISITED, bfs_next_hops
from dcnlab.evaluator.graph.sweeps import popcount
from dcnlab.evaluator.routing.forms import Loads, Shares, TableCounts, Tables
from topos.arrays import Longs
from topos.graph import NONE, IntArray, LinkState


def shares(scheme: Scheme, known_down: LinkState) -> Shares:
    """Equal shares for the live ports on shortest paths over the links that the tables know to be up."""
    adjacency = scheme.fabric.adjacency
    known, live = live_links(scheme.fabric, scheme.known), live_links(scheme.fabric, known_down)

    def towards(destinations: IntArray) -> NDArray[np.float64]:
        return _equal_shares(destinations, adjacency.start, adjacency.peer, known, known & live)

    return towards


def loads(scheme: Scheme) -> Loads:
    """Link loads by edge betweenness: one search per destination."""
    return partial(shortest_path_loads, scheme.fabric, down=scheme.known)


def always_shortest(scheme: Scheme) -> bool:
    """Every next hop is on a shortest path."""
    return True


def table_counts(scheme: Scheme) -> Tables:
    """One entry per server at every node, with all ports on shortest paths as its next hops."""
    servers, label_bits = scheme.fabric.servers, scheme.label_bits
    graph = hop_graph(scheme.fabric, scheme.known)

    def counts(nodes: IntArray) -> TableCounts:
        entries = np.full(len(nodes), servers)
        next_hops = _next_hops(nodes, servers, graph.start, graph.peer)
        return TableCounts(entries, entries * label_bits, next_hops)

    return counts


@threaded
def _next_hops(nodes: IntArray, servers: int, start: Longs, peer: IntArray) -> Longs:
    """The next hops of each node's entries: where no port is on a shortest path the entry delivers or drops.

    One search per node: a node beyond has the first ports of those before it, a bit each.
    """
    size, counts = len(start) - 1, np.zeros(len(nodes), np.int64)
    for i in numba.prange(len(nodes)):
        root, head, tail = nodes[i], 0, 1
        ports = np.zeros((size, (start[root + 1] - start[root] + 63) // 64), np.uint64)
        depth, queue = np.full(size, UNVISITED, np.int32), np.empty(size, np.int32)
        depth[root], queue[0] = 0, root
        while head < tail:
            at = queue[head]
            head += 1
            for link in range(start[at], start[at + 1]):
                end = peer[link]
                if depth[end] == UNVISITED:
                    depth[end], queue[tail] = depth[at] + 1, end
                    tail += 1
                if at == root and end != root:
                    port = link - start[root]
                    ports[end, port // 64] |= np.uint64(1) << np.uint64(port % 64)
                elif depth[end] == depth[at] + 1:
                    for word in range(ports.shape[1]):
                        ports[end, word] |= ports[at, word]
        for server in range(servers):
            bits = np.int64(0)
            for word in range(ports.shape[1]):
                bits += popcount(ports[server, word])
            counts[i] += max(1, bits)
    return counts


@threaded
def _equal_shares(
    destinations: IntArray,
    start: NDArray[np.int64],
    peer: IntArray,
    known: NDArray[np.bool_],
    live: NDArray[np.bool_],
) -> NDArray[np.float64]:
    size = len(start) - 1
    share = np.zeros((len(destinations), len(peer)))
    everywhere = np.zeros(size, np.int32)
    for i in numba.prange(len(destinations)):
        depth, queue = np.full(size, UNVISITED, np.int32), np.empty(size, np.int32)
        first = np.full(size, NONE, np.int32)
        depth[destinations[i]], queue[0] = 0, destinations[i]
        bfs_next_hops(first, depth, queue, 1, start, peer, known, live, everywhere)
        for node in range(size):
            if first[node] == NONE:
                continue
            count = 0
            for link in range(start[node], start[node + 1]):
                count += live[link] and depth[peer[link]] == depth[node] - 1
            for link in range(start[node], start[node + 1]):
                if live[link] and depth[peer[link]] == depth[node] - 1:
                    share[i, link] = 1 / count
    return share
