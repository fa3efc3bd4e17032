"""Word differences of a finite group, and the automaton Diff on them.

For normal forms u and v of neighbours (v = u a) the *word difference* after t letters is
u(t)^-1 v(t), u(t) being the first t letters of u, all of u from its end on (WMGR,
Definition 15; what KBMAG has as second difference machine).  These elements are the
states of Diff; reading a pair (x, y) of letters, either of which may be padding, leads
from d to x^-1 d y where that is a state again.
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

#: Pairs of neighbours that are compared at a time.
_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class Diff:
    """The automaton as flat arrays; state 0 is the identity.

    The transitions of state d on left letter x (``degree`` for padding) are number
    ``start[d * (degree + 1) + x]`` up to the next start; each has the right letter
    ``right[i]`` and the state ``target[i]`` it leads to, by ascending right letter.
    ``generators[a]`` is the state that letter a is as an element.
    """

    inverses: tuple[int, ...]
    elements: IntArray
    generators: IntArray
    start: IntArray
    right: IntArray
    target: IntArray

    @property
    def degree(self) -> int:
        """The number of letters; also the number that stands for padding."""
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
        """The automaton's size: per state and left letter the number of transitions, and per
        transition a right letter and a state."""
        letter = self.degree.bit_length()
        most = int(np.diff(self.start).max())
        rows = (len(self.start) - 1) * most.bit_length()
        return rows + self.transitions * (letter + max(1, (self.states - 1).bit_length()))

    @cached_property
    def shorter(self) -> IntArray:
        """``shorter[a, x]``: the state from which x beside padding leads to letter a; NONE if none does."""
        return self._before(self.rows % (self.degree + 1), self.right == self.degree)

    @cached_property
    def longer(self) -> IntArray:
        """``longer[a, y]``: the state from which padding beside y leads to letter a; NONE if none does."""
        return self._before(self.right, self.rows % (self.degree + 1) == self.degree)

    @cached_property
    def arcs(self) -> list[list[tuple[int, int]]]:
        """Per state and left letter the pairs (right letter, target): for use without arrays."""
        pairs = list(zip(self.right.tolist(), self.target.tolist(), strict=True))
        bounds = self.start.tolist()
        return [pairs[first:last] for first, last in itertools.pairwise(bounds)]

    @cached_property
    def rows(self) -> IntArray:
        """Per transition its state and left letter x, as state * (degree + 1) + x."""
        return np.repeat(np.arange(len(self.start) - 1, dtype=np.int32), np.diff(self.start))

    def _before(self, letter: IntArray, padded: NDArray[np.bool_]) -> IntArray:
        """Per generator and ``letter`` the state that a transition among ``padded`` comes from."""
        found = np.full((self.degree, self.degree), NONE, dtype=np.int32)
        for place, goal in enumerate(self.generators):
            chosen = np.flatnonzero(padded & (self.target == goal))
            found[place, letter[chosen]] = self.rows[chosen] // (self.degree + 1)
        return found


def differences(group: Group) -> IntArray:
    """The word differences in ascending (ShortLex) order."""
    met = np.zeros(group.order, dtype=np.bool_)
    for _, _, before, _, after in _compared(group):
        met[before] = True
        met[after] = True
    met[0] = True
    return np.flatnonzero(met).astype(np.int32)


def automaton(group: Group, trimmed: bool = True) -> Diff:
    """Diff of a group.

    With ``trimmed`` only the transitions that some pair of neighbouring normal forms takes:
    all that a reduction needs.  Without, every transition between two states.
    """
    states = differences(group)
    codes = _used(group) if trimmed else _possible(group, states)
    return _packed(group, states, codes)


def occurring(group: Group, diff: Diff, classes: IntArray) -> NDArray[np.bool_]:
    """``found[c, d]``: some comparison of neighbours is in state d when the left word read so far is an
    element of class c; ``classes`` numbers those.  All classes have the identity's state."""
    number = np.full(group.order, NONE, dtype=np.int32)
    number[diff.elements] = np.arange(diff.states, dtype=np.int32)
    found = np.zeros((int(classes.max()) + 1, diff.states), dtype=np.bool_)
    found[:, 0] = True
    for left, _, before, _, _ in _compared(group):
        found[classes[left], number[before]] = True
    return found


def _compared(group: Group) -> Iterator[tuple[IntArray, IntArray, IntArray, IntArray, IntArray]]:
    """All comparisons of neighbours, from the ends of the words backwards: arrays of (left word before,
    left letter, difference before, right letter, difference after), both letters not being read yet
    and read."""
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
            # Where the rest is common to both words, no difference is left.
            apart = left != right
            left, right, after = left[apart], right[apart], before[apart]


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
    """The transitions that comparisons take, and those of the identity along equal letters."""
    width = group.degree + 1
    letters = np.arange(group.degree, dtype=np.int64)
    found = [_codes(np.zeros(1, np.int64), letters, letters, width)]
    for _, x, before, y, _ in _compared(group):
        found.append(np.unique(_codes(before, x, y, width)))
    return np.unique(np.concatenate(found))


def _possible(group: Group, states: IntArray) -> NDArray[np.int64]:
    """Every transition between two of ``states``."""
    width, pad = group.degree + 1, group.degree
    state = np.zeros(group.order, dtype=np.bool_)
    state[states] = True
    found = []
    for x in range(width):
        half = states if x == pad else group.left[group.inverses[x], states]
        for y in range(width if x < pad else pad):
            end = half if y == pad else group.right[half, y]
            found.append(_codes(states[state[end]], np.int64(x), np.int64(y), width))
    return np.sort(np.concatenate(found))


def _codes(
    before: NDArray[np.signedinteger], x: NDArray[np.signedinteger] | np.int64,
    y: NDArray[np.signedinteger] | np.int64, width: int,
) -> NDArray[np.int64]:  # fmt: skip
    """Transitions as numbers that sort by state, left letter, right letter."""
    return (before.astype(np.int64) * width + x) * width + y


def _packed(group: Group, states: IntArray, codes: NDArray[np.int64]) -> Diff:
    """The arrays, from sorted codes."""
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
