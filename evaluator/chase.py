"""Kernels over next-hop arrays: a scheme without choice is one functional graph per destination."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from evaluator.jit import compiled, inlined, threaded
from topos.graph import NONE, Fabric, IntArray

#: Instead of a number of hops: the packet is dropped, or circles.
LOST = -1
_UNKNOWN, _VISITED = -2, -3


def uplinks(fabric: Fabric, usable: NDArray[np.bool_]) -> IntArray:
    """Per plain host its first usable slot, ``NONE`` without one; empty where servers relay."""
    hosts = 0 if fabric.relaying else fabric.servers
    live = np.flatnonzero(usable[: fabric.slots.start[hosts]])[::-1]
    first = np.full(hosts, NONE, dtype=np.int32)
    first[np.searchsorted(fabric.slots.start, live, side="right") - 1] = live
    return first


@threaded
def hops_to(
    out: IntArray,
    destinations: IntArray,
    peer: IntArray,
    usable: NDArray[np.bool_],
    cost: IntArray,
    uplinks: IntArray,
) -> IntArray:
    """``[i, v]``: the hops from v to ``destinations[i]``, ``LOST`` where it is not delivered.

    ``out[i, v]`` is the slot that v uses; ``usable`` says which slots lead anywhere;
    ``cost[v]`` is how many hops an arrival at v counts.  The first nodes are plain hosts:
    they send by their slot in ``uplinks`` and do not forward what arrives for others.
    """
    count, size = out.shape
    hosts = len(uplinks)
    hops = np.full((count, size), _UNKNOWN, np.int32)
    for i in numba.prange(count):
        hops[i, destinations[i]] = 0
        stack = np.empty(size, np.int32)
        for node in range(hosts, size):
            _settle(hops[i], out[i], node, stack, peer, usable, cost, hosts)
        for host in range(hosts):
            if host != destinations[i]:
                slot = uplinks[host]
                beyond = hops[i, peer[slot]] if slot != NONE else LOST
                hops[i, host] = LOST if beyond == LOST else beyond + cost[peer[slot]]
    return hops


@inlined
def _settle(
    hops: IntArray,
    out: IntArray,
    node: int,
    stack: IntArray,
    peer: IntArray,
    usable: NDArray[np.bool_],
    cost: IntArray,
    hosts: int,
) -> None:
    """Follow the slots from ``node`` to a node whose hops are known; then fill in on the way back."""
    depth, at, length = 0, node, LOST
    while True:
        if hops[at] != _UNKNOWN:
            length = LOST if hops[at] == _VISITED else hops[at]
            break
        hops[at] = _VISITED
        stack[depth] = at
        depth += 1
        slot = out[at]
        if slot == NONE or not usable[slot]:
            break
        following = peer[slot]
        if following < hosts and hops[following] != 0:
            break
        at = following
    while depth > 0:
        depth -= 1
        at = stack[depth]
        if length != LOST:
            length += cost[peer[out[at]]]
        hops[at] = length


@compiled
def hops_along(slots: IntArray, peer: IntArray, usable: NDArray[np.bool_], cost: IntArray) -> IntArray:
    """The hops of each row of slots (up to its first ``NONE``), ``LOST`` where one is not usable."""
    hops = np.zeros(len(slots), np.int32)
    for row in range(len(slots)):
        total = 0
        for slot in slots[row]:
            if slot == NONE:
                break
            if not usable[slot]:
                total = LOST
                break
            total += cost[peer[slot]]
        hops[row] = total
    return hops


@compiled
def tally(
    joint: NDArray[np.float64],
    hops: IntArray,
    distance: NDArray[np.uint16],
    sources: IntArray,
    to: int,
) -> None:
    """Count the delivered pairs of one destination by (hops, distance) in ``joint``;
    ``hops`` and ``distance`` have one element per source."""
    for i in range(len(sources)):
        if sources[i] != to and hops[i] != LOST:
            joint[hops[i], distance[i]] += 1


@compiled
def gather(
    joint: NDArray[np.float64],
    outcome: NDArray[np.float64],
    distance: NDArray[np.uint16],
    sources: IntArray,
    to: int,
) -> None:
    """As :func:`tally`, of expectations: ``outcome[v, h]`` is the probability that v needs h hops."""
    for i in range(len(sources)):
        if sources[i] != to:
            for hops in range(outcome.shape[1]):
                if outcome[sources[i], hops] > 0:
                    joint[hops, distance[i]] += outcome[sources[i], hops]
