"""Some paths of each pair with the flow on each, and shifts of flow from dear paths to cheap ones (kernels)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from addressing.jit import compiled, inlined
from dcnlab.evaluator.optimum.problem import Demands, Network
from dcnlab.evaluator.optimum.search import FLOOR
from topos.arrays import Floats, Longs
from topos.graph import IntArray

#: Slots for paths: so many for all pairs together, within these bounds for one pair.
_SLOTS, _FEWEST, _MOST = 6_000_000, 6, 128


@dataclass(eq=False)
class Pool:
    """Path p of pair k is ``arcs[at[k, p] : at[k, p] + length[k, p]]``, from its target backwards.

    It carries ``flow[k, p]``; the flows of a pair add up to its demand as soon as it has a path.  ``mirrored``:
    each pair stands for the one in the other direction too, with the same paths turned round.  Both directions
    of a link then carry the same.  ``number`` has what is kept for each arc: itself, or where pairs are
    mirrored the lower of its link's two.
    """

    demands: Demands
    mirrored: bool
    number: IntArray
    arcs: IntArray
    used: int
    at: Longs
    length: IntArray
    count: IntArray
    flow: Floats

    @classmethod
    def of(cls, network: Network, demands: Demands, least: int = _FEWEST, mirrored: bool = False) -> Pool:
        """No paths yet; as many slots for each pair as memory allows, and ``least``."""
        pairs, number = len(demands), np.arange(len(network.head), dtype=np.int32)
        room = int(np.clip(_SLOTS / pairs, max(_FEWEST, least), _MOST))
        shape = (pairs, room)
        return cls(
            demands, mirrored, np.minimum(number, network.reverse) if mirrored else number,
            np.zeros(1 << 16, np.int32), 0, np.zeros(shape, np.int64), np.zeros(shape, np.int32),
            np.zeros(pairs, np.int32), np.zeros(shape),
        )  # fmt: skip

    def insert(self, begin: int, rows: IntArray, lengths: IntArray) -> None:
        """Add a path to each pair from ``begin`` on, where it is new: ``rows[i, : lengths[i]]``.

        With all slots full, the path of least flow gives way to the new one, which takes its flow.
        """
        need = self.used + int(lengths.sum()) - len(self.arcs)
        if need > 0:
            self.arcs = np.concatenate([self.arcs, np.zeros(max(len(self.arcs) // 2, need), np.int32)])
        self.used = _insert(
            begin, rows, lengths, self.demands.amount, self.number,
            self.arcs, self.used, self.at, self.length, self.count, self.flow,
        )  # fmt: skip

    def copy(self, into: Pool | None = None) -> Pool:
        """The flows as they are now, in the memory of another copy if there is one; arcs of paths are never
        changed, so they are shared."""
        if into is None:
            return Pool(
                self.demands, self.mirrored, self.number, self.arcs, self.used,
                self.at.copy(), self.length.copy(), self.count.copy(), self.flow.copy(),
            )  # fmt: skip
        into.arcs, into.used = self.arcs, self.used
        for mine, other in ((self.at, into.at), (self.length, into.length), (self.flow, into.flow)):
            np.copyto(other, mine)
        np.copyto(into.count, self.count)
        return into

    def loads(self) -> Floats:
        """The load of each arc."""
        loads: Floats = _loads(self.arcs, self.at, self.length, self.count, self.flow, len(self.number))
        return loads[self.number]

    def loads_from(self, network: Network, source: int) -> Floats:
        """The load of each arc by the pairs of one source."""
        demands, loads = self.demands, np.zeros(len(network.head))
        q, end = np.searchsorted(demands.sources, [source, source + 1])
        there = np.arange(demands.first[q], demands.first[end])
        back = np.flatnonzero(demands.target == source) if self.mirrored else there[:0]
        for turned, pairs in enumerate((there, back)):
            _add_loads(
                self.arcs, self.at, self.length, self.count, self.flow, pairs,
                demands.target, network.head, network.reverse, turned == 1, loads,
            )  # fmt: skip
        return loads

    def cheapest(self, prices: Floats) -> Floats:
        """Per pair the price of its cheapest path."""
        cheapest: Floats = _cheapest(self.arcs, self.at, self.length, self.count, prices)
        return cheapest


@compiled
def _insert(
    begin: int, rows: IntArray, lengths: IntArray, amount: Floats, number: IntArray,
    arcs: IntArray, used: int, at: Longs, length: IntArray, count: IntArray, flow: Floats,
) -> int:  # fmt: skip
    for i in range(len(lengths)):
        k, new = begin + i, lengths[i]
        for place in range(new):
            rows[i, place] = number[rows[i, place]]
        if _known(rows[i], new, arcs, at[k], length[k], count[k]):
            continue
        slot = count[k]
        if slot == at.shape[1]:
            slot = np.argmin(flow[k])
        else:
            count[k] += 1
            flow[k, slot] = amount[k] if slot == 0 else 0.0
        at[k, slot], length[k, slot] = used, new
        arcs[used : used + new] = rows[i, :new]
        used += new
    return used


@inlined
def _known(row: IntArray, new: int, arcs: IntArray, at: Longs, length: IntArray, count: int) -> bool:
    """Whether one of the ``count`` paths is ``row[:new]``."""
    for p in range(count):
        i = 0
        while i < new and length[p] == new and arcs[at[p] + i] == row[i]:
            i += 1
        if i == new:
            return True
    return False


@compiled
def _loads(arcs: IntArray, at: Longs, length: IntArray, count: IntArray, flow: Floats, size: int) -> Floats:
    loads = np.zeros(size)
    for k in range(len(count)):
        for p in range(count[k]):
            for i in range(at[k, p], at[k, p] + length[k, p]):
                loads[arcs[i]] += flow[k, p]
    return loads


@compiled
def _add_loads(
    arcs: IntArray, at: Longs, length: IntArray, count: IntArray, flow: Floats, pairs: Longs, target: IntArray,
    head: IntArray, reverse: IntArray, turned: bool, loads: Floats,
) -> None:  # fmt: skip
    """Add the loads of ``pairs`` in the direction of their paths, or ``turned`` round."""
    for k in pairs:
        for p in range(count[k]):
            node = target[k]
            for i in range(at[k, p], at[k, p] + length[k, p]):
                arc = arcs[i] if head[arcs[i]] == node else reverse[arcs[i]]
                node = head[reverse[arc]]
                loads[reverse[arc] if turned else arc] += flow[k, p]


@inlined
def _price(arcs: IntArray, begin: int, end: int, prices: Floats) -> float:
    total = 0.0
    for i in range(begin, end):
        total += prices[arcs[i]]
    return total


@compiled
def _cheapest(arcs: IntArray, at: Longs, length: IntArray, count: IntArray, prices: Floats) -> Floats:
    costs = np.full(len(count), np.inf)
    for k in range(len(count)):
        for p in range(count[k]):
            costs[k] = min(costs[k], _price(arcs, at[k, p], at[k, p] + length[k, p], prices))
    return costs


@compiled
def balance(
    amount: Floats, arcs: IntArray, at: Longs, length: IntArray, count: IntArray, flow: Floats,
    loads: Floats, steep: Floats, prices: Floats, capacity: Floats, slope: float, mark: Longs, token: int,
    equal: float,
) -> tuple[int, float, float]:  # fmt: skip
    """Every pair shifts flow from its dearer paths to its cheapest.

    Paths whose prices differ by a share of less than ``equal`` keep their flow.

    ``steep`` is exp(slope * (load / capacity - largest)), a price (steep + FLOOR) / capacity; they follow at
    once.  ``mark`` is scratch, ``token`` larger than all in it.  Returns (token, cost paid, cost if every pair
    took its cheapest path).
    """
    paid, ideal = 0.0, 0.0
    priced = np.empty(at.shape[1])
    for k in range(len(count)):
        best, least = 0, np.inf
        for p in range(count[k]):
            priced[p] = _price(arcs, at[k, p], at[k, p] + length[k, p], prices)
            paid += flow[k, p] * priced[p]
            if priced[p] < least:
                least, best = priced[p], p
        ideal += least * amount[k]
        to0, to1 = at[k, best], at[k, best] + length[k, best]
        for p in range(count[k]):
            if flow[k, p] <= 0.0 or priced[p] <= least * (1 + equal):
                continue
            token += 1
            from0, from1 = at[k, p], at[k, p] + length[k, p]
            moved = _shift(
                arcs, from0, from1, to0, to1, flow[k, p], steep, prices, capacity, slope, mark, token
            )
            if moved <= 0.0:
                continue
            flow[k, p] -= moved
            flow[k, best] += moved
            _add(arcs, from0, from1, -moved, loads, steep, prices, capacity, slope, mark, token)
            _add(arcs, to0, to1, moved, loads, steep, prices, capacity, slope, mark, token)
    return token, paid, ideal


@inlined
def _shift(
    arcs: IntArray, from0: int, from1: int, to0: int, to1: int, available: float,
    steep: Floats, prices: Floats, capacity: Floats, slope: float, mark: Longs, token: int,
) -> float:  # fmt: skip
    """The flow to shift between two paths; marks arcs on both with ``-token``, on the second only ``token``."""
    dear, cheap, dear_slope, cheap_slope, narrow = 0.0, 0.0, 0.0, 0.0, np.inf
    for i in range(to0, to1):
        mark[arcs[i]] = token
    for i in range(from0, from1):
        arc = arcs[i]
        if mark[arc] == token:
            mark[arc] = -token
        else:
            dear += prices[arc]
            dear_slope += steep[arc] / capacity[arc] ** 2
    for i in range(to0, to1):
        arc = arcs[i]
        if mark[arc] == token:
            cheap += prices[arc]
            cheap_slope += steep[arc] / capacity[arc] ** 2
            narrow = min(narrow, capacity[arc])
    if dear <= cheap * (1 + 1e-12):
        return 0.0
    cheap = max(cheap, 1e-300)
    # Where capacities are equal, a shift by ratio * capacity brings the second price to the first of now.
    ratio = np.log(dear / cheap) / slope
    step = ratio / (dear_slope / dear + cheap_slope / cheap + 1e-300)
    return float(min(available, min(ratio * narrow, step)))


@inlined
def _add(
    arcs: IntArray, begin: int, end: int, moved: float, loads: Floats, steep: Floats, prices: Floats,
    capacity: Floats, slope: float, mark: Longs, token: int,
) -> None:  # fmt: skip
    """Add flow to the arcs that only one of the two paths has.

    Neighbours mostly have the same capacity, and with it the same exponential.
    """
    width, factor = 0.0, 1.0
    for i in range(begin, end):
        arc = arcs[i]
        if mark[arc] != -token:
            if capacity[arc] != width:
                width = capacity[arc]
                factor = np.exp(slope * moved / width)
            loads[arc] += moved
            steep[arc] *= factor
            prices[arc] = (steep[arc] + FLOOR) / width
