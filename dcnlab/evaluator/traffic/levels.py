"""Levels: the max-min fair rates of rows on the links that they share, computed again where they change.

A rate is max-min fair if the flow crosses a full link on which no other has a higher rate, its *bottleneck*
(Bertsekas and Gallager, Data Networks, 6.5.2).  The flows with their bottleneck on a link have one rate, the
link's *level*: what the others leave of it, by their number.  When flows begin or end, the levels of their
links are computed again, then those of all links whose flows have got other rates, the lowest level first.  A
flow gets another bottleneck where its own has risen above the level of another link, or another has fallen
below it.  Where no level changes any more each flow has a bottleneck, so the rates are those of a computation
of all flows.

Rows are flows, or the subflows of flows.  Only those that send are here: when one has ended another gets its
number.  So what is read together lies close together, however many there are in all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from addressing.jit import borrowing, compiled, inlined
from topos.arrays import Floats, Longs, Mask
from topos.graph import NONE, IntArray

#: Levels that differ by less than this share are equal, and do not change.
_EQUAL, _SAME = 1e-10, 1e-13
#: After so many steps per link all levels are computed afresh, if rounding keeps them from settling.
STEPS = 100
#: Links wait by the exponent and the first bits of their level.
_SHIFT, WAITING = 47, 1 << 16


class Paths(NamedTuple):
    """All rows: row r crosses ``links[start[r]:start[r + 1]]`` with ``shares`` of its flow on each; a single
    share holds for all links."""

    start: Longs
    links: IntArray
    shares: Floats


class Net(NamedTuple):
    """Per row that sends and per link, what is known.

    The crossings of a row are ``row << shift`` and following, ``length[row]`` of them; crossing i is of link
    ``links[i]``.  ``origin[row]`` is the place of its first one in ``paths``.

    Crossings of a link are ``slots[base[link]]`` and following: first those of the ``few`` rows with their
    bottleneck there, then those of others, ``many`` in all; ``place[i]`` is the slot of a crossing.  ``left``
    is what the others leave of the link, ``growing`` the sum of the shares of the first.  None of the others
    sends more than ``most``.  ``bottleneck`` is a crossing of the row; NONE while it does not send.
    """

    paths: Paths
    shift: int
    links: IntArray
    length: IntArray
    origin: Longs
    capacities: Floats
    base: Longs
    slots: IntArray
    place: IntArray
    few: IntArray
    many: IntArray
    left: Floats
    growing: Floats
    level: Floats
    most: Floats
    bottleneck: IntArray
    rate: Floats


class Queue(NamedTuple):
    """Links whose levels may change, by level: ``head`` of each list, ``after`` a link.  ``changed`` are links
    whose rows have new rates; ``counts`` the lowest list with a link, and the number of these."""

    waits: Mask
    head: IntArray
    after: IntArray
    key: Floats
    bits: Longs
    marked: Mask
    changed: IntArray
    counts: Longs


@compiled
def once(start: Longs, links: IntArray, shares: Floats) -> Paths:
    """Paths, with one for all where a row crosses a link several times."""
    first, kept, sums = np.zeros_like(start), np.empty_like(links), np.empty(len(links))
    known, count = np.full(max(links) + 1, NONE), 0
    for row in range(len(start) - 1):
        for i in range(start[row], start[row + 1]):
            same = known[links[i]]
            if same < first[row]:
                same = count
                known[links[i]], kept[same], sums[same] = same, links[i], 0.0
                count += 1
            sums[same] += shares[i] if len(shares) > 1 else shares[0]
        first[row + 1] = count
    if len(shares) == 1 and count == len(links):
        return Paths(first, kept, shares)
    return Paths(first, kept[:count].copy(), sums[:count].copy())


@inlined
def _share(net: Any, i: Any) -> Any:
    shares, row = net.paths.shares, i >> net.shift
    return shares[net.origin[row] + i - (row << net.shift)] if len(shares) > 1 else shares[0]


@inlined
def _swap(net: Any, one: Any, other: Any) -> Any:
    """Swap the crossings of two slots."""
    first, second = net.slots[one], net.slots[other]
    net.slots[one], net.slots[other] = second, first
    net.place[second], net.place[first] = one, other


@inlined
def _limit(net: Any, link: Any, i: Any) -> Any:
    """A crossing of a link is that of a row with its bottleneck there, from now on."""
    _swap(net, net.place[i], net.base[link] + net.few[link])
    net.few[link] += 1
    net.growing[link] += _share(net, i)


@inlined
def _release(net: Any, link: Any, i: Any) -> Any:
    """The row of a crossing does not have its bottleneck on the link any more."""
    net.few[link] -= 1
    _swap(net, net.place[i], net.base[link] + net.few[link])
    net.growing[link] -= _share(net, i)
    if net.few[link] == 0:
        net.growing[link], net.level[link], net.most[link] = 0.0, np.inf, np.inf


@inlined
def _wait(queue: Any, link: Any, level: Any) -> Any:
    """The level of a link may have changed: it waits in a list."""
    if not queue.waits[link]:
        queue.waits[link] = True
        queue.key[0] = level
        number = queue.bits[0] >> _SHIFT
        queue.after[link] = queue.head[number]
        queue.head[number] = link
        queue.counts[0] = min(queue.counts[0], number)
        queue.counts[1] += 1


@inlined
def _mark(queue: Any, link: Any) -> Any:
    """Rows with their bottleneck on the link have new rates."""
    if not queue.marked[link]:
        queue.marked[link] = True
        queue.changed[queue.counts[2]] = link
        queue.counts[2] += 1


@borrowing
def attach(net: Net, queue: Queue, row: int, which: int) -> None:
    """Add a row, ``which`` of all, with the rate that its links leave it at present."""
    net.origin[row] = net.paths.start[which]
    net.length[row] = net.paths.start[which + 1] - net.paths.start[which]
    for at in range(net.length[row]):
        net.links[(row << net.shift) + at] = net.paths.links[net.origin[row] + at]
    best, rate = NONE, np.inf
    for i in range(row << net.shift, (row << net.shift) + net.length[row]):
        link = net.links[i]
        slot = net.base[link] + net.many[link]
        net.slots[slot], net.place[i] = i, slot
        net.many[link] += 1
        free = net.level[link] if net.few[link] else max(0.0, net.left[link]) / _share(net, i)
        if best == NONE or free < rate:
            best, rate = i, free
    if best == NONE:
        return
    for i in range(row << net.shift, (row << net.shift) + net.length[row]):
        link = net.links[i]
        if i == best:
            _limit(net, link, i)
            net.level[link] = rate
            _mark(queue, link)
        else:
            net.left[link] -= _share(net, i) * rate
        net.most[link] = max(net.most[link], rate)
        _wait(queue, link, rate)
    net.bottleneck[row], net.rate[row] = best, rate


@borrowing
def detach(net: Net, queue: Queue, row: int) -> None:
    """Take out a row; what others leave of its links is summed again, so that rounding does not add up."""
    best = net.bottleneck[row]
    if best == NONE:
        return
    for i in range(row << net.shift, (row << net.shift) + net.length[row]):
        link = net.links[i]
        if i == best:
            _release(net, link, i)
        net.many[link] -= 1
        _swap(net, net.place[i], net.base[link] + net.many[link])
        left = net.capacities[link]
        for slot in range(net.base[link] + net.few[link], net.base[link] + net.many[link]):
            left -= _share(net, net.slots[slot]) * net.rate[net.slots[slot] >> net.shift]
        net.left[link] = left
        if net.few[link]:
            _wait(queue, link, net.level[link])
    net.bottleneck[row] = NONE


@borrowing
def settle(net: Net, queue: Queue, most: int) -> None:
    """Compute levels until none changes any more; after ``most`` steps all levels, from none."""
    counts = queue.counts
    while counts[1]:
        if most == 0:
            _forget(queue)
            _fill(net, queue)
            break
        most -= 1
        number = counts[0]
        while queue.head[number] == NONE:
            number += 1
        counts[0] = number
        link = queue.head[number]
        queue.head[number] = queue.after[link]
        queue.waits[link] = False
        counts[1] -= 1
        _adopt(net, queue, link)
        if net.few[link]:
            queue.key[0] = net.left[link] / net.growing[link]
            if queue.bits[0] >> _SHIFT > number:  # lower levels first: they may change this one again
                _wait(queue, link, queue.key[0])
                continue
        _raise(net, queue, link)
    counts[0] = WAITING


@borrowing
def _forget(queue: Queue) -> None:
    """No link waits any more."""
    for number in range(WAITING):
        while queue.head[number] != NONE:
            queue.waits[queue.head[number]] = False
            queue.head[number] = queue.after[queue.head[number]]
    queue.counts[1] = 0


@borrowing
def _fill(net: Net, queue: Queue) -> None:
    """Compute all levels: that of the link with the least fixes its rows, then that of the next."""
    for link in range(len(net.capacities)):
        net.few[link], net.left[link] = 0, net.capacities[link]
        net.growing[link], net.level[link], net.most[link] = 0.0, np.inf, np.inf
        for slot in range(net.base[link], net.base[link] + net.many[link]):
            net.bottleneck[net.slots[slot] >> net.shift] = NONE
    least = 0.0
    while True:
        link = _next(net, least)
        if link == NONE:
            break
        least = net.level[link]
        _mark(queue, link)
        for slot in range(net.base[link], net.base[link] + net.many[link]):
            i = net.slots[slot]
            row = i >> net.shift
            if net.bottleneck[row] != NONE:
                continue
            _limit(net, link, i)
            net.bottleneck[row], net.rate[row] = i, least
            for other in range(row << net.shift, (row << net.shift) + net.length[row]):
                if other != i:
                    net.left[net.links[other]] -= _share(net, other) * least


@borrowing
def _next(net: Net, least: float) -> int:
    """The link with the lowest level of those that have rows without a rate, at ``least`` that of the link
    before; NONE if none has."""
    best, lowest = NONE, np.inf
    for link in range(len(net.capacities)):
        waiting = 0.0
        for slot in range(net.base[link], net.base[link] + net.many[link]):
            if net.bottleneck[net.slots[slot] >> net.shift] == NONE:
                waiting += _share(net, net.slots[slot])
        if waiting and net.left[link] / waiting < lowest:
            best, lowest = link, net.left[link] / waiting
    if best != NONE:
        net.level[best] = max(least, lowest)
    return best


@borrowing
def _adopt(net: Net, queue: Queue, link: int) -> None:
    """Give a link the rows of others that send more than its level."""
    base = net.base[link]
    while True:
        if net.few[link]:
            rate = net.left[link] / net.growing[link] * (1 + _EQUAL)
        elif net.left[link] < -_EQUAL * net.capacities[link]:
            rate = -1.0
        else:
            return
        if net.most[link] <= rate:
            return
        fastest, most = NONE, -1.0
        for slot in range(base + net.few[link], base + net.many[link]):
            its = net.rate[net.slots[slot] >> net.shift]
            if its > most:
                fastest, most = net.slots[slot], its
        net.most[link] = most
        if most <= rate:
            return
        if net.few[link] == 0:
            net.level[link] = most
        _switch(net, queue, fastest, link)


@borrowing
def _switch(net: Net, queue: Queue, at: int, now: int) -> None:
    """The row of a crossing gets its bottleneck there, and the rate of its link; ``now`` need not wait."""
    row = at >> net.shift
    old = net.bottleneck[row]
    before, after = net.level[net.links[old]], net.level[net.links[at]]
    for i in range(row << net.shift, (row << net.shift) + net.length[row]):
        link, share = net.links[i], _share(net, i)
        if i == old:
            _release(net, link, i)
            net.left[link] -= share * after
        elif i == at:
            _limit(net, link, i)
            net.left[link] += share * before
        else:
            net.left[link] -= share * (after - before)
        net.most[link] = max(net.most[link], after)
        if link != now and (net.few[link] or net.left[link] < 0):
            _wait(queue, link, min(net.level[link], after))
    net.bottleneck[row], net.rate[row] = at, after
    _mark(queue, net.links[at])


@borrowing
def _raise(net: Net, queue: Queue, link: int) -> None:
    """Set the level of a link, and the rates of the rows with their bottleneck there."""
    if net.few[link] == 0:
        return
    level = net.left[link] / net.growing[link]
    change = level - net.level[link]
    if abs(change) <= _SAME * abs(level):
        return
    net.level[link] = level
    _mark(queue, link)
    for slot in range(net.base[link], net.base[link] + net.few[link]):
        i = net.slots[slot]
        row = i >> net.shift
        net.rate[row] = level
        for other in range(row << net.shift, (row << net.shift) + net.length[row]):
            if other != i:
                there = net.links[other]
                its, left = net.level[there], net.left[there] - _share(net, other) * change
                net.left[there] = left
                if its < np.inf or left < 0:
                    net.most[there] = max(net.most[there], level)
                    if not queue.waits[there]:
                        _wait(queue, there, max(left, 0.0) / net.growing[there] if its < np.inf else level)
