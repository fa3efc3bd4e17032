"""Every state that packets can be in, and what can become of them: loops, losses, arrivals.

A *state* is any hashable value that says where a packet is and how it looks.  What happens to it is a *step*:
a tuple of alternatives of which one is taken, each a tuple of copies.  A copy is a further state or an
:class:`Ending`.  The answers are exact for the steps: every state that a start can reach is visited once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
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
_NOWHERE: frozenset[int] = frozenset()
#: One set for each node, not one for each state that only leads there.
_SAME: dict[int, frozenset[int]] = {}
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
        states = [self._state(start) for start in starts]
        while len(self.steps) < len(self.states):
            self.steps.append(self._numbered(self._step(self.states[len(self.steps)])))
        return states

    def again(self, number: int) -> bool:
        """Ask once more what happens in a state; whether it is something else than before."""
        alternatives = self._numbered(self._step(self.states[number]))
        changed = alternatives != self.steps[number]
        self.steps[number] = alternatives
        return changed

    def _numbered(self, alternatives: Step[State]) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(map(self._copy, copies)) for copies in dict.fromkeys(alternatives))

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
        self._before: list[list[int]] = []
        #: The states that a packet can come back to.
        self.cyclic: set[int] = set()
        self.flags = bytearray()
        self._hosts: list[frozenset[int]] = []
        #: Edges that were added and not yet noted.
        self._added: list[tuple[int, int]] = []
        self._settle(self._enlarge())

    def arrivals(self, state: int) -> frozenset[int]:
        """The nodes at which a copy can arrive."""
        return self._hosts[state]

    def change(self, states: Iterable[int]) -> bool:
        """Take over that something else may happen in some states now.  False if it makes no difference.

        Only states are computed again whose outcome may have changed.
        """
        changed = []
        for state in states:
            before = set(self._after(state))
            if self.graph.again(state):
                changed.append(state)
                after = set(self._after(state))
                for copy in before - after:
                    self._before[copy].remove(state)
                self._added += [(state, copy) for copy in after - before]
        if not changed:
            return False
        self.graph.add(())
        fresh = self._enlarge()
        for state, copy in self._added:
            self._before[copy].append(state)
        self._added.clear()
        other = self._without_circles([*changed, *fresh])
        if other is None:
            self._settle(self._leading_to([*changed, *fresh]))
        return other is not False

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

    def _after(self, state: int) -> Iterator[int]:
        return (copy for copies in self.graph.steps[state] for copy in copies if copy >= 0)

    def _enlarge(self) -> range:
        """Make room for the states that the graph has got since; their numbers."""
        fresh = range(len(self.flags), len(self.graph.states))
        self.flags.extend(bytes(len(fresh)))
        self._hosts += [_NOWHERE] * len(fresh)
        self._before += [[] for _ in fresh]
        for state in fresh:
            for copy in dict.fromkeys(self._after(state)):
                self._before[copy].append(state)
        return fresh

    def _leading_to(self, states: Iterable[int]) -> list[int]:
        """Some states, and all that lead to them."""
        leading = dict.fromkeys(states)
        pending = list(leading)
        while pending:
            for before in self._before[pending.pop()]:
                if before not in leading:
                    leading[before] = None
                    pending.append(before)
        return list(leading)

    def _without_circles(self, changed: Sequence[int]) -> bool | None:
        """Compute changed states again, and those before them as long as something changes; whether it did.

        None, with some of it undone, where there is or was a circle: there values depend on each other."""
        order = self._successors_first(changed)
        if order is None:
            return None
        wanted, other = set(changed), False
        pending = [state for state in reversed(order) if state in wanted]
        while pending:
            state = pending.pop()
            if state in self.cyclic:
                return None
            if self._evaluate(state, 0):
                other = True
                pending += self._before[state]
        return other

    def _successors_first(self, states: Iterable[int]) -> list[int] | None:
        """What some states lead to, each state after those that it leads to; None if a circle is met."""
        order, done, above = list[int](), set[int](), set[int]()
        for start in states:
            pending = [(start, iter(self._after(start)))] if start not in done else []
            above.update(state for state, _ in pending)
            while pending:
                state, copies = pending[-1]
                copy = next((one for one in copies if one not in done), None)
                if copy is None:
                    pending.pop()
                    above.remove(state)
                    done.add(state)
                    order.append(state)
                elif copy in above or copy in self.cyclic:
                    return None
                else:
                    above.add(copy)
                    pending.append((copy, iter(self._after(copy))))
        return order

    def _settle(self, states: Sequence[int]) -> None:
        """Compute states of which all that lead to them are among them."""
        self.cyclic.difference_update(states)
        circles = _cyclic([(state, copy) for state in states for copy in self._after(state)])
        self.cyclic |= circles
        for state in states:
            self.flags[state], self._hosts[state] = LOOPS if state in circles else 0, _NOWHERE
        pending = list(states)  # those that were met last come first: most have no successors left
        while pending:
            state = pending.pop()
            if self._evaluate(state, self.flags[state]):
                pending += self._before[state]

    def _evaluate(self, state: int, flags: int) -> bool:
        """Set what becomes of packets in a state from those that it leads to; whether that is something else.

        LOST where all copies of an alternative can be lost; a copy that loops is not lost as well."""
        hosts = _NOWHERE
        for copies in self.graph.steps[state]:
            every = LOST
            for copy in copies:
                if copy >= 0:
                    outcome, there = self.flags[copy], self._hosts[copy]
                    if there is not hosts and not there <= hosts:
                        hosts = hosts | there if hosts else there
                else:
                    ending = self.graph.endings[~copy]
                    outcome = _FLAG[ending.kind]
                    if ending.kind is Kind.arrives and ending.node not in hosts:
                        hosts |= _SAME.setdefault(ending.node, frozenset({ending.node}))
                flags |= outcome & ~LOST
                every &= outcome
            flags |= every
        if flags == self.flags[state] and hosts == self._hosts[state]:
            return False
        self.flags[state], self._hosts[state] = flags, hosts
        return True


def _cyclic(edges: Sequence[tuple[int, int]]) -> set[int]:
    """The states that a packet can come back to along these edges."""
    if not edges:
        return set()
    numbers, ends = np.unique(np.array(edges, dtype=np.int64), return_inverse=True)
    ends = ends.reshape(-1, 2)
    size = len(numbers)
    matrix = coo_array((np.ones(len(ends), np.int8), (ends[:, 0], ends[:, 1])), shape=(size, size))
    _, component = connected_components(matrix.tocsr(), directed=True, connection="strong")
    inside = component[ends[:, 0]] == component[ends[:, 1]]
    return set(numbers[ends[inside].ravel()].tolist())
