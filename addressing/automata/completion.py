"""Knuth-Bendix completion of a presentation in ShortLex order.

A rule replaces a word by a smaller one for the same element.  Where two left sides overlap, the combined
word can be rewritten by either rule; when the results differ, they become a new rule.  Overlaps are
processed shortest first.  The system is complete when no overlap is left.

A finite group's system is recognised as complete much sooner: when there are finitely many irreducible
words and every relator maps each of them to itself.  Then the group acts on them transitively, so there
are at most as many as elements; and each element has at least one.

Words are ``bytes`` here, one letter each.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from addressing.automata.acceptor import DEAD, Acceptor, index_automaton
from addressing.automata.group import Group, GroupError, of_table
from addressing.automata.presentations import Presentation
from addressing.jit import compiled
from topos.graph import NONE, IntArray

#: The number of rules at which completion gives up: not every presentation has a finite complete system.
MAX_RULES = 20_000
#: The key of a right side in the tree of reversed left sides.
_RULE = -1


@dataclass(frozen=True, eq=False)
class System:
    """A complete reduced rewriting system: two words are the same element if and only if they reduce to
    the same word, the least one."""

    presentation: Presentation
    rules: dict[bytes, bytes]

    @cached_property
    def acceptor(self) -> Acceptor:
        """The index automaton of the left sides, which accepts the normal forms."""
        return index_automaton(self.rules, self.presentation.degree)

    @cached_property
    def action(self) -> IntArray:
        """Array of shape (words, letters): the irreducible word of each word and letter appended.

        Words are numbered in ShortLex order; there must be finitely many."""
        return _action(self)

    def reduce(self, word: bytes) -> bytes:
        """The normal form."""
        moves, matched = self.acceptor.moves, self.acceptor.matched
        out, states, todo = bytearray(), [0], list(reversed(word))
        while todo:
            letter = todo.pop()
            end = moves[states[-1]][letter]
            if end != DEAD:
                out.append(letter)
                states.append(end)
                continue
            left = matched[states[-1], letter]
            cut = len(out) + 1 - len(left)
            del out[cut:], states[cut + 1 :]
            todo.extend(reversed(self.rules[left]))
        return bytes(out)

    def inverse(self, word: bytes) -> bytes:
        """The inverse of a word: inverse letters in reverse order."""
        return bytes(self.presentation.inverses[letter] for letter in reversed(word))

    def group(self) -> Group:
        """The group, if it is finite; GroupError when it is infinite."""
        if self.acceptor.count is None:
            raise GroupError("the group is infinite: it has no multiplication table")
        return of_table(self.action, self.presentation.names, tuple(range(self.presentation.degree)))


def complete(presentation: Presentation, max_rules: int = MAX_RULES) -> System:
    """The complete system of a presentation; GroupError when it needs more than ``max_rules`` rules."""
    work = _Completion(presentation)
    for relator in presentation.relators:
        work.equate(bytes(relator), b"")
    level = quiet = 0
    while work.overlaps:
        length = work.overlaps[0][0]
        if length > level or quiet > len(work.rules):
            system = work.system()
            if _acts(system):
                return system
            level, quiet = max(level, length), 0
        quiet = 0 if work.resolve() else quiet + 1
        if len(work.rules) > max_rules:
            raise GroupError(f"no complete system of at most {max_rules} rules was found")
    return work.system()


@dataclass
class _Completion:
    """A system that is not complete yet; no left side is a factor of another."""

    presentation: Presentation
    rules: dict[bytes, bytes] = field(default_factory=dict)
    #: Overlaps of two left sides: (length of the word, first, second, letters in common).
    overlaps: list[tuple[int, bytes, bytes, int]] = field(default_factory=list)
    _tree: dict[int, Any] = field(default_factory=dict)
    _beginning: defaultdict[bytes, set[bytes]] = field(default_factory=lambda: defaultdict(set))
    _ending: defaultdict[bytes, set[bytes]] = field(default_factory=lambda: defaultdict(set))

    def __post_init__(self) -> None:
        for letter, inverse in enumerate(self.presentation.inverses):
            self.equate(bytes((letter, inverse)), b"")

    def resolve(self) -> bool:
        """Rewrite the shortest overlap by either rule, and equate the results; False when they are equal."""
        _, first, second, common = heapq.heappop(self.overlaps)
        if first not in self.rules or second not in self.rules:
            return False
        return self.equate(self.rules[first] + second[common:], first[:-common] + self.rules[second])

    def equate(self, one: bytes, other: bytes) -> bool:
        """Make two words equal; False when they are equal already.

        Rules whose left sides the new rule rewrites become equations again."""
        todo, added = [(one, other)], False
        while todo:
            left, right = (self.reduce(word) for word in todo.pop())
            if left == right:
                continue
            if (len(left), left) < (len(right), right):
                left, right = right, left
            todo += [(longer, self._drop(longer)) for longer in [word for word in self.rules if left in word]]
            self._add(left, right)
            added = True
        return added

    def reduce(self, word: bytes) -> bytes:
        """Rewrite a word until no rule applies: after each letter, look up in the tree of reversed left
        sides whether a left side ends there."""
        out, todo = bytearray(), list(reversed(word))
        while todo:
            out.append(todo.pop())
            node = self._tree
            for place in range(len(out) - 1, -1, -1):
                node = node.get(out[place], {})
                if not node:
                    break
                if _RULE in node:
                    todo.extend(reversed(node[_RULE]))
                    del out[place:]
                    break
        return bytes(out)

    def system(self) -> System:
        """The current rules, with their right sides reduced."""
        return System(self.presentation, {left: self.reduce(right) for left, right in self.rules.items()})

    def _add(self, left: bytes, right: bytes) -> None:
        self.rules[left] = right
        self._node(left)[_RULE] = right
        for cut in range(1, len(left)):
            self._beginning[left[:cut]].add(left)
            self._ending[left[cut:]].add(left)
        for overlap in self._overlaps_of(left):
            heapq.heappush(self.overlaps, overlap)

    def _drop(self, left: bytes) -> bytes:
        """Remove a rule, and return its right side."""
        del self._node(left)[_RULE]
        for cut in range(1, len(left)):
            self._beginning[left[:cut]].discard(left)
            self._ending[left[cut:]].discard(left)
        return self.rules.pop(left)

    def _node(self, left: bytes) -> dict[int, Any]:
        """The node of a left side in the tree of reversed left sides, created if it does not exist."""
        node = self._tree
        for letter in reversed(left):
            node = node.setdefault(letter, {})
        return node

    def _overlaps_of(self, left: bytes) -> Iterator[tuple[int, bytes, bytes, int]]:
        """The overlaps of a left side with all others and with itself."""
        for cut in range(1, len(left)):
            common = len(left) - cut
            for other in self._beginning.get(left[cut:], ()):
                yield cut + len(other), left, other, common
            for other in self._ending.get(left[:cut], ()):
                if other != left:
                    yield len(other) + common, other, left, cut


def _acts(system: System) -> bool:
    """True when there are finitely many irreducible words and all relators map each to itself."""
    presentation = system.presentation
    if system.acceptor.count is None:
        return False
    table = system.action
    start = np.arange(len(table))
    cancelling = tuple(enumerate(presentation.inverses))
    for relator in (*cancelling, *presentation.relators):
        end = start
        for letter in relator:
            end = table[end, letter]
        if (end != start).any():
            return False
    return True


def _tree(acceptor: Acceptor) -> tuple[IntArray, IntArray, IntArray]:
    """The finitely many accepted words in ShortLex order: of each the parent, the last letter and the
    acceptor's state."""
    moves = np.array(acceptor.moves, dtype=np.int32)
    parents, last, states = [np.zeros(1, np.int32)], [np.zeros(1, np.int32)], [np.zeros(1, np.int32)]
    first = 0
    while len(states[-1]):
        row, letter = np.nonzero(moves[states[-1]] != DEAD)
        parents.append((first + row).astype(np.int32))
        last.append(letter.astype(np.int32))
        first += len(states[-1])
        states.append(moves[states[-1][row], letter])
    return np.concatenate(parents), np.concatenate(last), np.concatenate(states)


def _action(system: System) -> IntArray:
    """The table of :attr:`System.action`."""
    matched, rules = system.acceptor.matched, system.rules
    degree = system.presentation.degree
    parents, last, states = _tree(system.acceptor)
    # Per state and letter that complete a left side: the letters to go back, and the slice of ``letters``
    # that is the right side.
    back = np.zeros((system.acceptor.states, degree), dtype=np.int32)
    begin, end = np.zeros_like(back), np.zeros_like(back)
    letters: list[int] = []
    for (state, letter), left in matched.items():
        back[state, letter], begin[state, letter] = len(left) - 1, len(letters)
        letters += rules[left]
        end[state, letter] = len(letters)
    table = np.full((len(parents), degree), NONE, dtype=np.int32)
    table[parents[1:], last[1:]] = np.arange(1, len(parents), dtype=np.int32)
    _multiply(table, parents, states, back, begin, end, np.array(letters, dtype=np.int32))
    return table


@compiled
def _multiply(
    table: IntArray, parents: IntArray, states: IntArray, back: IntArray, begin: IntArray, end: IntArray,
    letters: IntArray,
) -> None:  # fmt: skip
    """Fill in the products that are not words of the tree: go back over the left side, then along the
    right side.  The right side is smaller, so all products along it are known already."""
    for word in range(len(table)):
        for letter in range(table.shape[1]):
            if table[word, letter] != NONE:
                continue
            state, at = states[word], word
            for _ in range(back[state, letter]):
                at = parents[at]
            for place in range(begin[state, letter], end[state, letter]):
                at = table[at, letters[place]]
            table[word, letter] = at
