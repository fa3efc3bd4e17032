"""POW, vectorised: the weights of Eq. 12 of the CLOT paper at every node towards every destination."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.jit import compiled, inlined, threaded
from addressing.scheme import Scheme
from addressing.schemes.pow import Pow
from dcnlab.evaluator.graph.sweeps import UNREACHABLE, Levels
from dcnlab.evaluator.routing.forms import Joint, Shares, TableCounts, Tables
from dcnlab.evaluator.routing.tables.table_counts import one_next_hop
from dcnlab.evaluator.routing.torus_distances import torus_distances
from topos.arrays import Floats, Longs
from topos.families.clot import Clot
from topos.graph import NONE, IntArray, LinkState


def shares(scheme: Scheme, known_down: LinkState) -> Shares | None:
    """Weights by inverse squared distance over all nearer neighbours; None where failures are known."""
    if scheme.known or known_down:
        return None
    return _shares(cast(Pow, scheme))


def _shares(scheme: Pow) -> Shares:
    fabric, torus, adjacency = scheme.fabric, scheme.torus, scheme.fabric.adjacency
    position = np.stack(np.unravel_index(np.arange(fabric.servers), torus.sizes), axis=1).astype(np.int32)
    sizes = np.array(torus.sizes, dtype=np.int32)
    # A switch's ports are in the order of its members.
    members = adjacency.peer[adjacency.start[fabric.servers] :].reshape(-1, 1 << len(sizes))

    def towards(destinations: IntArray) -> Floats:
        return _weigh(destinations, position, sizes, members, adjacency.start, adjacency.peer)

    return towards


def symmetric(scheme: Scheme) -> bool:
    """The weights, and the members that switches choose, depend on differences of coordinates alone."""
    return True


def joint(scheme: Scheme) -> Joint | None:
    """Path lengths from every node towards server 0, for all pairs with the same difference of coordinates.

    Links to torus neighbours lead one hop nearer.  A packet leaves the torus at most once, over a switch
    or a link of NovaCube: it lands on the nearest of the members, or in the nearer half, and from there
    on neither is nearer.  So the hops that are left are the torus distance.
    None with odd radices of CLOT, where coordinates cannot be shifted.
    """
    if not cast(Pow, scheme).torus.shifts:
        return None
    bound, fabric, adjacency = cast(Pow, scheme), scheme.fabric, scheme.fabric.adjacency
    sizes, zero = bound.torus.sizes, np.zeros(1, dtype=np.int32)

    def counted(pairs: Iterable[tuple[IntArray, IntArray, Levels]], cost: IntArray) -> Floats:
        keys = [np.zeros(0, np.int64)]
        for sources, destinations, distances in pairs:
            apart = (sources != destinations) & (distances != UNREACHABLE)
            gap = np.stack(np.unravel_index(sources[apart], sizes)) - np.unravel_index(
                destinations[apart], sizes
            )
            place = np.ravel_multi_index(tuple(gap), sizes, mode="wrap")
            keys.append(place << 16 | distances[apart])
        key, number = np.unique(np.concatenate(keys), return_counts=True)
        level = torus_distances(sizes)(np.arange(fabric.servers, dtype=np.int32), zero, cost)[0]
        first = np.searchsorted(key >> 16, np.arange(fabric.servers + 1))
        return _joint(
            level, np.argsort(level, kind="stable"), _shares(bound)(zero)[0], cost, first, key & 0xFFFF,
            number, adjacency.start, adjacency.peer,
        ).T  # fmt: skip

    return counted


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
    slices = [list(scheme.slices(dimension, low)) for low in range(scheme.torus.sizes[dimension])]
    rows = [(len(blocks), sum(mask.bit_count() for _, mask in blocks)) for blocks in slices]
    return np.array(rows, dtype=np.int64)


@compiled
def _joint(
    level: IntArray, order: Longs, share: Floats, cost: IntArray, first: Longs, distance: Longs, number: Longs,
    start: Longs, peer: IntArray,
) -> Floats:  # fmt: skip
    """``[distance, hops]``: the expected pairs, of which ``number[i]`` at ``distance[i]`` have the source v,
    ``first[v] <= i < first[v + 1]``; ``order`` has the servers by ``level``, their torus distance."""
    longest, widest = level[order[-1]], np.bincount(level).max()
    joint = np.zeros((distance.max() + 1 if len(distance) else 1, longest + 1))
    # Rows of the servers of this level and of the level before.
    chance, row = np.zeros((2, widest, longest + 1)), np.zeros(len(level), np.int64)
    low = np.zeros((2, widest), np.int64)
    chance[0, 0, 0] = 1.0
    place = 0
    for i in range(1, len(order)):
        node = order[i]
        depth = level[node]
        place = place + 1 if depth == level[order[i - 1]] else 0
        row[node] = place
        now, before = depth % 2, 1 - depth % 2
        mine = chance[now, place]
        mine[:] = 0.0
        lowest = depth
        for link in range(start[node], start[node + 1]):
            if share[link] == 0:
                continue
            end, step = _landing(peer[link], share, cost, start, peer, len(level))
            if level[end] == depth - 1 and step == 1:
                other, least = chance[before, row[end]], low[before, row[end]]
                for hops in range(least, depth):
                    mine[hops + 1] += share[link] * other[hops]
                lowest = min(lowest, least + 1)
            else:
                mine[level[end] + step] += share[link]
                lowest = min(lowest, level[end] + step)
        low[now, place] = lowest
        for pair in range(first[node], first[node + 1]):
            for hops in range(lowest, depth + 1):
                joint[distance[pair], hops] += number[pair] * mine[hops]
    return joint


@inlined
def _landing(
    end: int, share: Floats, cost: IntArray, start: Longs, peer: IntArray, servers: int
) -> tuple[int, int]:
    """The server that a packet reaches, at once or through a switch, and the hops to it."""
    step = cost[end]
    if end >= servers:
        for link in range(start[end], start[end + 1]):
            if share[link] > 0:
                end = peer[link]
                break
        step += cost[end]
    return end, step


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
