"""How long the k shortest simple paths of single pairs are, compiled: without the paths, many times faster.

Paths of one length after the other are counted by depth-first search.  A step that is too far from the target
for the length is not taken, so nearly every step belongs to a path.
"""

from __future__ import annotations

import numba
import numpy as np

from addressing.jit import compiled, threaded
from topos.arrays import Longs
from topos.graph import NONE, IntArray

#: What stands in the first place of a row where the search took too many steps.
GIVEN_UP = -2
#: So many steps, and so many for each path wanted: where simple paths are few, most steps lead nowhere.
_STEPS = 4096


@threaded
def path_lengths(start: Longs, peer: IntArray, sources: IntArray, target: int, k: int) -> IntArray:
    """``[source, i]``: the number of links of the i-th shortest simple path to ``target``; -1 where there are
    fewer paths, :data:`GIVEN_UP` where the search has not found out.  The only path from a node to itself is
    empty.  Neighbours of v are ``peer[start[v]:start[v + 1]]``, each once."""
    out = np.full((len(sources), k), -1, np.int32)
    away = _distances(start, peer, target)
    for i in numba.prange(len(sources)):
        if sources[i] == target:
            out[i, 0] = 0
        elif away[sources[i]] != NONE and not _count(out[i], start, peer, sources[i], target, away):
            out[i, 0] = GIVEN_UP
    return out


@compiled
def _distances(start: Longs, peer: IntArray, target: int) -> IntArray:
    """The links from each node to ``target``; NONE where no path leads."""
    away, queue = np.full(len(start) - 1, NONE, np.int32), np.empty(len(start) - 1, np.int32)
    away[target], queue[0], tail = 0, target, 1
    head = 0
    while head < tail:
        at = queue[head]
        head += 1
        for end in peer[start[at] : start[at + 1]]:
            if away[end] == NONE:
                away[end], queue[tail] = away[at] + 1, end
                tail += 1
    return away


@compiled
def _count(row: IntArray, start: Longs, peer: IntArray, source: int, target: int, away: IntArray) -> bool:
    """Fill ``row`` with the lengths of the shortest paths; False after too many steps."""
    size, count, steps, length = len(away), 0, 0, away[source]
    path, place, passed = np.empty(size, np.int32), np.empty(size, np.int64), np.zeros(size, np.bool_)
    while length < size:
        depth = 0
        path[0], place[0], passed[source] = source, start[source], True
        while depth >= 0:
            at = path[depth]
            if place[depth] == start[at + 1]:
                passed[at] = False
                depth -= 1
                continue
            end = peer[place[depth]]
            place[depth] += 1
            steps += 1
            if steps > _STEPS * len(row):
                return False
            if end == target:
                if depth + 1 == length:
                    row[count] = length
                    count += 1
                    if count == len(row):
                        return True
            elif not passed[end] and depth + 1 + away[end] <= length:
                depth += 1
                path[depth], place[depth], passed[end] = end, start[end], True
        length += 1
    return True
