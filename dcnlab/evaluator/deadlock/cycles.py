"""Cycles of dependencies (kernels): whether there is one, and a shortest one."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from addressing.jit import compiled
from dcnlab.evaluator.deadlock.channels import Channels
from topos.arrays import Longs, Mask
from topos.graph import NONE, IntArray


def is_acyclic(channels: Channels, present: Mask) -> bool:
    """Whether the dependencies of the mask have no cycle."""
    return bool(_all_settle(channels.head, channels.first, channels.out, channels.start, present))


def cyclic_parts(channels: Channels, present: Mask) -> IntArray:
    """Per channel the number of its strongly connected part of several channels; ``NONE`` for all others."""
    before, after = _pairs(channels.head, channels.first, channels.out, channels.start, present)
    size = len(channels.tail)
    graph = csr_array((np.ones(len(before), np.int8), (before, after)), shape=(size, size))
    part = connected_components(graph, connection="strong")[1].astype(np.int32)
    return np.where(np.bincount(part)[part] > 1, part, NONE).astype(np.int32)


def shortest_cycle(channels: Channels, present: Mask) -> list[int]:
    """The channels of a shortest cycle, each waiting for the next; empty when there is none."""
    part = cyclic_parts(channels, present)
    shortest: IntArray = _shortest(channels.head, channels.first, channels.out, channels.start, present, part)
    return [int(channel) for channel in shortest]


@compiled
def _all_settle(head: IntArray, first: Longs, out: IntArray, start: Longs, present: Mask) -> bool:
    """Remove channels for which nothing waits, again and again; whether all are removed (Kahn, 1962)."""
    waiting = np.zeros(len(head), np.int32)
    for channel in range(len(head)):
        for i in range(start[channel + 1] - start[channel]):
            if present[start[channel] + i]:
                waiting[out[first[head[channel]] + i]] += 1
    todo = np.flatnonzero(waiting == 0).astype(np.int32)
    stack = np.empty(len(head), np.int32)
    top = len(todo)
    stack[:top] = todo
    removed = 0
    while top:
        top -= 1
        removed += 1
        channel = stack[top]
        for i in range(start[channel + 1] - start[channel]):
            if present[start[channel] + i]:
                after = out[first[head[channel]] + i]
                waiting[after] -= 1
                if waiting[after] == 0:
                    stack[top] = after
                    top += 1
    return removed == len(head)


@compiled
def _pairs(
    head: IntArray, first: Longs, out: IntArray, start: Longs, present: Mask
) -> tuple[IntArray, IntArray]:
    """The dependencies of the mask as (before, after)."""
    count = present.sum()
    before, after = np.empty(count, np.int32), np.empty(count, np.int32)
    done = 0
    for channel in range(len(head)):
        for i in range(start[channel + 1] - start[channel]):
            if present[start[channel] + i]:
                before[done], after[done] = channel, out[first[head[channel]] + i]
                done += 1
    return before, after


@compiled
def _shortest(
    head: IntArray, first: Longs, out: IntArray, start: Longs, present: Mask, part: IntArray
) -> IntArray:
    """A breadth-first search from every channel of a cyclic part, not deeper than the best cycle so far."""
    best = np.empty(0, np.int32)
    length = len(head) + 1
    seen, before = np.full(len(head), NONE, np.int32), np.empty(len(head), np.int32)
    depth, queue = np.empty(len(head), np.int32), np.empty(len(head), np.int32)
    for root in range(len(head)):
        if part[root] == NONE or length == 2:
            continue
        seen[root], depth[root], queue[0] = root, 0, root
        at, end, closed = 0, 1, False
        while at < end and not closed:
            channel = queue[at]
            at += 1
            if depth[channel] + 1 >= length:
                break
            for i in range(start[channel + 1] - start[channel]):
                if not present[start[channel] + i]:
                    continue
                after = out[first[head[channel]] + i]
                if after == root:
                    length, closed = depth[channel] + 1, True
                    best = np.empty(length, np.int32)
                    for place in range(length):
                        best[length - 1 - place] = channel
                        channel = before[channel]
                    break
                if part[after] == part[root] and seen[after] != root:
                    seen[after], before[after], depth[after] = root, channel, depth[channel] + 1
                    queue[end] = after
                    end += 1
    return best
