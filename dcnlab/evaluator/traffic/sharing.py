"""When flows end that share links max-min fairly, with rates computed again only where they change
(:mod:`.levels`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from addressing.jit import borrowing, compiled
from dcnlab.evaluator.traffic.levels import STEPS, WAITING, Net, Queue, attach, detach, once, settle
from topos.arrays import Floats, Longs
from topos.graph import NONE, IntArray

#: Moments between two reports of progress: a tenth of a second where many flows share links.
_MOMENTS = 1000
#: Bits, and their share of a flow, that count as none: what rounding leaves of a flow that has ended.
_NO_BITS, _NO_SHARE = 1e-3, 1e-12


class _Flows(NamedTuple):
    """What is left of each flow at the moment ``since``, its rate since, and when it ends at that rate.

    ``heap`` has the flows that send by ``due``, and ``place`` their places there.
    """

    left: Floats
    since: Floats
    speed: Floats
    due: Floats
    heap: IntArray
    place: IntArray


class _State(NamedTuple):
    """Where a computation is: the flows that have ended so far, and numbers of ``counts``: those that send, and
    those that have begun."""

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
    """When each flow ends.

    Row r crosses ``links[start[r]:start[r + 1]]`` with ``shares`` of its flow on each (a single share holds for
    all links); flow i has rows ``subflows * i`` and following, and begins at ``begin[i]`` (ascending).
    ``capacities`` are in bits per second.  ``done`` hears now and then which share of the flows has ended.
    At each moment rates settle within ``steps`` per link, or all are computed afresh.
    """
    state, left = _begin(*once(start, links, shares), begin, bits, capacities), len(begin)
    while left:
        left = _advance(state, begin, bits, subflows, _MOMENTS, steps * len(capacities))
        done(1 - left / len(begin))
    return state.ends


@compiled
def _begin(
    start: Longs, links: IntArray, shares: Floats, begin: Floats, bits: Floats, capacities: Floats
) -> _State:
    count, rows, size = len(begin), len(start) - 1, len(capacities)
    row, base = np.empty(len(links), np.int32), np.zeros(size + 1, np.int64)
    for one in range(rows):
        for i in range(start[one], start[one + 1]):
            row[i] = one
            base[links[i] + 1] += 1
    net = Net(
        start, links, shares, capacities, row, np.cumsum(base), np.zeros(len(links), np.int32),
        np.zeros(len(links), np.int32), np.zeros(size, np.int32), np.zeros(size, np.int32), capacities.copy(),
        np.zeros(size), np.full(size, np.inf), np.zeros(size, np.bool_), np.full(rows, NONE, np.int32),
        np.zeros(rows),
    )  # fmt: skip
    key = np.zeros(1)
    queue = Queue(
        np.zeros(size, np.bool_), np.full(WAITING, NONE, np.int32), np.zeros(size, np.int32), key,
        key.view(np.int64), np.zeros(size, np.bool_), np.zeros(size, np.int32), np.zeros(3, np.int64),
    )  # fmt: skip
    flows = _Flows(
        bits.copy(), begin.copy(), np.zeros(count), np.full(count, np.inf),
        np.empty(count, np.int32), np.full(count, NONE, np.int32),
    )  # fmt: skip
    return _State(net, queue, flows, np.zeros(count), np.zeros(2, np.int64))


@compiled
def _advance(state: _State, begin: Floats, bits: Floats, subflows: int, moments: int, steps: int) -> int:
    """Go on for so many moments at which flows begin or end: how many have not ended."""
    net, queue, flows, ends, counts = state
    count, waiting, admitted = len(begin), counts[0], counts[1]
    while (waiting or admitted < count) and moments:
        moments -= 1
        now = flows.due[flows.heap[0]] if waiting else np.inf
        now = min(now, begin[admitted] if admitted < count else np.inf)
        gone = _end(net, queue, flows, waiting, now, bits, subflows, ends)
        waiting -= gone
        while admitted < count and begin[admitted] <= now:
            for row in range(admitted * subflows, (admitted + 1) * subflows):
                attach(net, queue, row)
            admitted += 1
        settle(net, queue, steps)
        waiting = _schedule(net, queue, flows, waiting, now, subflows)
    counts[0], counts[1] = waiting, admitted
    return int(count - admitted + waiting)


@borrowing
def _end(
    net: Net, queue: Queue, flows: _Flows, waiting: int, now: float, bits: Floats, subflows: int, ends: Floats
) -> int:
    """Take out the flows that end now: their number."""
    count = 0
    while count < waiting:
        flow, last = flows.heap[0], waiting - count - 1
        if (flows.due[flow] - now) * flows.speed[flow] > max(_NO_BITS, _NO_SHARE * bits[flow]):
            break
        flows.heap[0] = flows.heap[last]
        _sink(flows.heap[:last], flows.place, flows.due, 0)
        flows.place[flow], ends[flow] = NONE, now
        for row in range(flow * subflows, (flow + 1) * subflows):
            detach(net, queue, row)
        count += 1
    return count


@borrowing
def _schedule(net: Net, queue: Queue, flows: _Flows, waiting: int, now: float, subflows: int) -> int:
    """When the flows end whose rows have new rates: the number of flows that send."""
    for place in range(queue.counts[2]):
        link = queue.changed[place]
        queue.marked[link] = False
        for slot in range(net.base[link], net.base[link] + net.few[link]):
            flow = net.row[net.slots[slot]] // subflows
            speed = 0.0
            for one in range(flow * subflows, (flow + 1) * subflows):
                if net.bottleneck[one] != NONE:
                    speed += net.rate[one]
            speed /= subflows
            if speed == flows.speed[flow]:
                continue
            flows.left[flow] = max(0.0, flows.left[flow] - flows.speed[flow] * (now - flows.since[flow]))
            flows.since[flow], flows.speed[flow] = now, speed
            flows.due[flow] = now + flows.left[flow] / speed
            if flows.place[flow] == NONE:
                flows.place[flow], flows.heap[waiting] = waiting, flow
                waiting += 1
            _rise(flows.heap, flows.place, flows.due, flows.place[flow])
            _sink(flows.heap[:waiting], flows.place, flows.due, flows.place[flow])
    queue.counts[2] = 0
    return waiting


@borrowing
def _sink(heap: IntArray, places: IntArray, key: Floats, place: int) -> None:
    """Move an element down the heap while one below it has a smaller key."""
    if place >= len(heap):
        return
    one = heap[place]
    while 2 * place + 1 < len(heap):
        below = 2 * place + 1
        if below + 1 < len(heap) and key[heap[below + 1]] < key[heap[below]]:
            below += 1
        if key[heap[below]] >= key[one]:
            break
        heap[place] = heap[below]
        places[heap[place]] = place
        place = below
    heap[place], places[one] = one, place


@borrowing
def _rise(heap: IntArray, places: IntArray, key: Floats, place: int) -> None:
    """Move an element up the heap while the one above it has a larger key."""
    one = heap[place]
    while place and key[heap[(place - 1) // 2]] > key[one]:
        heap[place] = heap[(place - 1) // 2]
        places[heap[place]] = place
        place = (place - 1) // 2
    heap[place], places[one] = one, place
