"""The index automaton of a set of words: which words contain none of them, and which is found.

Aho and Corasick's automaton of the left sides of rewriting rules, as Sims uses it.  States
are the proper beginnings of left sides; reading a letter leads to the longest one that
the word read so far ends in, or to a left side, which is then complete.  Without the
latter transitions it accepts the irreducible words: the word acceptor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from addressing.automata.group import Group
from topos.graph import IntArray

#: No state: the word read so far is not accepted.
DEAD = -1


@dataclass(frozen=True, eq=False)
class Acceptor:
    """A deterministic automaton all of whose states accept; ``moves[state][letter]`` is a state or
    DEAD, state 0 is the first.  ``matched[state, letter]`` is the left side that is complete
    where DEAD stands (empty for an automaton that was minimised)."""

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
        """The number of accepted words; None when there is no end of them."""
        below: dict[int, int | None] = {}
        trail = [(0, iter(self.moves[0]))]
        below[0] = None
        while trail:
            state, letters = trail[-1]
            for end in letters:
                if end == DEAD:
                    continue
                if end not in below:
                    below[end] = None
                    trail.append((end, iter(self.moves[end])))
                    break
                if below[end] is None:
                    return None  # The state is on the trail: a circle.
            else:
                trail.pop()
                below[state] = 1 + sum(below[end] or 0 for end in self.moves[state] if end != DEAD)
        return below[0]

    def minimised(self) -> Acceptor:
        """The smallest automaton that accepts the same words, by refining classes of states."""
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
        """Per element of a group the state after its normal form."""
        moves = np.array(self.moves, dtype=np.int32)
        found = np.zeros(group.order, dtype=np.int32)
        for level in group.levels[1:]:
            found[level] = moves[found[group.parents[level]], group.last[level]]
        return found

    def _reached(self) -> list[int]:
        """The states that some accepted word leads to, nearest first."""
        found = {0: None}
        queue = [0]
        for state in queue:
            for end in self.moves[state]:
                if end != DEAD and end not in found:
                    found[end] = None
                    queue.append(end)
        return queue


def of_group(group: Group) -> Acceptor:
    """The smallest acceptor of a finite group's normal forms: its states are the different trees that
    stand below elements in the tree of normal forms."""
    rows = np.full((group.order, group.degree), DEAD, dtype=np.int32)
    numbers: dict[bytes, int] = {}
    for element in range(group.order - 1, -1, -1):
        number = numbers.setdefault(rows[element].tobytes(), len(numbers))
        if element:
            rows[group.parents[element], group.last[element]] = number
    # The identity's tree came last; the first state must be its.
    last = len(numbers) - 1
    found = [np.frombuffer(row, dtype=np.int32).tolist() for row in numbers]
    moves = [tuple(DEAD if end == DEAD else last - end for end in row) for row in reversed(found)]
    return Acceptor(tuple(moves), {})


def index_automaton(words: Iterable[bytes], degree: int) -> Acceptor:
    """The automaton of words none of which is part of another."""
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
    fall = [0] * len(children)
    queue = [0]
    for state in queue:
        for letter in range(degree):
            back = moves[fall[state]][letter] if state else 0
            end = children[state].get(letter)
            moves[state][letter] = back if end is None else end
            if end is not None:
                fall[end] = back
                if end not in ends:
                    queue.append(end)
    return _without(moves, queue, ends)


def _without(moves: list[list[int]], states: list[int], ends: Mapping[int, bytes]) -> Acceptor:
    """The automaton on ``states`` with complete words left out."""
    number = {state: place for place, state in enumerate(states)}
    rows, matched = [], {}
    for place, state in enumerate(states):
        rows.append(tuple(DEAD if end in ends else number[end] for end in moves[state]))
        matched.update({(place, a): ends[end] for a, end in enumerate(moves[state]) if end in ends})
    return Acceptor(tuple(rows), matched)
