"""Source routes under known failures, by arrays: the first of a scheme's ways that is whole, else a
shortest way over what is up (see :meth:`addressing.source.SourceRouted.headers`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from addressing.jit import compiled
from dcnlab.evaluator.graph.hop_graph import live_links
from dcnlab.evaluator.routing.forms import Rule, SourceRoutes
from topos.fabric import Fabric
from topos.graph import NONE, IntArray, LinkState

#: Which rows of slots fit into a packet's tag.
Fits = Callable[[IntArray], NDArray[np.bool_]]


def with_backup_routes(
    fabric: Fabric, candidates: Sequence[SourceRoutes], shortest: Rule, down: LinkState, fits: Fits
) -> SourceRoutes:
    """The first of ``candidates`` that is whole while the sources know ``down``; ``shortest`` gives the
    first slot nearer to each destination over what is up.  A pair without any way keeps a broken one."""
    usable = live_links(fabric, down)

    def between(sources: IntArray, destinations: IntArray) -> IntArray:
        found = candidates[0](sources, destinations)
        broken = _broken(found, usable)
        for source_routes in candidates[1:]:
            slots = source_routes(sources[broken], destinations[broken])
            found = _replaced(found, broken, slots)
            broken = broken[_broken(slots, usable)]
        if not len(broken):
            return found
        detours = follow_next_hops(fabric, shortest, sources[broken], destinations[broken])
        good = fits(detours) & (detours[:, 0] != NONE)
        return _replaced(found, broken[good], detours[good])

    return between


@compiled
def _broken(slots: IntArray, usable: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The rows of which a slot is not usable."""
    found, count = np.empty(len(slots), np.int64), 0
    for row in range(len(slots)):
        for slot in slots[row]:
            if slot != NONE and not usable[slot]:
                found[count] = row
                count += 1
                break
    return found[:count]


def _replaced(found: IntArray, rows: NDArray[np.int64], by: IntArray) -> IntArray:
    """``found`` with some of its rows replaced, in place or as wide as is needed."""
    more = by.shape[1] - found.shape[1]
    result = np.pad(found, ((0, 0), (0, more)), constant_values=NONE) if more > 0 else found
    result[rows] = NONE
    result[rows, : by.shape[1]] = by
    return result


def blockwise(fabric: Fabric, rule: Rule) -> Rule:
    """``rule`` for the same destinations, found for whole blocks of neighbouring ones, the last few of
    which are kept: callers ask for few at a time, and a search starts all threads."""
    width = max(1, min(512, (1 << 22) // fabric.size))

    @lru_cache(maxsize=4)
    def block(number: int) -> IntArray:
        first = number * width
        return rule(np.arange(first, min(first + width, fabric.servers), dtype=np.int32))

    def towards(destinations: IntArray) -> IntArray:
        found = [block(int(to) // width)[int(to) % width] for to in destinations]
        return np.array(found, dtype=np.int32).reshape(-1, fabric.size)

    return towards


def follow_next_hops(fabric: Fabric, shortest: Rule, sources: IntArray, destinations: IntArray) -> IntArray:
    """The slots of every pair's way by next hops; ``NONE`` alone where there is no way."""
    ends, row = np.unique(destinations, return_inverse=True)
    return _follow(shortest(ends), row, sources, destinations, fabric.adjacency.peer)


@compiled
def _follow(
    out: IntArray, row: NDArray[np.int64], sources: IntArray, destinations: IntArray, peer: IntArray
) -> IntArray:
    """The slots from each source on, nothing where they do not lead to its destination."""
    length = np.zeros(len(sources), np.int64)
    for pair in range(len(sources)):
        at = sources[pair]
        while at != destinations[pair]:
            slot = out[row[pair], at]
            if slot == NONE:
                length[pair] = 0
                break
            at = peer[slot]
            length[pair] += 1
    slots = np.full((len(sources), max(1, length.max())), NONE, np.int32)
    for pair in range(len(sources)):
        at = sources[pair]
        for hop in range(length[pair]):
            slots[pair, hop] = out[row[pair], at]
            at = peer[slots[pair, hop]]
    return slots
