"""The k shortest simple paths of single pairs, compiled (Yen 1971).

They are the paths that networkx's ``shortest_simple_paths`` finds, in its order: where paths are equally
long, the one found first is first, and searches go through neighbours in the order of the rows.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.jit import compiled, threaded
from topos.arrays import Longs
from topos.graph import NONE, IntArray


@threaded
def path_costs(
    start: Longs, peer: IntArray, sources: IntArray, target: int, k: int, cost: IntArray
) -> IntArray:
    """``[source, i]``: the sum of ``cost`` over the nodes of the i-th shortest path after its first node;
    -1 where there are fewer paths.  The only path from a node to itself is empty.  Neighbours of v are
    ``peer[start[v]:start[v + 1]]``."""
    out = np.full((len(sources), k), -1, np.int32)
    for i in numba.prange(len(sources)):
        _add_costs(out, i, start, peer, sources[i], target, cost)
    return out


@compiled
def _add_costs(
    out: IntArray, i: int, start: Longs, peer: IntArray, source: int, target: int, cost: IntArray
) -> None:
    if source == target:
        out[i, 0] = 0
        return
    nodes, first = k_shortest(start, peer, int(source), target, out.shape[1])
    for rank in range(len(first) - 1):
        out[i, rank] = 0
        for place in range(first[rank] + 1, first[rank + 1]):
            out[i, rank] += cost[nodes[place]]


@compiled
def k_shortest(start: Longs, peer: IntArray, source: int, target: int, k: int) -> tuple[IntArray, Longs]:
    """At most ``k`` simple paths between two different nodes: path i is ``nodes[first[i]:first[i + 1]]``."""
    size = len(start) - 1
    # All paths found so far stand one after the other; a path that was chosen has a rank.
    nodes, first, rank = np.empty(64, np.int32), np.zeros(16, np.int64), np.empty(16, np.int64)
    banned, scratch = np.zeros(size, np.bool_), np.full((4, size), NONE, np.int32)
    chosen, known, last = np.empty(k, np.int64), 0, -1
    for number in range(k):
        spurs = first[last + 1] - first[last] - 1 if last >= 0 else 1
        for spur in range(spurs):
            root = _root(nodes, first, last, spur, source)
            barred = _next_nodes(nodes, first, chosen[:number], root)
            _mark(banned, root[:-1], True)
            rest = _bidirectional(start, peer, root[-1], target, banned, barred, scratch)
            _mark(banned, root[:-1], False)
            if not len(rest) or _waits(nodes, first[: known + 1], rank, root[:-1], rest):
                continue
            if known + 2 > len(first):
                first, rank = _longer(first), _longer(rank)
            end = first[known] + spur + len(rest)
            while end > len(nodes):
                nodes = _longer(nodes)
            nodes[first[known] : first[known] + spur], nodes[first[known] + spur : end] = root[:-1], rest
            rank[known] = -1
            known += 1
            first[known] = end
        last = _shortest(first[: known + 1], rank)
        if last < 0:
            return _packed(nodes, first, chosen[:number])
        rank[last], chosen[number] = number, last
    return _packed(nodes, first, chosen)


@compiled
def _root(nodes: IntArray, first: Longs, path: int, spur: int, source: int) -> IntArray:
    """The first nodes of a path, up to and with number ``spur``; of no path (-1) the source."""
    root = np.full(spur + 1, source, np.int32)
    if path >= 0:
        root[:] = nodes[first[path] : first[path] + spur + 1]
    return root


@compiled
def _longer(array: NDArray[Any]) -> NDArray[Any]:
    """With room for as many elements again."""
    out = np.empty(2 * len(array), array.dtype)
    out[: len(array)] = array
    return out


@compiled
def _equal(a: IntArray, b: IntArray) -> bool:
    """Whether two paths of equal length have the same nodes."""
    for i in range(len(a)):  # noqa: SIM110 (numba compiles loops faster than generators)
        if a[i] != b[i]:
            return False
    return True


@compiled
def _has(nodes: IntArray, node: int) -> bool:
    for other in nodes:  # noqa: SIM110
        if other == node:
            return True
    return False


@compiled
def _mark(banned: NDArray[np.bool_], nodes: IntArray, value: bool) -> None:
    for node in nodes:
        banned[node] = value


@compiled
def _next_nodes(nodes: IntArray, first: Longs, chosen: Longs, root: IntArray) -> IntArray:
    """The nodes that follow ``root`` in the chosen paths that begin with it."""
    out, count, length = np.empty(len(chosen), np.int32), 0, len(root)
    for path in chosen:
        begin = first[path]
        if first[path + 1] - begin > length and _equal(nodes[begin : begin + length], root):
            out[count] = nodes[begin + length]
            count += 1
    return out[:count]


@compiled
def _waits(nodes: IntArray, first: Longs, rank: Longs, before: IntArray, rest: IntArray) -> bool:
    """Whether the path ``before`` + ``rest`` is among those found and not chosen."""
    length = len(before) + len(rest)
    for path in range(len(first) - 1):
        begin, end = first[path], first[path + 1]
        same = rank[path] < 0 and end - begin == length
        middle = begin + len(before)
        if same and _equal(nodes[middle:end], rest) and _equal(nodes[begin:middle], before):
            return True
    return False


@compiled
def _shortest(first: Longs, rank: Longs) -> int:
    """The path not chosen that has the fewest nodes, of several the one found first; -1 without any."""
    best, fewest = -1, 0
    for path in range(len(first) - 1):
        length = first[path + 1] - first[path]
        if rank[path] < 0 and (best < 0 or length < fewest):
            best, fewest = path, length
    return best


@compiled
def _packed(nodes: IntArray, first: Longs, chosen: Longs) -> tuple[IntArray, Longs]:
    """The chosen paths, one after the other, and where each begins."""
    begin = np.zeros(len(chosen) + 1, np.int64)
    for i in range(len(chosen)):
        begin[i + 1] = begin[i] + first[chosen[i] + 1] - first[chosen[i]]
    out = np.empty(begin[-1], np.int32)
    for i in range(len(chosen)):
        out[begin[i] : begin[i + 1]] = nodes[first[chosen[i]] : first[chosen[i] + 1]]
    return out, begin


@compiled
def _bidirectional(
    start: Longs,
    peer: IntArray,
    source: int,
    target: int,
    banned: NDArray[np.bool_],
    barred: IntArray,
    scratch: IntArray,
) -> IntArray:
    """A shortest path that avoids ``banned`` nodes and the links from ``source`` to ``barred`` nodes; empty
    without one.  The side with the smaller frontier advances by a level.  ``scratch``: NONE everywhere,
    before and afterwards."""
    before, queues = scratch[:2], scratch[2:]
    head, tail = np.zeros(2, np.int64), np.ones(2, np.int64)
    queues[0, 0], queues[1, 0] = source, target
    before[0, source], before[1, target] = source, target
    meeting = NONE
    while meeting == NONE and head[0] < tail[0] and head[1] < tail[1]:
        side = 0 if tail[0] - head[0] <= tail[1] - head[1] else 1
        level_end = tail[side]
        while meeting == NONE and head[side] < level_end:
            at = queues[side, head[side]]
            head[side] += 1
            for end in peer[start[at] : start[at + 1]]:
                if banned[end] or (at == source and _has(barred, end)) or (end == source and _has(barred, at)):
                    continue
                if before[side, end] == NONE:
                    before[side, end] = at
                    queues[side, tail[side]] = end
                    tail[side] += 1
                if before[1 - side, end] != NONE:
                    meeting = end
                    break
    path = _joined(before, meeting, source, target)
    for side in range(2):
        before[side][queues[side, : tail[side]]] = NONE
        queues[side, : tail[side]] = NONE
    return path


@compiled
def _joined(before: IntArray, meeting: int, source: int, target: int) -> IntArray:
    """The path over the node where two searches met; empty if they did not."""
    if meeting == NONE:
        return np.empty(0, np.int32)
    count, at = 1, meeting
    while at != source:
        at, count = before[0, at], count + 1
    middle, at = count, meeting
    while at != target:
        at, count = before[1, at], count + 1
    path = np.empty(count, np.int32)
    at = meeting
    for place in range(middle - 1, -1, -1):
        path[place] = at
        at = before[0, at]
    at = meeting
    for place in range(middle - 1, count):
        path[place] = at
        at = before[1, at]
    return path
