"""Shortest paths with full tables, vectorised: one breadth-first search per destination."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.jit import threaded
from addressing.scheme import Scheme
from dcnlab.evaluator.graph.hop_graph import live_links
from dcnlab.evaluator.graph.nearest import UNVISITED, bfs_next_hops, bfs_next_hops_each
from dcnlab.evaluator.routing.forms import Rule, Tables
from dcnlab.evaluator.routing.tables.table_counts import constant
from topos.graph import NONE, IntArray, LinkState


def rule(scheme: Scheme, known_down: LinkState) -> Rule:
    """One live port on a shortest path over the links that the tables know to be up: the lowest where servers
    relay, elsewhere spread over destinations (``addressing.schemes.shortest``)."""
    fabric, adjacency = scheme.fabric, scheme.fabric.adjacency
    everywhere = np.zeros(fabric.size, np.int32)
    known, live = live_links(fabric, scheme.known), live_links(fabric, known_down)
    search = bfs_next_hops_each if fabric.relaying else _spread_next_hops_each

    def towards(destinations: IntArray) -> IntArray:
        out = np.full((len(destinations), fabric.size), NONE, np.int32)
        search(out, destinations, adjacency.start, adjacency.peer, known, known & live, everywhere)
        return out

    return towards


@threaded
def _spread_next_hops_each(
    out: IntArray,
    roots: IntArray,
    start: NDArray[np.int64],
    peer: IntArray,
    known: NDArray[np.bool_],
    live: NDArray[np.bool_],
    group: IntArray,
) -> None:
    """As ``bfs_next_hops_each``, and nodes take the port that the digit of the root names."""
    size = len(start) - 1
    for i in numba.prange(len(roots)):
        depth, queue = np.full(size, UNVISITED, np.int32), np.empty(size, np.int32)
        depth[roots[i]], queue[0] = 0, roots[i]
        bfs_next_hops(out[i], depth, queue, 1, start, peer, known, live, group)
        for node in range(size):
            if out[i, node] == NONE:
                continue
            nearer = 0
            for link in range(start[node], start[node + 1]):
                nearer += live[link] and depth[peer[link]] == depth[node] - 1
            wanted = (roots[i] if depth[node] % 2 else roots[i] // nearer) % nearer
            for link in range(start[node], start[node + 1]):
                if live[link] and depth[peer[link]] == depth[node] - 1:
                    if wanted == 0:
                        out[i, node] = link
                        break
                    wanted -= 1


def always_shortest(scheme: Scheme) -> bool:
    """Every next hop is on a shortest path."""
    return True


def table_counts(scheme: Scheme) -> Tables:
    """One entry per server at every node."""
    return constant(scheme.fabric.servers, scheme.fabric.servers * scheme.label_bits)
