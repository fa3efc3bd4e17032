"""When flows end that share links max-min fairly, with rates computed again only where they change
(:mod:`.levels`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from addressing.jit import borrowing, compiled
from dcnlab.evaluator.traffic.levels import STEPS, WAITING, Net, Paths, Queue, attach, detach, once, settle
from topos.arrays import Floats, Longs, Mask
from topos.graph import NONE, IntArray

#: Moments between two reports of progress: a tenth of a second where many flows share links.
_MOMENTS = 1000
#: Flows whose ends are kept as the earliest of each block.
_BLOCK = 64
#: Moments that differ by less than this share are one.
_SAME_TIME = 1e-12


class _Flows(NamedTuple):
    """Flows that send have numbers; those of flows that have ended are used again.

    Of each number: ``which`` flow it is, its bits ``left`` at the moment ``since``, its ``speed`` since, and
    when it is ``due`` at that speed (inf: none has the number).  ``first`` is the earliest of each block of
    numbers, not known where it is ``stale``.  ``free`` is a stack of numbers.
    """

    which: IntArray
    left: Floats
    since: Floats
    speed: Floats
    due: Floats
    first: Floats
    stale: Mask
    free: IntArray


class _State(NamedTuple):
    """Where a computation is: the ends so far, and ``counts``: the flows that have begun, the numbers that were
    used so far, and those of them that are free."""

    net: Net
    queue: Queue
    flows: _Flows
    ends: Floats
    counts: Longs


def share_links(
    start: Longs,
    links: IntArray,
    begin: Floats,
    bits: Floats,
    capacities: Floats,
    shares: Floats,
    subflows: int,
    done: Callable[[float], None] = lambda share: None,
    steps: int = STEPS,
) -> Floats:
    """When each flow ends; 0 for a flow without a link.

    Row r crosses ``links[start[r]:start[r + 1]]`` with ``shares`` of its flow on each (a single share holds for
    all links); flow i has rows ``subflows * i`` and following, and begins at ``begin[i]`` (ascending).
    ``capacities`` are in bits per second.  ``done`` hears now and then which share of the flows has ended.
    At each moment rates settle within ``steps`` per link, or all are computed afresh.
    """
    paths, left = once(start, links, shares), len(begin)
    longest = int(np.diff(paths.start).max(initial=0))
    state = _begin(paths, max(longest - 1, 0).bit_length(), subflows, capacities)
    while left:
        left = _advance(state, begin, bits, subflows, _MOMENTS, steps * len(capacities))
        done(1 - left / len(begin))
    return state.ends


@compiled
def _begin(paths: Paths, shift: int, subflows: int, capacities: Floats) -> _State:
    rows, size, crossings = len(paths.start) - 1, len(capacities), len(paths.links)
    count, base = rows // subflows, np.zeros(size + 1, np.int64)
    for link in paths.links:
        base[link + 1] += 1
    net = Net(
        paths, shift, np.empty(rows << shift, np.uint32), np.empty(rows, np.int32), np.empty(rows, np.int64),
        capacities, np.cumsum(base), np.empty(crossings, np.int32), np.empty(rows << shift, np.int32),
        np.zeros(size, np.int32), np.zeros(size, np.int32), capacities.copy(), np.zeros(size),
        np.full(size, np.inf), np.full(size, np.inf), np.full(rows, NONE, np.int32), np.empty(rows),
    )  # fmt: skip
    key = np.zeros(1)
    queue = Queue(
        np.zeros(size, np.bool_), np.full(WAITING, NONE, np.int32), np.zeros(size, np.int32), key,
        key.view(np.int64), np.zeros(size, np.bool_), np.zeros(size, np.int32), np.zeros(3, np.int64),
    )  # fmt: skip
    blocks = count // _BLOCK + 1
    flows = _Flows(
        np.empty(count, np.int32), np.empty(count), np.empty(count), np.empty(count),
        np.full(blocks * _BLOCK, np.inf), np.full(blocks, np.inf), np.zeros(blocks, np.bool_),
        np.empty(count, np.int32),
    )  # fmt: skip
    return _State(net, queue, flows, np.zeros(count), np.zeros(3, np.int64))


@compiled
def _advance(state: _State, begin: Floats, bits: Floats, subflows: int, moments: int, steps: int) -> int:
    """Go on for so many moments at which flows begin or end: how many have not ended."""
    net, queue, flows, _, counts = state
    while moments:
        now = _earliest(flows, counts[1])
        if counts[0] < len(begin):
            now = min(now, begin[counts[0]])
        elif now == np.inf:
            return 0  # none is left but flows without a link
        _end(state, now, subflows)
        while counts[0] < len(begin) and begin[counts[0]] <= now:
            _admit(state, bits, now, subflows)
        settle(net, queue, steps)
        _schedule(net, queue, flows, now, subflows)
        moments -= 1
    return int(len(begin) - counts[0] + counts[1] - counts[2])


@borrowing
def _earliest(flows: _Flows, used: int) -> float:
    """When the next flow ends; inf if none sends."""
    earliest = np.inf
    for block in range((used + _BLOCK - 1) // _BLOCK):
        if flows.stale[block]:
            first = np.inf
            for number in range(block * _BLOCK, (block + 1) * _BLOCK):
                first = min(first, flows.due[number])
            flows.first[block], flows.stale[block] = first, False
        earliest = min(earliest, flows.first[block])
    return earliest


@borrowing
def _end(state: _State, now: float, subflows: int) -> None:
    """Take out the flows that end now."""
    net, queue, flows, ends, counts = state
    until = now + _SAME_TIME * abs(now)
    for block in range((counts[1] + _BLOCK - 1) // _BLOCK):
        if flows.first[block] > until:
            continue
        flows.stale[block] = True
        for number in range(block * _BLOCK, (block + 1) * _BLOCK):
            if flows.due[number] > until:
                continue
            for row in range(number * subflows, (number + 1) * subflows):
                detach(net, queue, row)
            ends[flows.which[number]], flows.due[number] = now, np.inf
            flows.free[counts[2]] = number
            counts[2] += 1


@borrowing
def _admit(state: _State, bits: Floats, now: float, subflows: int) -> None:
    """Let the next flow begin."""
    net, queue, flows, _, counts = state
    which, number = counts[0], counts[1]
    if counts[2]:
        counts[2] -= 1
        number = flows.free[counts[2]]
    else:
        counts[1] += 1
    counts[0] += 1
    flows.which[number], flows.left[number] = which, bits[which]
    flows.since[number], flows.speed[number] = now, 0.0
    for part in range(subflows):
        attach(net, queue, number * subflows + part, which * subflows + part)


@borrowing
def _schedule(net: Net, queue: Queue, flows: _Flows, now: float, subflows: int) -> None:
    """When the flows end whose rows have new rates."""
    for place in range(queue.counts[2]):
        link = queue.changed[place]
        queue.marked[link] = False
        for slot in range(net.base[link], net.base[link] + net.few[link]):
            number = (net.slots[slot] >> net.shift) // subflows
            speed = 0.0
            for row in range(number * subflows, (number + 1) * subflows):
                if net.bottleneck[row] != NONE:
                    speed += net.rate[row]
            speed /= subflows
            if speed != flows.speed[number]:
                gone = flows.speed[number] * (now - flows.since[number])
                flows.left[number] = max(0.0, flows.left[number] - gone)
                flows.since[number], flows.speed[number] = now, speed
                flows.due[number] = now + flows.left[number] / speed
                flows.stale[number // _BLOCK] = True
    queue.counts[2] = 0
