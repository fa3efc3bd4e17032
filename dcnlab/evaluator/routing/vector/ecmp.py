"""Equal-cost multipath, vectorised: all live ports on shortest paths, by one search per destination."""

from __future__ import annotations

from functools import partial

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.jit import threaded
from addressing.scheme import Scheme
from dcnlab.evaluator.graph.betweenness import shortest_path_loads
from dcnlab.evaluator.graph.distances import distance_rows
from dcnlab.evaluator.graph.hop_graph import HopGraph, hop_graph, live_links
from dcnlab.evaluator.graph.nearest import UNVISITED, bfs_next_hops
from dcnlab.evaluator.routing.forms import Loads, Shares, TableCounts, Tables
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
        next_hops = [_next_hops(graph, node, servers) for node in nodes.tolist()]
        entries = np.full(len(nodes), servers)
        return TableCounts(entries, entries * label_bits, np.array(next_hops, dtype=np.int64))

    return counts


def _next_hops(graph: HopGraph, node: int, servers: int) -> int:
    """The next hops of a node's entries: where no port is on a shortest path the entry delivers or drops."""
    neighbours = graph.peer[graph.start[node] : graph.start[node + 1]]
    here, *there = distance_rows(graph, np.concatenate([[node], neighbours]))[:, :servers].astype(np.int32)
    ports = sum((far + 1 == here for far in there), np.zeros(servers, dtype=np.int64))
    return int(np.maximum(ports, 1).sum())


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
