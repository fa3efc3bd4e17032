"""Shortest paths with full tables, vectorised: one breadth-first search per destination."""

from __future__ import annotations

import numpy as np

from addressing.scheme import Scheme
from dcnlab.evaluator.graph.hop_graph import live_links
from dcnlab.evaluator.graph.nearest import bfs_next_hops_each
from dcnlab.evaluator.routing.forms import Rule, Tables
from dcnlab.evaluator.routing.tables.table_counts import constant
from topos.graph import NONE, IntArray, LinkState


def rule(scheme: Scheme, known_down: LinkState) -> Rule:
    """One live port on a shortest path over the links that the tables know to be up: the lowest where servers
    relay, elsewhere spread over destinations (``addressing.schemes.shortest``)."""
    fabric, adjacency = scheme.fabric, scheme.fabric.adjacency
    everywhere = np.zeros(fabric.size, np.int32)
    known, live = live_links(fabric, scheme.known), live_links(fabric, known_down)

    def towards(destinations: IntArray) -> IntArray:
        out = np.full((len(destinations), fabric.size), NONE, np.int32)
        bfs_next_hops_each(
            out, destinations, adjacency.start, adjacency.peer, known, known & live, everywhere,
            not fabric.relaying,
        )  # fmt: skip
        return out

    return towards


def always_shortest(scheme: Scheme) -> bool:
    """Every next hop is on a shortest path."""
    return True


def table_counts(scheme: Scheme) -> Tables:
    """One entry per server at every node."""
    return constant(scheme.fabric.servers, scheme.fabric.servers * scheme.label_bits)
