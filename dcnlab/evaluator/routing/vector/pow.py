"""POW, vectorised: the weights of Eq. 12 of the CLOT paper at every node towards every destination."""

from __future__ import annotations

from typing import cast

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.jit import inlined, threaded
from addressing.scheme import Scheme
from addressing.schemes.pow import Pow
from dcnlab.evaluator.routing.forms import Longs, PairLengths, Shares, TableCounts, Tables
from dcnlab.evaluator.routing.table_counts import one_next_hop
from dcnlab.evaluator.routing.torus_distances import torus_distance_of_pairs
from topos.families.clot import Clot
from topos.families.torus import Torus
from topos.graph import NONE, IntArray, LinkState

Floats = NDArray[np.float64]


def shares(scheme: Scheme, known_down: LinkState) -> Shares | None:
    """Weights by inverse squared distance over all nearer neighbours; None where failures are known."""
    if scheme.known or known_down:
        return None
    torus, adjacency = cast(Pow, scheme).torus, scheme.fabric.adjacency
    coordinates = np.unravel_index(np.arange(scheme.fabric.servers), torus.sizes)
    position = np.stack(coordinates, axis=1).astype(np.int32)
    sizes = np.array(torus.sizes, dtype=np.int32)
    members = np.zeros((0, 0), dtype=np.int32)
    if isinstance(torus, Clot):
        switches = range(scheme.fabric.servers, scheme.fabric.size)
        members = np.array([[torus.server(m) for m in torus.members(s)] for s in switches], dtype=np.int32)

    def towards(destinations: IntArray) -> Floats:
        return _weigh(destinations, position, sizes, members, adjacency.start, adjacency.peer)

    return towards


def symmetric(scheme: Scheme) -> bool:
    """The weights, and the members that switches choose, depend on differences of coordinates alone."""
    return True


def pair_lengths(scheme: Scheme) -> PairLengths | None:
    """The torus distance where all links are torus links: every hop is to a nearer server."""
    plain = type(cast(Pow, scheme).torus) is Torus
    return torus_distance_of_pairs(cast(Pow, scheme).torus.sizes) if plain else None


def table_counts(scheme: Scheme) -> Tables | None:
    """A switch matches every combination of the blocks of each coordinate; None where failures are known."""
    if scheme.known or not isinstance(scheme.fabric.family, Clot):
        return None
    clot = scheme.fabric.family
    blocks = [_blocks(cast(Pow, scheme), dimension) for dimension in range(len(clot.sizes))]

    def counts(nodes: IntArray) -> TableCounts:
        corners = np.array([clot.members(node)[0] for node in nodes.tolist()], dtype=np.int64)
        entries, compared = np.ones(len(nodes), np.int64), np.zeros(len(nodes), np.int64)
        for dimension, rows in enumerate(blocks):
            number, bits = rows[corners[:, dimension]].T
            entries, compared = entries * number, compared * number + bits * entries
        return one_next_hop(entries, compared)

    return counts


def _blocks(scheme: Pow, dimension: int) -> Longs:
    """Per coordinate of a switch's lowest member: the number of blocks, and the bits that they compare."""
    found = [list(scheme.slices(dimension, low)) for low in range(scheme.torus.sizes[dimension])]
    rows = [(len(blocks), sum(mask.bit_count() for _, mask in blocks)) for blocks in found]
    return np.array(rows, dtype=np.int64)


@threaded
def _weigh(
    destinations: IntArray,
    position: IntArray,
    sizes: IntArray,
    members: IntArray,
    start: NDArray[np.int64],
    peer: IntArray,
) -> Floats:
    servers = len(position)
    share = np.zeros((len(destinations), len(peer)))
    for i in numba.prange(len(destinations)):
        to = destinations[i]
        distance = np.zeros(servers, np.int32)
        for node in range(servers):
            for d in range(len(sizes)):
                gap = abs(position[node, d] - position[to, d])
                distance[node] += min(gap, sizes[d] - gap)
        for node in range(servers):
            _candidates(share[i], node, distance, members, start, peer)
        for switch in range(len(members)):
            low = members[switch, 0]
            leave = 0
            for d in range(len(sizes)):
                ahead = (position[to, d] - position[low, d] + sizes[d] // 4) % sizes[d]
                leave = 2 * leave + (ahead >= sizes[d] // 2)
            share[i, start[servers + switch] + leave] = 1.0
    return share


@inlined
def _candidates(
    share: Floats,
    node: int,
    distance: IntArray,
    members: IntArray,
    start: NDArray[np.int64],
    peer: IntArray,
) -> None:
    """The normalised weights of one server's ports; a port that leads to the destination has weight 1."""
    total, certain = 0.0, NONE
    for link in range(start[node], start[node + 1]):
        end = peer[link]
        if end == NONE:
            continue
        if end < len(distance):
            there = distance[end]
        else:
            there = distance[node]
            for member in members[end - len(distance)]:
                if member != node:
                    there = min(there, distance[member] + 1)
        if there == 0 < distance[node]:
            certain = link
        elif there < distance[node]:
            share[link] = 1.0 / there**2
            total += share[link]
    for link in range(start[node], start[node + 1]):
        if certain != NONE:
            share[link] = 1.0 if link == certain else 0.0
        elif total > 0:
            share[link] /= total
