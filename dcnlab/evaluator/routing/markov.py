"""The packets towards one destination as a Markov chain, solved exactly.

A state is a (node, header) pair; the scheme's ``next_hops`` gives its transitions.  Two states
absorb: ``DELIVERED`` (at the destination) and ``LOST``.  ``next_hops`` is called once per state,
however many sources lead to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from addressing.header import Action, Deliver, Forward, Header
from addressing.jit import compiled, inlined
from addressing.scheme import Scheme
from topos.arrays import Floats
from topos.graph import ALL_UP, NONE, IntArray, LinkState

DELIVERED, LOST = 0, 1
#: Packets still in transit with less than this probability count as lost.
NEGLIGIBLE = 1e-12


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
        return _settling_order(self.start, self.target)

    @cached_property
    def ranked(self) -> tuple[list[int], dict[int, int]]:
        """``order``, and the position of each state there, as Python values."""
        order = self.order.tolist()
        return order, {state: rank for rank, state in enumerate(order)}

    @cached_property
    def values(self) -> tuple[list[int], list[int], list[float], list[int]]:
        """``start``, ``target``, ``weight`` and ``link`` as Python values."""
        return self.start.tolist(), self.target.tolist(), self.weight.tolist(), self.link.tolist()

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

    def all_outcomes(self) -> Floats:
        """``[i, hops]``: as :meth:`outcome`, of the i-th source of ``initial_states``."""
        options = [(i, *option) for i, several in enumerate(self.initial_states.values()) for option in several]
        if not options:
            return np.zeros((len(self.initial_states), 1))
        rows, states, weights = (np.array(column) for column in zip(*options, strict=True))
        if self.settled[states].all():
            return _mixed(rows, states, weights.astype(np.float64), self.outcomes, len(self.initial_states))
        outcomes = [self.outcome(source) for source in self.initial_states]
        width = max(map(len, outcomes))
        return np.array([np.pad(row, (0, width - len(row))) for row in outcomes])

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
    """Numbers the states in the order of discovery, and lists their transitions."""

    scheme: Scheme
    destination: int
    down: Set[int]
    known_down: LinkState
    numbers: dict[tuple[int, Header], int] = field(default_factory=dict)
    pending: list[tuple[int, Header]] = field(default_factory=list)
    #: Per transition; port 0 where the packet is delivered or dropped at the node.
    targets: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    ports: list[int] = field(default_factory=list)

    def number(self, node: int, header: Header) -> int:
        """The number of a state; assigns the next number to a new state."""
        key = node, header
        number = self.numbers.get(key)
        if number is None:
            self.numbers[key] = number = len(self.numbers) + 2
            self.pending.append(key)
        return number

    def add_transitions(self, at: int, header: Header) -> None:
        """List those of the next hops of a state."""
        for action, weight in self.scheme.act(at, header, self.known_down):
            target, port = self._leads_to(at, header, action)
            self.targets.append(target)
            self.weights.append(weight)
            self.ports.append(port)

    def _leads_to(self, at: int, header: Header, action: Action) -> tuple[int, int]:
        """The state that an action leads to, and the port."""
        if not isinstance(action, Forward):
            return (DELIVERED if isinstance(action, Deliver) and at == self.destination else LOST), 0
        fabric, port = self.scheme.fabric, action.port
        end = fabric.peer(at, port)
        if end is None or (self.down and fabric.link_at(at, port) in self.down):
            return LOST, 0
        return self.number(end.node, action.arrival(header, self.scheme.tag_bits, end.number)), port

    def links(self, start: NDArray[np.int64]) -> IntArray:
        """The directed link of each transition, of which those of state s begin at ``start[s]``."""
        nodes = np.array([0, 0, *(node for node, _ in self.pending)], dtype=np.int32).repeat(np.diff(start))
        ports = np.array(self.ports, dtype=np.int32)
        links = self.scheme.fabric.adjacency.start[nodes] + ports - 1
        return np.where(ports == 0, NONE, links).astype(np.int32)


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
    builder = _Builder(scheme, destination, down.down, down if known_down is None else known_down)
    initial_states = {
        source: tuple(
            (builder.number(source, header), weight)
            for header, weight in scheme.headers(source, destination, builder.known_down)
        )
        for source in sources
    }
    begins = [0, 0, 0]
    for node, header in builder.pending:
        builder.add_transitions(node, header)
        begins.append(len(builder.targets))
    start = np.array(begins, dtype=np.int64)
    link = builder.links(start)
    arrival, crosses = np.zeros(len(link), dtype=np.int32), link != NONE
    arrival[crosses] = cost[scheme.fabric.adjacency.peer[link[crosses]]]
    return Chain(
        start,
        np.array(builder.targets, dtype=np.int32),
        np.array(builder.weights, dtype=np.float64),
        link,
        arrival,
        initial_states,
        scheme.hop_bound(),
    )


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
