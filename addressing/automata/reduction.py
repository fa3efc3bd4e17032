"""Reduction of words to normal form by the automaton Diff.

A word is kept in normal form while letters are appended.  For u in normal form and a letter a, the normal
form v of u a is found by reading u into Diff together with *every* partner word at once.  Diff runs as a
nondeterministic automaton on the right letters, and keeps for each state only the least partner word that
leads to it.  v is the shortest partner, and the least among the shortest, whose difference to u is a.

Correctness: u(t)^-1 v(t) is a state for all t, by the definition of word differences, so v is among the
partners.  If a smaller partner word reached one of v's states, replacing that prefix of v would give a
smaller word for the same element.  v is at most one letter longer or shorter than u, so padding occurs at
the last letter only.

(The paper's Algorithm 4 takes the first transition instead of all;
tests/addressing/automata/test_reduction.py shows where that fails.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from addressing.automata.differences import Diff
from addressing.automata.group import Word
from topos.graph import NONE

#: Per state that partner words reach: the previous state and the last letter of the least such word.
#: The insertion order is the order of these words.
Column = dict[int, tuple[int, int]]


@dataclass(frozen=True, eq=False)
class Reducer:
    """Reduction of words by a Diff."""

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

    def effort(self, word: Iterable[int]) -> int:
        """The letters that reduction of a word reads into Diff: the number of its steps."""
        path: list[int] = []
        columns: list[Column] = [{0: (0, 0)}]
        return sum(self._append(path, columns, letter) for letter in word)

    def inverse(self, word: Sequence[int]) -> Word:
        """The inverse of a word, not reduced: inverse letters in reverse order."""
        return tuple(self.diff.inverses[letter] for letter in reversed(word))

    def _append(self, path: list[int], columns: list[Column], letter: int) -> int:
        """Replace ``path`` and its ``columns`` by those of the normal form of ``path`` and ``letter``; the
        number of letters read."""
        product = self._product(path, columns, letter)
        same = 0
        while same < min(len(path), len(product)) and path[same] == product[same]:
            same += 1
        del path[same:], columns[same + 1 :]
        for other in product[same:]:
            self._read(path, columns, other)
        return 1 + len(product) - same

    def _read(self, path: list[int], columns: list[Column], letter: int) -> None:
        """Read one more letter of the current word against all partners.

        Partners and right letters are processed in order, so the first partner to reach a state is the
        least."""
        following: Column = {}
        arcs, width = self.diff.arcs, self.diff.degree + 1
        for state in columns[-1]:
            for right, target in arcs[state * width + letter]:
                if right < self.diff.degree:
                    following.setdefault(target, (state, right))
        path.append(letter)
        columns.append(following)

    def _product(self, path: list[int], columns: list[Column], letter: int) -> list[int]:
        """The least partner of ``path`` whose difference to it is ``letter``: first among shorter partners,
        then among those of equal length, then among longer ones."""
        length = len(path)
        if path and (before := self._shorter[letter][path[-1]]) in columns[-2]:
            return _trace(columns, length - 1, before)
        if (goal := self._goals[letter]) in columns[-1]:
            return _trace(columns, length, goal)
        ends = {state: right for right, state in enumerate(self._longer[letter]) if state != NONE}
        # There is always one: the path itself followed by the letter.
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
    """The least partner word of a length that leads to a state."""
    letters = []
    for column in reversed(columns[1 : length + 1]):
        state, letter = column[state]
        letters.append(letter)
    return letters[::-1]
