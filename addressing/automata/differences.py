"""Word differences of a finite group, and the automaton Diff on them.

For normal forms u and v of neighbours (v = u a) the *word difference* after t letters is u(t)^-1 v(t),
where u(t) is the first t letters of u, or all of u where it is shorter (WMGR, Definition 15; KBMAG's
second difference machine).  These elements are the states of Diff.  Reading a pair (x, y) of letters,
either of which may be padding, leads from state d to x^-1 d y if that is a state too.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from addressing.automata.group import Group
from topos.graph import NONE, IntArray

#: The number of pairs of neighbours that one array operation compares.
_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class Diff:
    """The automaton as flat arrays; state 0 is the identity.

    The transitions of state d on left letter x (``degree`` for padding) have the indices
    ``start[d * (degree + 1) + x]`` up to the next start, in ascending order of the right letter
    ``right[i]``; ``target[i]`` is the state that transition i leads to.  ``elements[d]`` is the group
    element of state d, and ``generators[a]`` the state of letter a.
    """

    inverses: tuple[int, ...]
    elements: IntArray
    generators: IntArray
    start: IntArray
    right: IntArray
    target: IntArray

    @property
    def degree(self) -> int:
        """The number of letters; the same number stands for padding."""
        return len(self.inverses)

    @property
    def states(self) -> int:
        """The number of word differences."""
        return len(self.elements)

    @property
    def transitions(self) -> int:
        """The number of transitions."""
        return len(self.target)

    @property
    def bits(self) -> int:
        """The automaton's size in bits: per state and left letter the number of transitions, and per
        transition a right letter and a state."""
        letter = self.degree.bit_length()
        most = int(np.diff(self.start).max())
        rows = (len(self.start) - 1) * most.bit_length()
        return rows + self.transitions * (letter + max(1, (self.states - 1).bit_length()))

    @cached_property
    def shorter(self) -> IntArray:
        """``shorter[a, x]``: the state that the pair (x, padding) leads from to letter a; NONE if none."""
        return self._before(self.rows % (self.degree + 1), self.right == self.degree)

    @cached_property
    def longer(self) -> IntArray:
        """``longer[a, y]``: the state that the pair (padding, y) leads from to letter a; NONE if none."""
        return self._before(self.right, self.rows % (self.degree + 1) == self.degree)

    @cached_property
    def arcs(self) -> list[list[tuple[int, int]]]:
        """Per state and left letter the pairs (right letter, target), as lists."""
        pairs = list(zip(self.right.tolist(), self.target.tolist(), strict=True))
        bounds = self.start.tolist()
        return [pairs[first:last] for first, last in itertools.pairwise(bounds)]

    @cached_property
    def rows(self) -> IntArray:
        """Per transition its state and left letter x, as state * (degree + 1) + x."""
        return np.repeat(np.arange(len(self.start) - 1, dtype=np.int32), np.diff(self.start))

    def _before(self, letter: IntArray, padded: NDArray[np.bool_]) -> IntArray:
        """Per generator and ``letter`` the source state of the transition among ``padded``."""
        sources = np.full((self.degree, self.degree), NONE, dtype=np.int32)
        for generator, goal in enumerate(self.generators):
            chosen = np.flatnonzero(padded & (self.target == goal))
            sources[generator, letter[chosen]] = self.rows[chosen] // (self.degree + 1)
        return sources


def differences(group: Group) -> IntArray:
    """The word differences as elements, in ascending (ShortLex) order."""
    occurs = np.zeros(group.order, dtype=np.bool_)
    for _, _, before, _, after in _compared(group):
        occurs[before] = True
        occurs[after] = True
    occurs[0] = True
    return np.flatnonzero(occurs).astype(np.int32)


def rule_differences(group: Group) -> IntArray:
    """The word differences within the rules of the complete system, as elements in ascending order.

    They are those of the pairs (left side, right side), with the letters: KBMAG's first difference
    machine.  They can be fewer than those of all neighbouring normal forms."""
    occurs = np.zeros(group.order, dtype=np.bool_)
    occurs[0] = True
    occurs[group.right[0]] = True
    for rule in group.rules():
        difference = 0
        for x, y in itertools.zip_longest(*rule):
            difference = int(group.left[group.inverses[x], difference])
            difference = difference if y is None else int(group.right[difference, y])
            occurs[difference] = True
    return np.flatnonzero(occurs).astype(np.int32)


def automaton(group: Group, trimmed: bool = True) -> Diff:
    """Diff of a group.

    With ``trimmed`` only the transitions that some pair of neighbouring normal forms takes, which is
    all that reduction needs; otherwise every transition between two states.
    """
    states = differences(group)
    codes = _used(group) if trimmed else _possible(group, states)
    return _packed(group, states, codes)


def occurring(group: Group, diff: Diff, classes: IntArray) -> NDArray[np.bool_]:
    """Flags of shape (classes, states): [c, d] is True when some comparison of neighbours is in state d
    after reading a left word of class c.  ``classes`` has the class of each element; the identity's state
    occurs with every class."""
    number = np.full(group.order, NONE, dtype=np.int32)
    number[diff.elements] = np.arange(diff.states, dtype=np.int32)
    occurs = np.zeros((int(classes.max()) + 1, diff.states), dtype=np.bool_)
    occurs[:, 0] = True
    for left, _, before, _, _ in _compared(group):
        occurs[classes[left], number[before]] = True
    return occurs


def _compared(group: Group) -> Iterator[tuple[IntArray, IntArray, IntArray, IntArray, IntArray]]:
    """All steps of comparing the normal forms of neighbours, from the ends of the words backwards.

    Yields arrays of (left word before, left letter, difference before, right letter, difference after),
    where "before" and "after" refer to reading the two letters."""
    rows = max(1, _AT_ONCE // group.degree)
    for first in range(0, group.order, rows):
        last = min(first + rows, group.order)
        left = np.repeat(np.arange(first, last, dtype=np.int32), group.degree)
        right = group.right[first:last].ravel()
        after = np.tile(group.right[0], last - first)
        while len(left):
            x, before, y = _stepped_back(group, left, right, after)
            left = np.where(x < group.degree, group.parents[left], left)
            yield left, x, before, y, after
            right = np.where(y < group.degree, group.parents[right], right)
            # Where the remaining prefixes are equal, no differences follow.
            differ = left != right
            left, right, after = left[differ], right[differ], before[differ]


def _stepped_back(
    group: Group, left: IntArray, right: IntArray, after: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """The last letters of two words (padding for the shorter one) and the difference before them."""
    pad = np.int32(group.degree)
    longer = group.lengths[left] - group.lengths[right]
    x = np.where(longer >= 0, group.last[left], pad)
    y = np.where(longer <= 0, group.last[right], pad)
    inverse = np.array([*group.inverses, 0], dtype=np.int32)
    before = np.where(x < pad, group.left[np.minimum(x, pad - 1), after], after)
    before = np.where(y < pad, group.right[before, inverse[y]], before)
    return x, before, y


def _used(group: Group) -> NDArray[np.int64]:
    """The codes of the transitions that comparisons take, and of the identity's on equal letters."""
    width = group.degree + 1
    letters = np.arange(group.degree, dtype=np.int64)
    codes = [_codes(np.zeros(1, np.int64), letters, letters, width)]
    for _, x, before, y, _ in _compared(group):
        codes.append(np.unique(_codes(before, x, y, width)))
    return np.unique(np.concatenate(codes))


def _possible(group: Group, states: IntArray) -> NDArray[np.int64]:
    """The codes of all transitions between two of ``states``."""
    width, pad = group.degree + 1, group.degree
    state = np.zeros(group.order, dtype=np.bool_)
    state[states] = True
    codes = []
    for x in range(width):
        half = states if x == pad else group.left[group.inverses[x], states]
        for y in range(width if x < pad else pad):
            end = half if y == pad else group.right[half, y]
            codes.append(_codes(states[state[end]], np.int64(x), np.int64(y), width))
    return np.sort(np.concatenate(codes))


def _codes(
    before: NDArray[np.signedinteger], x: NDArray[np.signedinteger] | np.int64,
    y: NDArray[np.signedinteger] | np.int64, width: int,
) -> NDArray[np.int64]:  # fmt: skip
    """Transitions as numbers, sorted by state, left letter and right letter."""
    return (before.astype(np.int64) * width + x) * width + y


def _packed(group: Group, states: IntArray, codes: NDArray[np.int64]) -> Diff:
    """Diff's arrays from sorted codes."""
    width, pad = group.degree + 1, group.degree
    number = np.full(group.order, NONE, dtype=np.int32)
    number[states] = np.arange(len(states), dtype=np.int32)
    before, x, y = codes // width**2, codes // width % width, codes % width
    inverse = np.array([*group.inverses, 0])
    end = np.where(x < pad, group.left[inverse[x], before], before)
    end = np.where(y < pad, group.right[end, np.minimum(y, pad - 1)], end)
    rows = number[before].astype(np.int64) * width + x
    start = np.searchsorted(rows, np.arange(len(states) * width + 1)).astype(np.int32)
    generators = number[group.right[0]]
    return Diff(group.inverses, states, generators, start, y.astype(np.int32), number[end])
