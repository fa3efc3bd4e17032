"""Compiled reduction for long words and for many words: partner words are found from their ends backwards.

:class:`addressing.automata.reduction.Reducer` reads the current word u forwards and keeps every partner
that might become the answer.  These kernels follow partners backwards from the difference that must be
reached.  Few states lead there, even fewer on a trimmed Diff, and once only the identity is left the two
words have a common prefix.  Going backwards, the least partner from a state on is the one with the least
next letter, since state, left and right letter determine the next state.

The word acceptor, where it is given, runs alongside.  If it accepts the next letter, no search is needed.
Otherwise its states rule out most of Diff's states, as the general multiplier would for one word.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from addressing.automata import acceptor
from addressing.automata.acceptor import DEAD
from addressing.automata.differences import Diff, automaton, occurring
from addressing.automata.group import Group
from addressing.jit import compiled
from topos.arrays import Mask
from topos.graph import NONE, IntArray

#: The largest number of searches before the marks start again from 1.
_MOST = np.iinfo(np.int32).max


@dataclass(frozen=True, eq=False)
class ReverseDiff:
    """Diff with its transitions between letters indexed by target: those on left letter x into state d
    have the indices ``start[d * degree + x]`` up to the next start.

    ``moves`` are the word acceptor's.  ``beside[p, d]`` is True when Diff can be in state d while the
    acceptor is in state p.  Without an acceptor there is one state p, with which all d are possible.
    """

    diff: Diff
    start: IntArray
    right: IntArray
    before: IntArray
    moves: IntArray
    beside: Mask

    @classmethod
    def of(cls, diff: Diff) -> ReverseDiff:
        """The transitions of ``diff`` reversed, without an acceptor; for any group."""
        moves = np.full((1, diff.degree), DEAD, dtype=np.int32)
        return cls._reversed(diff, moves, np.ones((1, diff.states), dtype=np.bool_))

    @classmethod
    def of_group(cls, group: Group) -> ReverseDiff:
        """The same with the word acceptor, which makes reduction faster; for finite groups."""
        diff, accepting = automaton(group), acceptor.of_group(group)
        moves = np.array(accepting.moves, dtype=np.int32)
        return cls._reversed(diff, moves, occurring(group, diff, accepting.classes(group)))

    @classmethod
    def _reversed(cls, diff: Diff, moves: IntArray, beside: Mask) -> ReverseDiff:
        degree = diff.degree
        left = diff.rows % (degree + 1)
        read = np.flatnonzero((left < degree) & (diff.right < degree))
        keys = diff.target[read].astype(np.int64) * degree + left[read]
        order = np.argsort(keys, kind="stable")
        start = np.searchsorted(keys[order], np.arange(diff.states * degree + 1)).astype(np.int32)
        chosen = read[order]
        return cls(diff, start, diff.right[chosen], diff.rows[chosen] // (degree + 1), moves, beside)

    def reduce(self, words: IntArray, longest: int) -> IntArray:
        """The normal forms of the rows of ``words``, as rows of ``longest`` letters.

        Rows are padded with ``degree``; ``longest`` must be at least the length of every normal form."""
        diff = self.diff
        goals = (diff.generators, diff.shorter, diff.longer)
        automata = (self.start, self.right, self.before, self.moves, self.beside)
        return _reduce(*automata, *goals, words, longest)


@compiled
def _reduce(
    start: IntArray, right: IntArray, before: IntArray, moves: IntArray, beside: Mask,
    goals: IntArray, shorter: IntArray, longer: IntArray, words: IntArray, longest: int,
) -> IntArray:  # fmt: skip
    """:meth:`ReverseDiff.reduce`, row by row and letter by letter."""
    degree, states = len(goals), beside.shape[1]
    out = np.full((len(words), longest + 1), degree, np.int32)
    # Per length and state: the last search that visited it, the next right letter, the state after it.
    steps, queue = np.zeros((longest + 1, states, 3), np.int32), np.zeros((2, states), np.int32)
    # Per length the acceptor's state.
    accepted = np.zeros(longest + 2, np.int32)
    mark = 0
    for row in range(len(words)):
        path, length = out[row], 0
        for a in words[row]:
            if a == degree:
                break
            if moves[accepted[length], a] != DEAD:
                path[length] = a
                accepted[length + 1] = moves[accepted[length], a]
                length += 1
                continue
            # The normal form is one letter shorter, of equal length, or one letter longer.
            for wanted in range(max(0, length - 1), length + 2):
                depth, size = min(length, wanted), 1
                if wanted < length:
                    queue[0, 0] = shorter[a, path[length - 1]]
                elif wanted == length:
                    queue[0, 0] = goals[a]
                else:
                    size = _ends(longer[a], queue[0])
                if queue[0, 0] == NONE:
                    continue
                mark = mark + 1 if mark + 1 < _MOST else _reset(steps)
                first = _search(
                    start, right, before, beside, accepted, degree, path, depth, size, steps, queue, mark
                )  # fmt: skip
                if first != NONE:
                    end = _write(path, first, depth, steps)
                    if wanted > length:
                        path[length] = _place(longer[a], end)
                    path[wanted:length] = degree
                    length = _follow(moves, accepted, path, first, wanted)
                    break
    return out[:, :longest]


@compiled
def _reset(steps: IntArray) -> int:
    """Clear the marks when all search numbers are used; the number of the next search."""
    steps[:, :, 0] = 0
    return 1


@compiled
def _follow(moves: IntArray, accepted: IntArray, path: IntArray, first: int, length: int) -> int:
    """Update the acceptor's states, if there is one, along the path that has changed from ``first`` on;
    the path's ``length``."""
    for place in range(first, length if len(moves) > 1 else first):
        accepted[place + 1] = moves[accepted[place], path[place]]
    return length


@compiled
def _ends(states: IntArray, queue: IntArray) -> int:
    """Copy all states but NONE into ``queue``; returns their number."""
    count = 0
    for state in states:
        if state != NONE:
            queue[count] = state
            count += 1
    return count


@compiled
def _place(states: IntArray, wanted: int) -> int:
    """The index of a state; NONE if it is not there."""
    for index, state in enumerate(states):
        if state == wanted:
            return index
    return NONE


@compiled
def _search(
    start: IntArray, right: IntArray, before: IntArray, beside: Mask, accepted: IntArray, degree: int,
    path: IntArray, depth: int, size: int, steps: IntArray, queue: IntArray, mark: int,
) -> int:  # fmt: skip
    """Find the least partner of the first ``depth`` letters of ``path`` that leads to one of the first
    ``size`` states of ``queue[0]``.  Returns where the partner starts to differ from the path; NONE if
    there is no partner."""
    now = 0
    while size > 1 or (size == 1 and queue[now, 0] != 0):
        if depth == 0:
            return _identity(queue[now], size)
        depth -= 1
        count, possible = 0, beside[accepted[depth]]
        for entry in range(size):
            state = queue[now, entry]
            key = state * degree + path[depth]
            for arc in range(start[key], start[key + 1]):
                source = before[arc]
                if not possible[source]:
                    continue
                step = steps[depth, source]
                if step[0] != mark:
                    step[0] = mark
                    queue[1 - now, count] = source
                    count += 1
                elif step[1] <= right[arc]:
                    continue
                step[1], step[2] = right[arc], state
        now, size = 1 - now, count
    return depth if size else NONE


@compiled
def _identity(queue: IntArray, size: int) -> int:
    """0 when the identity is among the first ``size`` states of a queue, else NONE."""
    return 0 if (queue[:size] == 0).any() else NONE


@compiled
def _write(path: IntArray, first: int, depth: int, steps: IntArray) -> int:
    """Write the partner just found over ``path``; returns the state that it ends in."""
    state = 0
    for place in range(first, depth):
        path[place] = steps[place, state, 1]
        state = steps[place, state, 2]
    return state
