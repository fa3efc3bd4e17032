"""Source routes under known failures, by arrays: the first of a scheme's ways that is whole, else a
shortest way over what is up (see :meth:`addressing.source.SourceRouted.headers`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from evaluator.adjacency import live_slots
from evaluator.jit import compiled
from evaluator.vector import Rule, Ways
from topos.graph import NONE, Fabric, IntArray, LinkState

#: Per pair the slots of its ways, the best way first.
Candidates = Callable[[IntArray, IntArray], Iterable[IntArray]]
#: Which rows of slots fit into a packet's tag.
Fits = Callable[[IntArray], NDArray[np.bool_]]


def rerouted(fabric: Fabric, candidates: Candidates, shortest: Rule, down: LinkState, fits: Fits) -> Ways:
    """The ways of ``candidates`` while the sources know ``down``; ``shortest`` gives the first slot
    nearer to each destination over what is up.  A pair without any way keeps a broken one."""
    usable = np.append(live_slots(fabric, down), True)

    def between(sources: IntArray, destinations: IntArray) -> IntArray:
        found = np.zeros((0, 0), dtype=np.int32)
        broken = np.ones(len(sources), dtype=np.bool_)
        for slots in candidates(sources, destinations):
            found = _replaced(found, broken, slots[broken]) if len(found) else slots
            broken = np.logical_not(usable[found].all(axis=1))
            if not broken.any():
                return found
        detours = along(fabric, shortest, sources[broken], destinations[broken])
        good = fits(detours) & (detours[:, 0] != NONE)
        broken[broken] = good
        return _replaced(found, broken, detours[good])

    return between


def _replaced(found: IntArray, rows: NDArray[np.bool_], by: IntArray) -> IntArray:
    """``found`` with some of its rows replaced, as wide as is needed."""
    wider = max(found.shape[1], by.shape[1])
    result = np.full((len(found), wider), NONE, dtype=np.int32)
    result[:, : found.shape[1]] = found
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


def along(fabric: Fabric, shortest: Rule, sources: IntArray, destinations: IntArray) -> IntArray:
    """The slots of every pair's way by next hops; ``NONE`` alone where there is no way."""
    ends, row = np.unique(destinations, return_inverse=True)
    return _follow(shortest(ends), row, sources, destinations, fabric.slots.peer)


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
