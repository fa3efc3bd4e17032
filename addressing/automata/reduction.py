"""Least words by the automaton Diff.

A word is kept in normal form while letters are appended.  For u in normal form and a
letter a, the normal form v of u a is found by reading u into Diff together with *every*
partner word at once: Diff is run as a nondeterministic automaton on the right letters,
and for each state only the least partner word that leads there is kept.  v is then the
shortest, and among those the least, whose difference to u is a.

Why this is right: u(t)^-1 v(t) is a state for all t, by the definition of word
differences, so v is among the partners.  If a smaller partner word reached one of its
states, replacing the beginning of v by that would give a smaller word for the same
element.  v is at most one letter longer or shorter than u, so padding occurs at the last
letter only.

(The paper's Algorithm 4 takes the first transition instead of all; tests show where
that fails.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from addressing.automata.differences import Diff
from addressing.automata.group import Word
from topos.graph import NONE

#: Per state that partner words reach: the state before and the last letter of the least of
#: them.  Insertion order is the order of these words.
Column = dict[int, tuple[int, int]]


@dataclass(frozen=True, eq=False)
class Reducer:
    """Reduction of words by one Diff."""

    diff: Diff

    def reduce(self, word: Iterable[int], start: Sequence[int] = ()) -> Word:
        """The normal form of ``start`` (a normal form itself) followed by ``word``."""
        path: list[int] = []
        columns: list[Column] = [{0: (0, 0)}]
        for letter in start:
            self._read(path, columns, letter)
        for letter in word:
            self._append(path, columns, letter)
        return tuple(path)

    def inverse(self, word: Sequence[int]) -> Word:
        """The word of inverse letters backwards (not reduced)."""
        return tuple(self.diff.inverses[letter] for letter in reversed(word))

    def _append(self, path: list[int], columns: list[Column], letter: int) -> None:
        """Make ``path`` and its ``columns`` those of the normal form of path followed by letter."""
        found = self._product(path, columns, letter)
        same = 0
        while same < min(len(path), len(found)) and path[same] == found[same]:
            same += 1
        del path[same:], columns[same + 1 :]
        for other in found[same:]:
            self._read(path, columns, other)

    def _read(self, path: list[int], columns: list[Column], letter: int) -> None:
        """Read one more letter of the kept word, against all partners.

        Partners in order, and right letters in order, give the longer partners in order: the
        first to reach a state is the least."""
        following: Column = {}
        arcs, width = self.diff.arcs, self.diff.degree + 1
        for state in columns[-1]:
            for right, target in arcs[state * width + letter]:
                if right < self.diff.degree:
                    following.setdefault(target, (state, right))
        path.append(letter)
        columns.append(following)

    def _product(self, path: list[int], columns: list[Column], letter: int) -> list[int]:
        """The least partner of ``path`` whose difference to it is ``letter``: shorter, equal, longer."""
        length = len(path)
        if path and (before := self._shorter[letter][path[-1]]) in columns[-2]:
            return _trace(columns, length - 1, before)
        if (goal := self._goals[letter]) in columns[-1]:
            return _trace(columns, length, goal)
        ends = {state: right for right, state in enumerate(self._longer[letter]) if state != NONE}
        # There is always one: the path itself, followed by the letter.
        state = next(state for state in columns[-1] if state in ends)
        return [*_trace(columns, length, state), ends[state]]

    @cached_property
    def _goals(self) -> list[int]:
        return cast(list[int], self.diff.generators.tolist())

    @cached_property
    def _shorter(self) -> list[list[int]]:
        return cast(list[list[int]], self.diff.shorter.tolist())

    @cached_property
    def _longer(self) -> list[list[int]]:
        return cast(list[list[int]], self.diff.longer.tolist())


def _trace(columns: list[Column], length: int, state: int) -> list[int]:
    """The least partner word of that length that leads to the state."""
    letters = []
    for column in reversed(columns[1 : length + 1]):
        state, letter = column[state]
        letters.append(letter)
    return letters[::-1]
