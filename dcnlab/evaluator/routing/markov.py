"""The packets towards one destination as a Markov chain, solved exactly.

A state is a (node, header) pair; the scheme's ``next_hops`` gives its transitions.  Two states
absorb: ``DELIVERED`` (at the destination) and ``LOST``.  ``next_hops`` is called once per state,
however many sources lead to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from addressing.header import Deliver, Forward, Header
from addressing.jit import compiled
from addressing.scheme import Scheme
from topos.fabric import Fabric
from topos.graph import ALL_UP, NONE, IntArray, LinkState

DELIVERED, LOST = 0, 1
#: Packets still in transit with less than this probability count as lost.
NEGLIGIBLE = 1e-12

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Chain:
    """Transitions of states 2, 3, ... in compressed rows; states 0 and 1 absorb.

    Transition i of state s (``start[s] <= i < start[s + 1]``) leads to ``target[i]`` with
    probability ``weight[i]`` over the directed link ``link[i]`` (``NONE`` when the packet is
    delivered or dropped at the node), and counts ``cost[i]`` hops.  ``initial_states`` gives
    the states, with probabilities, in which the packets of each source start.  ``bound`` is the
    scheme's hop limit.
    """

    start: NDArray[np.int64]
    target: IntArray
    weight: Floats
    link: IntArray
    cost: IntArray
    initial_states: Mapping[int, tuple[tuple[int, float], ...]]
    bound: int

    @property
    def size(self) -> int:
        """The number of states, including the two absorbing ones."""
        return len(self.start) - 1

    @cached_property
    def order(self) -> IntArray:
        """The states in reverse topological order; states that can reach a cycle are left out."""
        reverse = csr_array(
            (np.ones(len(self.target)), self.target, self.start), shape=(self.size, self.size)
        ).T.tocsr()
        return _settling_order(
            self.start, reverse.indptr.astype(np.int64), reverse.indices.astype(np.int32), reverse.data
        )

    @cached_property
    def outcomes(self) -> Floats:
        """``[state, hops]``: the probability of delivery after exactly that many hops.

        The rows of states in ``order`` are exact; all others are zero (see :meth:`outcome`).
        """
        longest = _longest_path(self.order, self.start, self.target, self.cost)
        return _solve(self.order, self.start, self.target, self.weight, self.cost, longest + 1)

    def outcome(self, source: int) -> Floats:
        """``[hops]``: the probability that a packet from ``source`` is delivered after that many hops."""
        total = np.zeros(1)
        for state, weight in self.initial_states[source]:
            part = self.outcomes[state] if self.settled[state] else self._iterate(state)
            total = _add(total, weight * part)
        return total

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


@dataclass
class _Builder:
    """Numbers the states in the order of discovery."""

    scheme: Scheme
    destination: int
    down: LinkState
    known_down: LinkState
    cost: IntArray
    numbers: dict[tuple[int, Header], int] = field(default_factory=dict)
    pending: list[tuple[int, Header]] = field(default_factory=list)

    def number(self, node: int, header: Header) -> int:
        """The number of a state; assigns the next number to a new state."""
        key = node, header
        if key not in self.numbers:
            self.numbers[key] = len(self.numbers) + 2
            self.pending.append(key)
        return self.numbers[key]

    def transitions(self, at: int, header: Header) -> Iterable[tuple[int, float, int, int]]:
        """(target, weight, link, cost) of each next hop."""
        fabric = self.scheme.fabric
        for action, weight in self.scheme.act(at, header, self.known_down):
            if isinstance(action, Deliver) and at == self.destination:
                yield DELIVERED, weight, NONE, 0
                continue
            end = fabric.peer(at, action.port) if isinstance(action, Forward) else None
            if end is None or not isinstance(action, Forward) or self._down(fabric, at, action.port):
                yield LOST, weight, NONE, 0
                continue
            following = action.arrival(header, self.scheme.tag_bits, end.number)
            link = int(fabric.adjacency.start[at]) + action.port - 1
            yield self.number(end.node, following), weight, link, int(self.cost[end.node])

    def _down(self, fabric: Fabric, at: int, port: int) -> bool:
        return bool(self.down) and fabric.link_at(at, port) in self.down.down


def explore(
    scheme: Scheme,
    destination: int,
    sources: Iterable[int],
    cost: IntArray,
    down: LinkState = ALL_UP,
    known_down: LinkState | None = None,
) -> Chain:
    """Build the chain of the packets from ``sources`` to ``destination``.

    ``cost[v]`` is the number of hops that an arrival at v counts.  ``down`` are the failed links,
    ``known_down`` those that the nodes know of (default: all).
    """
    builder = _Builder(scheme, destination, down, down if known_down is None else known_down, cost)
    initial_states = {
        source: tuple(
            (builder.number(source, header), weight)
            for header, weight in scheme.headers(source, destination, builder.known_down)
        )
        for source in sources
    }
    rows: list[tuple[int, float, int, int]] = []
    start = [0, 0, 0]
    for node, header in builder.pending:
        rows.extend(builder.transitions(node, header))
        start.append(len(rows))
    target, weight, link, arrival = zip(*rows, strict=True) if rows else ((), (), (), ())
    return Chain(
        np.array(start, dtype=np.int64),
        np.array(target, dtype=np.int32),
        np.array(weight, dtype=np.float64),
        np.array(link, dtype=np.int32),
        np.array(arrival, dtype=np.int32),
        initial_states,
        scheme.hop_bound(),
    )


@compiled
def _settling_order(
    start: NDArray[np.int64], back: NDArray[np.int64], sources: IntArray, multiplicity: Floats
) -> IntArray:
    """The states whose transitions all lead to states earlier in the result."""
    size = len(start) - 1
    left = start[1:] - start[:-1]
    order = np.empty(size, np.int32)
    order[0], order[1] = 0, 1
    head, tail = 0, 2
    while head < tail:
        at = order[head]
        head += 1
        for i in range(back[at], back[at + 1]):
            state = sources[i]
            left[state] -= int(multiplicity[i])
            if left[state] == 0:
                order[tail] = state
                tail += 1
    return order[:tail]


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
