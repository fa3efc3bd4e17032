"""When flows end that share links max-min fairly, with rates computed again only where they change.

A rate is max-min fair if the flow crosses a full link on which no other has a higher rate, its *bottleneck*
(Bertsekas and Gallager, Data Networks, 6.5.2).  When flows begin or end, the flows with a bottleneck on their
links are chosen, and get rates by progressive filling while all others keep theirs.  Then every flow on these
links that has lost its bottleneck is chosen, too, until there is none: the rates are those of a computation
of all flows.

Rows are flows, or the subflows of flows; a row crosses ``links[start[row]:start[row + 1]]``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from addressing.jit import borrowing, compiled
from topos.arrays import Floats, Longs, Mask
from topos.graph import NONE, IntArray

#: Rates, and loads by capacities, that differ by less than this share are equal.
_EQUAL = 1e-9
#: Moments between two reports of progress: a tenth of a second where many flows share links.
_MOMENTS = 100
#: Bits, and their share of a flow, that count as none: what rounding leaves of a flow that has ended.
_NO_BITS, _NO_SHARE = 1e-3, 1e-12


class _Links(NamedTuple):
    """The links that chosen rows cross, ``touched``.

    Chosen rows may use ``room`` of a link, and have shares of it whose sum is ``wanted``; ``left`` and
    ``growing`` are the same while rates are computed.  ``others`` is the highest rate of the other rows, and
    ``lowest`` the least of those with their bottleneck there; ``level`` is the rate of chosen rows with their
    bottleneck there, and ``highest`` that of any chosen row.  ``heap`` has links by ``key``.
    """

    touched: Mask
    room: Floats
    wanted: Floats
    left: Floats
    growing: Floats
    others: Floats
    lowest: Floats
    level: Floats
    highest: Floats
    key: Floats
    heap: IntArray
    place: IntArray


class _Net(NamedTuple):
    """The rows, and per link a list of those that send: ``head``, then ``after`` and ``before`` of a crossing.

    ``shares``: one for all crossings, or one for each.  ``bottleneck`` is NONE while a row has no rate.
    """

    start: Longs
    links: IntArray
    shares: Floats
    capacities: Floats
    row: IntArray
    head: IntArray
    after: IntArray
    before: IntArray
    rate: Floats
    bottleneck: IntArray
    chosen: Mask
    around: _Links


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
    those that have begun.  ``ended``, ``some`` and ``near`` are room for a list each."""

    net: _Net
    flows: _Flows
    ends: Floats
    counts: Longs
    ended: Longs
    some: Longs
    near: IntArray


def share_links(
    start: Longs,
    links: IntArray,
    begin: Floats,
    bits: Floats,
    capacities: Floats,
    shares: Floats,
    subflows: int,
    done: Callable[[float], None] = lambda share: None,
) -> Floats:
    """When each flow ends.

    Row r crosses ``links[start[r]:start[r + 1]]`` with ``shares`` of its flow on each (a single share holds for
    all links); flow i has rows ``subflows * i`` and following, and begins at ``begin[i]`` (ascending).
    ``capacities`` are in bits per second.  ``done`` hears now and then which share of the flows has ended.
    """
    state, left = _begin(start, links, begin, bits, capacities, shares, subflows), len(begin)
    while left:
        left = _advance(state, begin, bits, subflows, _MOMENTS)
        done(1 - left / len(begin))
    return state.ends


@compiled
def _begin(
    start: Longs,
    links: IntArray,
    begin: Floats,
    bits: Floats,
    capacities: Floats,
    shares: Floats,
    subflows: int,
) -> _State:
    count = len(begin)
    flows = _Flows(
        bits.copy(), begin.copy(), np.zeros(count), np.full(count, np.inf),
        np.empty(count, np.int32), np.full(count, NONE, np.int32),
    )  # fmt: skip
    return _State(
        _network(start, links, shares, capacities), flows, np.zeros(count), np.zeros(2, np.int64),
        np.empty(count, np.int64), np.empty(count * subflows, np.int64), np.empty(len(capacities), np.int32),
    )  # fmt: skip


@compiled
def _advance(state: _State, begin: Floats, bits: Floats, subflows: int, moments: int) -> int:
    """Go on for so many moments at which flows begin or end: how many have not ended."""
    net, flows, ends, counts, ended, some, near = state
    count, waiting, admitted = len(begin), counts[0], counts[1]
    while (waiting or admitted < count) and moments:
        moments -= 1
        now = flows.due[flows.heap[0]] if waiting else np.inf
        now = min(now, begin[admitted] if admitted < count else np.inf)
        gone = _ending(flows, waiting, now, bits, ended)
        waiting, first = waiting - gone, admitted
        while admitted < count and begin[admitted] <= now:
            admitted += 1
        chosen, touched = _change(net, ended[:gone], first, admitted, subflows, some, near)
        ends[ended[:gone]] = now
        chosen = _settle(net, some, chosen, near, touched)
        waiting = _schedule(net, some[:chosen], flows, waiting, now, subflows)
    counts[0], counts[1] = waiting, admitted
    return int(count - admitted + waiting)


@compiled
def _network(start: Longs, links: IntArray, shares: Floats, capacities: Floats) -> _Net:
    rows, size = len(start) - 1, len(capacities)
    row = np.empty(len(links), np.int32)
    for one in range(rows):
        row[start[one] : start[one + 1]] = one
    many = np.zeros((9, size))
    around = _Links(
        np.zeros(size, np.bool_), many[0], many[1], many[2], many[3], many[4], many[5], many[6], many[7],
        many[8], np.zeros(size, np.int32), np.zeros(size, np.int32),
    )  # fmt: skip
    return _Net(
        start, links, shares, capacities, row,
        np.full(size, NONE, np.int32), np.full(len(links), NONE, np.int32), np.full(len(links), NONE, np.int32),
        np.zeros(rows), np.full(rows, NONE, np.int32), np.zeros(rows, np.bool_), around,
    )  # fmt: skip


@borrowing
def _ending(flows: _Flows, waiting: int, now: float, bits: Floats, ended: Longs) -> int:
    """Take the flows that end now off the heap, and put them into ``ended``: their number."""
    count = 0
    while count < waiting:
        flow, last = flows.heap[0], waiting - count - 1
        if (flows.due[flow] - now) * flows.speed[flow] > max(_NO_BITS, _NO_SHARE * bits[flow]):
            break
        flows.heap[0] = flows.heap[last]
        _sink(flows.heap[:last], flows.place, flows.due, 0)
        flows.place[flow], ended[count] = NONE, flow
        count += 1
    return count


@borrowing
def _change(
    net: _Net, ended: Longs, first: int, last: int, subflows: int, some: Longs, near: IntArray
) -> tuple[int, int]:
    """Take out the rows of flows that have ended and add those of flows from ``first`` to ``last``; choose
    these and the rows with a bottleneck on a link of any of them: their number, and that of their links."""
    chosen, touched = 0, 0
    for flow in ended:
        for row in range(flow * subflows, (flow + 1) * subflows):
            _detach(net, row)
    for row in range(first * subflows, last * subflows):
        _attach(net, row)
    for row in range(first * subflows, last * subflows):
        chosen, touched = _choose(net, row, some, chosen, near, touched)
    for flow in ended:
        chosen, touched = _choose_limited(
            net, flow * subflows, (flow + 1) * subflows, some, chosen, near, touched
        )
    return _choose_limited(net, first * subflows, last * subflows, some, chosen, near, touched)


@borrowing
def _attach(net: _Net, row: int) -> None:
    for i in range(net.start[row], net.start[row + 1]):
        following = net.head[net.links[i]]
        net.after[i], net.before[i] = following, NONE
        if following != NONE:
            net.before[following] = i
        net.head[net.links[i]] = i


@borrowing
def _detach(net: _Net, row: int) -> None:
    for i in range(net.start[row], net.start[row + 1]):
        if net.before[i] == NONE:
            net.head[net.links[i]] = net.after[i]
        else:
            net.after[net.before[i]] = net.after[i]
        if net.after[i] != NONE:
            net.before[net.after[i]] = net.before[i]
    net.rate[row], net.bottleneck[row] = 0.0, NONE


@borrowing
def _choose(net: _Net, row: int, some: Longs, chosen: int, near: IntArray, touched: int) -> tuple[int, int]:
    """Add a row to the chosen ones and its links to those near: the numbers of both."""
    if net.chosen[row]:
        return chosen, touched
    around = net.around
    for i in range(net.start[row], net.start[row + 1]):
        if not around.touched[net.links[i]]:
            _touch(net, net.links[i])
            near[touched] = net.links[i]
            touched += 1
    for i in range(net.start[row], net.start[row + 1]):
        share = net.shares[i] if len(net.shares) > 1 else net.shares[0]
        around.room[net.links[i]] += share * net.rate[row]
        around.wanted[net.links[i]] += share
    net.chosen[row] = True
    some[chosen] = row
    return chosen + 1, touched


@borrowing
def _touch(net: _Net, link: int) -> None:
    """What the rows on a link leave of it."""
    around, used = net.around, 0.0
    around.touched[link], around.wanted[link] = True, 0.0
    around.others[link], around.lowest[link] = 0.0, np.inf
    at = net.head[link]
    while at != NONE:
        row = net.row[at]
        used += (net.shares[at] if len(net.shares) > 1 else net.shares[0]) * net.rate[row]
        around.others[link] = max(around.others[link], net.rate[row])
        if net.bottleneck[row] == link:
            around.lowest[link] = min(around.lowest[link], net.rate[row])
        at = net.after[at]
    around.room[link] = net.capacities[link] - used


@borrowing
def _choose_limited(
    net: _Net, first: int, last: int, some: Longs, chosen: int, near: IntArray, touched: int
) -> tuple[int, int]:
    """Choose the rows with a bottleneck on a link of rows ``first`` to ``last``."""
    for i in range(net.start[first], net.start[last]):
        link = net.links[i]
        at = net.head[link]
        while at != NONE:
            if net.bottleneck[net.row[at]] == link:
                chosen, touched = _choose(net, net.row[at], some, chosen, near, touched)
            at = net.after[at]
    return chosen, touched


@borrowing
def _settle(net: _Net, some: Longs, chosen: int, near: IntArray, touched: int) -> int:
    """Max-min fair rates after a change at the chosen rows: the number of rows that it took."""
    done = 0
    while done < chosen:
        done = chosen
        _fill(net, some[:done], near[:touched])
        chosen, touched = _choose_unfair(net, some, chosen, near, touched)
    net.chosen[some[:chosen]] = False
    net.around.touched[near[:touched]] = False
    return chosen


@borrowing
def _fill(net: _Net, some: Longs, near: IntArray) -> None:
    """Progressive filling of the chosen rows, beside the rates of all others.

    The level ``left / growing`` of a link never falls, so an outdated key is only too low.
    """
    around, missing = net.around, len(some)
    for row in some:
        net.bottleneck[row] = NONE
        missing -= net.start[row] == net.start[row + 1]
    for i in range(len(near)):
        link = near[i]
        around.left[link], around.growing[link] = around.room[link], around.wanted[link]
        around.level[link], around.highest[link] = np.inf, 0.0
        around.key[link], around.heap[i] = around.room[link] / around.wanted[link], link
    heap = around.heap[: len(near)]
    for place in range(len(near) // 2 - 1, -1, -1):
        _sink(heap, around.place, around.key, place)
    while missing:
        link = heap[0]
        level = around.key[link]
        current = around.left[link] / around.growing[link] if around.growing[link] > 1e-12 else np.inf
        if current > level + 1e-12 * abs(level):
            around.key[link] = current
        else:
            missing -= _fix(net, link, level)
            around.key[link] = np.inf
        _sink(heap, around.place, around.key, 0)


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


@borrowing
def _fix(net: _Net, link: int, level: float) -> int:
    """Give the chosen rows on a full link their rates: their number."""
    around, count, at = net.around, 0, net.head[link]
    around.level[link] = level
    while at != NONE:
        row = net.row[at]
        if net.chosen[row] and net.bottleneck[row] == NONE:
            net.bottleneck[row], net.rate[row] = link, level
            count += 1
            for i in range(net.start[row], net.start[row + 1]):
                share = net.shares[i] if len(net.shares) > 1 else net.shares[0]
                around.growing[net.links[i]] -= share
                around.left[net.links[i]] -= share * level
                around.highest[net.links[i]] = level
        at = net.after[at]
    return count


@borrowing
def _choose_unfair(net: _Net, some: Longs, chosen: int, near: IntArray, touched: int) -> tuple[int, int]:
    """Choose the rows on links near that have lost their bottleneck there, or send more than those that have it
    there now."""
    around = net.around
    for i in range(touched):  # not those that are found to be near meanwhile: they get no new rates
        link = near[i]
        highest, level = max(around.highest[link], around.others[link]), around.level[link]
        least = highest * (1 - _EQUAL) if around.left[link] <= _EQUAL * net.capacities[link] else np.inf
        most = level + _EQUAL * abs(level)
        if around.lowest[link] >= least and around.others[link] <= most:
            continue
        around.others[link], around.lowest[link] = 0.0, np.inf
        at = net.head[link]
        while at != NONE:
            row = net.row[at]
            at = net.after[at]
            if net.chosen[row]:
                continue
            here = net.bottleneck[row] == link
            if net.rate[row] > most or (here and net.rate[row] < least):
                chosen, touched = _choose(net, row, some, chosen, near, touched)
                continue
            around.others[link] = max(around.others[link], net.rate[row])
            if here:
                around.lowest[link] = min(around.lowest[link], net.rate[row])
    return chosen, touched


@borrowing
def _schedule(net: _Net, some: Longs, flows: _Flows, waiting: int, now: float, subflows: int) -> int:
    """When the flows end whose rows have new rates: the number of flows that send."""
    for row in some:
        flow = row // subflows
        speed = 0.0
        for one in range(flow * subflows, (flow + 1) * subflows):
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
    return waiting
