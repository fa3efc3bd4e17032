"""POW by arrays: Eq. 12's weights at every node towards every destination."""

from __future__ import annotations

from typing import cast

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.jit import inlined, threaded
from addressing.scheme import Scheme
from addressing.schemes.pow import Pow
from dcnlab.evaluator.routing.forms import Shares
from topos.families.clot import Clot
from topos.graph import NONE, IntArray, LinkState

Floats = NDArray[np.float64]


def shares(scheme: Scheme, links: LinkState) -> Shares | None:
    """Inverse squared distances over everything that is nearer; None where failures are known."""
    if scheme.known or links:
        return None
    torus, slots = cast(Pow, scheme).torus, scheme.fabric.adjacency
    where = np.stack(np.unravel_index(np.arange(scheme.fabric.servers), torus.sizes), axis=1).astype(np.int32)
    sizes = np.array(torus.sizes, dtype=np.int32)
    members = np.zeros((0, 0), dtype=np.int32)
    if isinstance(torus, Clot):
        switches = range(scheme.fabric.servers, scheme.fabric.size)
        members = np.array([[torus.server(m) for m in torus.members(s)] for s in switches], dtype=np.int32)

    def towards(destinations: IntArray) -> Floats:
        return _weigh(destinations, where, sizes, members, slots.start, slots.peer)

    return towards


@threaded
def _weigh(
    destinations: IntArray,
    where: IntArray,
    sizes: IntArray,
    members: IntArray,
    start: NDArray[np.int64],
    peer: IntArray,
) -> Floats:
    servers = len(where)
    share = np.zeros((len(destinations), len(peer)))
    for i in numba.prange(len(destinations)):
        to = destinations[i]
        distance = np.zeros(servers, np.int32)
        for node in range(servers):
            for d in range(len(sizes)):
                gap = abs(where[node, d] - where[to, d])
                distance[node] += min(gap, sizes[d] - gap)
        for node in range(servers):
            _candidates(share[i], node, distance, members, start, peer)
        for switch in range(len(members)):
            low = members[switch, 0]
            leave = 0
            for d in range(len(sizes)):
                ahead = (where[to, d] - where[low, d] + sizes[d] // 4) % sizes[d]
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
    """The weights of one server's ports, normalised; a neighbour that is the destination is certain."""
    total, certain = 0.0, NONE
    for slot in range(start[node], start[node + 1]):
        end = peer[slot]
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
            certain = slot
        elif there < distance[node]:
            share[slot] = 1.0 / there**2
            total += share[slot]
    for slot in range(start[node], start[node + 1]):
        if certain != NONE:
            share[slot] = 1.0 if slot == certain else 0.0
        elif total > 0:
            share[slot] /= total
