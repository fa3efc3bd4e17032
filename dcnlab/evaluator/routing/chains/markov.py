"""The packets towards one destination as a Markov chain, solved exactly.

A state is a (node, header) pair; the scheme's ``next_hops`` gives its transitions.  Two states
absorb: ``DELIVERED`` (at the destination) and ``LOST``.  :mod:`.exploring` finds the states.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from addressing.jit import compiled, inlined
from topos.arrays import Floats, Longs, Mask
from topos.graph import NONE, IntArray

DELIVERED, LOST = 0, 1
#: Packets still in transit with less than this probability count as lost.
NEGLIGIBLE = 1e-12


class Beginnings(NamedTuple):
    """Where packets start: those of ``sources[rows[i]]`` in ``states[i]`` with probability ``weights[i]``.

    ``rows`` ascend; a source that knows no path has none.
    """

    sources: Longs
    rows: Longs
    states: Longs
    weights: Floats

    @property
    def first(self) -> Longs:
        """Per source the place of its first state, and what follows the last one."""
        return np.searchsorted(self.rows, np.arange(len(self.sources) + 1))


@dataclass(frozen=True)
class Chain:
    """Transitions of states 2, 3, ... in compressed rows; states 0 and 1 absorb.

    Transition i of state s (``start[s] <= i < start[s + 1]``) leads to ``target[i]`` with
    probability ``weight[i]`` over the directed link ``link[i]`` (``NONE`` when the packet is
    delivered or dropped at the node), and counts ``cost[i]`` hops.  ``beginnings`` are the states in which
    the packets of each source start.  ``bound`` is the scheme's hop limit.
    """

    start: NDArray[np.int64]
    target: IntArray
    weight: Floats
    link: IntArray
    cost: IntArray
    beginnings: Beginnings
    bound: int

    @property
    def size(self) -> int:
        """The number of states, including the two absorbing ones."""
        return len(self.start) - 1

    @cached_property
    def order(self) -> IntArray:
        """The states in reverse topological order; states that can reach a cycle are left out."""
        return _settling_order(self.start, self.target)

    @cached_property
    def outcomes(self) -> Floats:
        """``[state, hops]``: the probability of delivery after exactly that many hops.

        The rows of states in ``order`` are exact; all others are zero (see :meth:`outcome`).
        """
        longest = _longest_path(self.order, self.start, self.target, self.cost)
        return _solve(self.order, self.start, self.target, self.weight, self.cost, longest + 1)

    def outcome(self, source: int) -> Floats:
        """``[hops]``: the probability that a packet from ``source`` is delivered after that many hops."""
        (row,) = np.flatnonzero(self.beginnings.sources == source).tolist()
        return self._outcome(row)

    def all_outcomes(self) -> Floats:
        """``[i, hops]``: as :meth:`outcome`, of the i-th source."""
        sources, rows, states, weights = self.beginnings
        if not len(rows):
            return np.zeros((len(sources), 1))
        if self.settled[states].all():
            return _mixed(rows, states, weights, self.outcomes, len(sources))
        outcomes = [self._outcome(row) for row in range(len(sources))]
        width = max(map(len, outcomes))
        return np.array([np.pad(row, (0, width - len(row))) for row in outcomes])

    def _outcome(self, row: int) -> Floats:
        total, first = np.zeros(1), self.beginnings.first[row : row + 2]
        for i in range(*first.tolist()):
            state = int(self.beginnings.states[i])
            part = self.outcomes[state] if self.settled[state] else self._iterate(state)
            total = _add(total, self.beginnings.weights[i] * part)
        return total

    def loads(self, link_count: int) -> tuple[Floats, int]:
        """The expected packets per directed link when each source sends one, without those of sources whose
        packets may be lost; and the number of the other sources."""
        certain = self._certain
        _, rows, states, weights = self.beginnings
        sent = certain[rows]
        mass = np.bincount(states[sent], weights[sent], minlength=self.size).astype(np.float64)
        loads = np.zeros(link_count)
        _carry(loads, mass, self.order, self.start, self.target, self.weight, self.link)
        return loads, int(certain.sum())

    def crossings(self) -> tuple[Longs, IntArray, Floats]:
        """(number of links per source, links, shares): the directed links that a packet of each source crosses,
        and how often in expectation; none where it may be lost."""
        sources, _, states, weights = self.beginnings
        counts, first = np.zeros(len(sources), np.int64), self.beginnings.first
        links: list[IntArray] = []
        shares: list[Floats] = []
        for source in np.flatnonzero(self._certain).tolist():
            chosen = slice(*first[source : source + 2].tolist())
            mass = np.bincount(states[chosen], weights[chosen], minlength=self.size).astype(np.float64)
            crossed = _crossed(mass, self.order, self.start, self.target, self.weight, self.link)
            counts[source] = len(crossed[0])
            links.append(crossed[0])
            shares.append(crossed[1])
        whole = np.concatenate(links) if links else np.zeros(0, np.int32)
        return counts, whole, np.concatenate(shares) if shares else np.zeros(0)

    def agrees(self, other: Chain, link_count: int) -> bool:
        """Whether packets fare the same by another chain of the same sources: hops, loads, and arrivals."""
        mine, its = self.all_outcomes(), other.all_outcomes()
        width = max(mine.shape[1], its.shape[1])
        mine, its = (np.pad(one, ((0, 0), (0, width - one.shape[1]))) for one in (mine, its))
        (loads, arrived), (its_loads, its_arrived) = self.loads(link_count), other.loads(link_count)
        return arrived == its_arrived and np.allclose(mine, its) and np.allclose(loads, its_loads)

    @cached_property
    def _certain(self) -> Mask:
        """Mask of the sources whose packets all arrive."""
        safe = _never_lost(self.order, self.start, self.target)
        sources, rows, states, _ = self.beginnings
        known: Mask = np.bincount(rows, minlength=len(sources)) > 0
        known[rows[~safe[states]]] = False
        return known

    @cached_property
    def settled(self) -> NDArray[np.bool_]:
        """Mask of the states in ``order``: those that cannot reach a cycle."""
        settled = np.zeros(self.size, dtype=np.bool_)
        settled[self.order] = True
        return settled

    @cached_property
    def _can_deliver(self) -> frozenset[int]:
        """The states from which delivery is possible."""
        ones = np.ones(len(self.target))
        reverse = csr_array((ones, self.target, self.start), shape=(self.size, self.size)).T.tocsr()
        reached = breadth_first_order(reverse, DELIVERED, return_predecessors=False)
        return frozenset(reached.tolist())

    def _iterate(self, state: int) -> Floats:
        """Follow the packet step by step, through cycles, up to the scheme's hop limit."""
        total, moving = np.zeros(1), {(state, 0): 1.0}
        for _ in range(self.bound + 1):
            following: dict[tuple[int, int], float] = {}
            for (at, hops), mass in moving.items():
                if self.settled[at]:
                    total = _add(total, mass * np.concatenate([np.zeros(hops), self.outcomes[at]]))
                    continue
                for i in range(self.start[at], self.start[at + 1]):
                    key = int(self.target[i]), hops + int(self.cost[i])
                    if key[0] in self._can_deliver:
                        following[key] = following.get(key, 0.0) + mass * float(self.weight[i])
            moving = following
            if sum(moving.values()) < NEGLIGIBLE:
                break
        return total


def _add(a: Floats, b: Floats) -> Floats:
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    longer = longer.copy()
    longer[: len(shorter)] += shorter
    return longer


@compiled
def _settling_order(start: NDArray[np.int64], target: IntArray) -> IntArray:
    """The states whose transitions all lead to states earlier in the result."""
    size = len(start) - 1
    back, sources = _reversed(start, target)
    left = start[1:] - start[:-1]
    order = np.empty(size, np.int32)
    order[0], order[1] = 0, 1
    head, tail = 0, 2
    while head < tail:
        at = order[head]
        head += 1
        for i in range(back[at], back[at + 1]):
            state = sources[i]
            left[state] -= 1
            if left[state] == 0:
                order[tail] = state
                tail += 1
    return order[:tail]


@inlined
def _reversed(start: NDArray[np.int64], target: IntArray) -> tuple[NDArray[np.int64], IntArray]:
    """The transitions by target: those into state s come from ``sources[back[s]:back[s + 1]]``."""
    back = np.zeros(len(start), np.int64)
    for state in target:
        back[state + 1] += 1
    back = np.cumsum(back)
    free, sources = back[:-1].copy(), np.empty(len(target), np.int32)
    for source in range(len(start) - 1):
        for i in range(start[source], start[source + 1]):
            sources[free[target[i]]] = source
            free[target[i]] += 1
    return back, sources


@compiled
def _mixed(
    rows: NDArray[np.int64], states: NDArray[np.int64], weights: Floats, outcomes: Floats, count: int
) -> Floats:
    """Per row the sum of the outcomes of its states, by weight."""
    result = np.zeros((count, outcomes.shape[1]))
    for i in range(len(rows)):
        for hops in range(outcomes.shape[1]):
            result[rows[i], hops] += weights[i] * outcomes[states[i], hops]
    return result


@compiled
def _longest_path(order: IntArray, start: NDArray[np.int64], target: IntArray, cost: IntArray) -> int:
    length = np.zeros(len(start) - 1, np.int64)
    for state in order:
        for i in range(start[state], start[state + 1]):
            length[state] = max(length[state], length[target[i]] + cost[i])
    return int(length.max())


@compiled
def _solve(
    order: IntArray, start: NDArray[np.int64], target: IntArray, weight: Floats, cost: IntArray, width: int
) -> Floats:
    result = np.zeros((len(start) - 1, width))
    result[0, 0] = 1.0
    for state in order:
        for i in range(start[state], start[state + 1]):
            for hops in range(width - cost[i]):
                result[state, hops + cost[i]] += weight[i] * result[target[i], hops]
    return result


@compiled
def _never_lost(order: IntArray, start: NDArray[np.int64], target: IntArray) -> Mask:
    """Mask of the states from which every packet is delivered."""
    safe = np.zeros(len(start) - 1, np.bool_)
    safe[DELIVERED] = True
    for state in order:
        if start[state] < start[state + 1]:
            safe[state] = True
            for i in range(start[state], start[state + 1]):
                safe[state] = safe[state] and safe[target[i]]
    return safe


@compiled
def _carry(
    loads: Floats,
    mass: Floats,
    order: IntArray,
    start: NDArray[np.int64],
    target: IntArray,
    weight: Floats,
    link: IntArray,
) -> None:
    """Add to ``loads`` what packets of ``mass`` by state bring to each link."""
    for state in order[::-1]:
        if mass[state] > 0:
            for i in range(start[state], start[state + 1]):
                mass[target[i]] += mass[state] * weight[i]
                if link[i] != NONE:
                    loads[link[i]] += mass[state] * weight[i]


@compiled
def _crossed(
    mass: Floats, order: IntArray, start: NDArray[np.int64], target: IntArray, weight: Floats, link: IntArray
) -> tuple[IntArray, Floats]:
    """The links that packets of ``mass`` by state cross, and how often: each link once, in order of travel."""
    crossed, shares = [np.int32(0) for _ in range(0)], [0.0 for _ in range(0)]
    for state in order[::-1]:
        if mass[state] > 0:
            for i in range(start[state], start[state + 1]):
                sent = mass[state] * weight[i]
                mass[target[i]] += sent
                if link[i] == NONE:
                    continue
                place = 0
                while place < len(crossed) and crossed[place] != link[i]:
                    place += 1
                if place < len(crossed):
                    shares[place] += sent
                else:
                    crossed.append(link[i])
                    shares.append(sent)
    return np.array(crossed, dtype=np.int32), np.array(shares, dtype=np.float64)
