"""The index automaton of a set of words, which finds them in other words, and the word acceptor.

Aho and Corasick's automaton of the left sides of rewriting rules (Sims, Computation with Finitely
Presented Groups).  Its states are the proper prefixes of left sides.  Reading a letter leads to the
longest such prefix that is a suffix of the word read so far, or completes a left side.  Without the
transitions that complete a left side it accepts the irreducible words: it is the word acceptor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from addressing.automata.group import Group
from topos.graph import IntArray

#: Stands for no state: the word read so far is not accepted.
DEAD = -1


@dataclass(frozen=True, eq=False)
class Acceptor:
    """A deterministic automaton all of whose states accept; state 0 is the initial state.

    ``moves[state][letter]`` is a state or DEAD.  ``matched[state, letter]`` is the left side that this
    letter completes, for transitions to DEAD (empty for a minimised automaton)."""

    moves: tuple[tuple[int, ...], ...]
    matched: Mapping[tuple[int, int], bytes]

    @property
    def states(self) -> int:
        """The number of states."""
        return len(self.moves)

    def read(self, word: Iterable[int], state: int = 0) -> int:
        """The state after a word; DEAD when it is not accepted."""
        for letter in word:
            if state == DEAD:
                return DEAD
            state = self.moves[state][letter]
        return state

    @cached_property
    def count(self) -> int | None:
        """The number of accepted words; None when there are infinitely many."""
        below: dict[int, int | None] = {0: None}
        stack = [(0, iter(self.moves[0]))]
        while stack:
            state, letters = stack[-1]
            for end in letters:
                if end == DEAD:
                    continue
                if end not in below:
                    below[end] = None
                    stack.append((end, iter(self.moves[end])))
                    break
                if below[end] is None:
                    return None  # The state is on the stack: a cycle.
            else:
                stack.pop()
                below[state] = 1 + sum(below[end] or 0 for end in self.moves[state] if end != DEAD)
        return below[0]

    def minimised(self) -> Acceptor:
        """The smallest automaton that accepts the same words, by partition refinement of the states."""
        reached = self._reached()
        classes = dict.fromkeys(reached, 0)
        classes[DEAD] = DEAD
        while True:
            rows = {state: (classes[state], *(classes[end] for end in self.moves[state])) for state in reached}
            numbers = {row: number for number, row in enumerate(dict.fromkeys(rows.values()))}
            refined = {state: numbers[row] for state, row in rows.items()}
            if len(numbers) == len(set(classes.values()) - {DEAD}):
                moves = {refined[s]: tuple(refined.get(end, DEAD) for end in self.moves[s]) for s in reached}
                return Acceptor(tuple(moves[number] for number in range(len(numbers))), {})
            classes = {**refined, DEAD: DEAD}

    def classes(self, group: Group) -> IntArray:
        """Per element of a group the state after reading its normal form."""
        moves = np.array(self.moves, dtype=np.int32)
        states = np.zeros(group.order, dtype=np.int32)
        for level in group.levels[1:]:
            states[level] = moves[states[group.parents[level]], group.last[level]]
        return states

    def _reached(self) -> list[int]:
        """The states that some accepted word leads to, in breadth-first order."""
        seen = {0}
        queue = [0]
        for state in queue:
            for end in self.moves[state]:
                if end != DEAD and end not in seen:
                    seen.add(end)
                    queue.append(end)
        return queue


def of_group(group: Group) -> Acceptor:
    """The smallest acceptor of a finite group's normal forms: its states are the distinct subtrees of
    the tree of normal forms."""
    rows = np.full((group.order, group.degree), DEAD, dtype=np.int32)
    numbers: dict[bytes, int] = {}
    for element in range(group.order - 1, -1, -1):
        number = numbers.setdefault(rows[element].tobytes(), len(numbers))
        if element:
            rows[group.parents[element], group.last[element]] = number
    # The identity's subtree was numbered last, but must be state 0: reverse the numbers.
    last = len(numbers) - 1
    unpacked = [np.frombuffer(row, dtype=np.int32).tolist() for row in numbers]
    moves = [tuple(DEAD if end == DEAD else last - end for end in row) for row in reversed(unpacked)]
    return Acceptor(tuple(moves), {})


def index_automaton(words: Iterable[bytes], degree: int) -> Acceptor:
    """The index automaton of words, none of which is a factor of another."""
    children: list[dict[int, int]] = [{}]
    ends: dict[int, bytes] = {}
    for word in words:
        state = 0
        for letter in word:
            state = children[state].setdefault(letter, len(children))
            if state == len(children):
                children.append({})
        ends[state] = word
    moves: list[list[int]] = [[0] * degree for _ in children]
    fallback = [0] * len(children)
    queue = [0]
    for state in queue:
        for letter in range(degree):
            back = moves[fallback[state]][letter] if state else 0
            end = children[state].get(letter)
            moves[state][letter] = back if end is None else end
            if end is not None:
                fallback[end] = back
                if end not in ends:
                    queue.append(end)
    return _without(moves, queue, ends)


def _without(moves: list[list[int]], states: list[int], ends: Mapping[int, bytes]) -> Acceptor:
    """The automaton on ``states``, without the transitions that complete a word."""
    number = {state: place for place, state in enumerate(states)}
    rows, matched = [], {}
    for place, state in enumerate(states):
        rows.append(tuple(DEAD if end in ends else number[end] for end in moves[state]))
        matched.update({(place, a): ends[end] for a, end in enumerate(moves[state]) if end in ends})
    return Acceptor(tuple(rows), matched)
