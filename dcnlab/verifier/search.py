"""Every state that packets can be in, and what can become of them: loops, losses, arrivals.

A *state* is any hashable value that says where a packet is and how it looks.  What happens to it is a *step*:
a tuple of alternatives of which one is taken, each a tuple of copies.  A copy is a further state or an
:class:`Ending`.  The answers are exact for the steps: every state that a start can reach is visited once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

State = TypeVar("State", bound=Hashable)


class Kind(StrEnum):
    """How a copy of a packet can end."""

    arrives = "arrives"
    lost = "lost"
    #: It goes to the controller, which decides.
    asks = "asks"
    #: The check does not know what happens.
    unknown = "unknown"


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a copy: the kind, the node where it ends, and why."""

    kind: Kind
    node: int
    reason: str = ""


Step = tuple[tuple[State | Ending, ...], ...]

#: What can become of a packet, as bits: it goes round for ever, is lost, asks the controller, or is not known.
LOOPS, LOST, ASKS, UNKNOWN = 1, 2, 4, 8
_FLAG = {Kind.lost: LOST, Kind.asks: ASKS, Kind.unknown: UNKNOWN, Kind.arrives: 0}


class Graph(Generic[State]):
    """All states that some starts can reach.  Numbers of states are indices of ``states``."""

    def __init__(self, step: Callable[[State], Step[State]]) -> None:
        self._step = step
        self._number: dict[State, int] = {}
        self._ending: dict[Ending, int] = {}
        self.states: list[State] = []
        self.endings: list[Ending] = []
        #: Of each state its alternatives; a copy is the number of a state, or ``~n`` for ending n.
        self.steps: list[tuple[tuple[int, ...], ...]] = []

    def add(self, starts: Iterable[State]) -> list[int]:
        """Visit what the starts can reach; their numbers."""
        found = [self._state(start) for start in starts]
        while len(self.steps) < len(self.states):
            alternatives = self._step(self.states[len(self.steps)])
            self.steps.append(tuple(tuple(map(self._copy, copies)) for copies in dict.fromkeys(alternatives)))
        return found

    def _state(self, state: State) -> int:
        number = self._number.setdefault(state, len(self.states))
        if number == len(self.states):
            self.states.append(state)
        return number

    def _copy(self, copy: State | Ending) -> int:
        if not isinstance(copy, Ending):
            return self._state(copy)
        number = self._ending.setdefault(copy, len(self.endings))
        if number == len(self.endings):
            self.endings.append(copy)
        return ~number

    def solve(self) -> Solution[State]:
        """What can become of a packet in each state."""
        return Solution(self)


class Solution(Generic[State]):
    """What can become of packets in the states of a graph.

    ``flags[state]`` has the bits LOOPS, LOST, ASKS and UNKNOWN.  LOST means that no copy arrives, in some
    choice of alternatives; the others that some copy comes to that.
    """

    def __init__(self, graph: Graph[State]) -> None:
        self.graph = graph
        self._before = _predecessors(graph)
        #: The states that a packet can come back to.
        self.cyclic = _cyclic(graph)
        self.flags = bytearray(len(graph.states))
        self._hosts: dict[int, set[int]] = {}
        self._spread_any()
        self._spread_lost()
        self._spread_arrivals()

    def arrivals(self, state: int) -> frozenset[int]:
        """The nodes at which a copy can arrive."""
        return frozenset(self._hosts.get(state, ()))

    def path(
        self, start: int, goal: Callable[[Ending], bool], along: int = 0
    ) -> tuple[list[int], Ending | None]:
        """A shortest path from a state to an ending with ``goal``, through states with the flags ``along``."""
        for path, copies in self._paths(start, along):
            for copy in copies:
                if copy < 0 and goal(self.graph.endings[~copy]):
                    return path, self.graph.endings[~copy]
            if not copies and along == LOST:
                return path, None
        return [start], None

    def loop(self, start: int) -> list[int]:
        """A path from a state into a circle and once round: the last state is an earlier one."""
        entry = next(path for path, _ in self._paths(start, LOOPS) if path[-1] in self.cyclic)
        for path, copies in self._paths(entry[-1], LOOPS):
            if entry[-1] in copies:
                return [*entry, *path[1:], entry[-1]]
        return entry

    def _paths(self, start: int, along: int) -> Iterator[tuple[list[int], tuple[int, ...]]]:
        """Shortest paths from a state, and the copies of the last state's step."""
        parent, pending = {start: -1}, deque([start])
        while pending:
            here = pending.popleft()
            copies = tuple(copy for alternative in self.graph.steps[here] for copy in alternative)
            path = [here]
            while parent[path[-1]] >= 0:
                path.append(parent[path[-1]])
            yield path[::-1], copies
            for copy in copies:
                if copy >= 0 and copy not in parent and self.flags[copy] & along == along:
                    parent[copy] = here
                    pending.append(copy)

    def _spread_any(self) -> None:
        """Set the flags that a state has as soon as some copy comes to that."""
        pending = [(state, LOOPS) for state in self.cyclic]
        for state, alternatives in enumerate(self.graph.steps):
            flags = 0
            for copies in alternatives:
                for copy in copies:
                    if copy < 0:
                        flags |= _FLAG[self.graph.endings[~copy].kind] & ~LOST
            if flags:
                pending.append((state, flags))
        while pending:
            state, flags = pending.pop()
            if new := flags & ~self.flags[state]:
                self.flags[state] |= new
                pending += [(before, new) for before in self._before[state]]

    def _spread_lost(self) -> None:
        """Set LOST where all copies of an alternative can be lost; a copy that loops is not lost as well."""
        lost = [self._is_lost(state) for state in range(len(self.flags))]
        pending = [state for state, one in enumerate(lost) if one]
        for state in pending:
            self.flags[state] |= LOST
        while pending:
            for before in self._before[pending.pop()]:
                if not self.flags[before] & LOST and self._is_lost(before):
                    self.flags[before] |= LOST
                    pending.append(before)

    def _is_lost(self, state: int) -> bool:
        return any(all(map(self._copy_is_lost, copies)) for copies in self.graph.steps[state])

    def _copy_is_lost(self, copy: int) -> bool:
        if copy < 0:
            return self.graph.endings[~copy].kind is Kind.lost
        return bool(self.flags[copy] & LOST)

    def _spread_arrivals(self) -> None:
        pending: list[tuple[int, int]] = []
        for state, alternatives in enumerate(self.graph.steps):
            ends = (self.graph.endings[~copy] for copies in alternatives for copy in copies if copy < 0)
            pending += [(state, end.node) for end in ends if end.kind is Kind.arrives]
        while pending:
            state, host = pending.pop()
            hosts = self._hosts.setdefault(state, set())
            if host not in hosts:
                hosts.add(host)
                pending += [(before, host) for before in self._before[state]]


def _edges(graph: Graph[State]) -> Iterator[tuple[int, int]]:
    for state, alternatives in enumerate(graph.steps):
        for copies in alternatives:
            for copy in copies:
                if copy >= 0:
                    yield state, copy


def _predecessors(graph: Graph[State]) -> list[list[int]]:
    before: list[list[int]] = [[] for _ in graph.states]
    for state, copy in _edges(graph):
        before[copy].append(state)
    return before


def _cyclic(graph: Graph[State]) -> frozenset[int]:
    """The states that a packet can come back to."""
    edges = np.array(list(_edges(graph)), dtype=np.int64).reshape(-1, 2)
    if not len(edges):
        return frozenset()
    size = len(graph.states)
    matrix = coo_array((np.ones(len(edges), np.int8), (edges[:, 0], edges[:, 1])), shape=(size, size))
    _, component = connected_components(matrix.tocsr(), directed=True, connection="strong")
    inside = component[edges[:, 0]] == component[edges[:, 1]]
    return frozenset(edges[inside].ravel().tolist())
