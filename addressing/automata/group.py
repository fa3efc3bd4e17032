"""Finite groups with chosen generators, numbered in ShortLex order.

Words of generators are compared by length, then letter by letter in the chosen order
of letters.  Every element's least word is its *normal form*; elements are numbered in
the order of these, so 0 is the identity, and parents come before children in the tree
of normal forms.  Letters are numbered 0 .. k-1 in their order; k stands for padding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from topos.cayley import CayleyGraph
from topos.graph import IntArray

Word = tuple[int, ...]


class GroupError(ValueError):
    """Generators that make no group of the kind that is needed; one line for the user."""


@dataclass(frozen=True, eq=False)
class Group:
    """A finite group by the tree of its normal forms and its right multiplication table.

    ``vertices[u]`` is the number of element u where the group came from (a vertex of the
    Cayley graph) and ``generators[a]`` that of letter a (port less one); ``right[u, a]``
    is the element u a; normal forms are that of ``parents[u]`` with ``last[u]`` appended.
    """

    names: tuple[str, ...]
    generators: Word
    inverses: Word
    vertices: IntArray
    right: IntArray
    parents: IntArray
    last: IntArray
    lengths: IntArray

    @property
    def order(self) -> int:
        """The number of elements."""
        return len(self.vertices)

    @property
    def degree(self) -> int:
        """The number of letters."""
        return len(self.generators)

    def word(self, element: int) -> Word:
        """The normal form of an element."""
        letters: list[int] = []
        while element:
            letters.append(int(self.last[element]))
            element = int(self.parents[element])
        return tuple(reversed(letters))

    def spell(self, word: Sequence[int], start: int = 0) -> int:
        """The element ``start`` times that of a word."""
        for letter in word:
            start = int(self.right[start, letter])
        return start

    @cached_property
    def ranks(self) -> IntArray:
        """Per vertex of the origin its number here."""
        found = np.empty(self.order, dtype=np.int32)
        found[self.vertices] = np.arange(self.order, dtype=np.int32)
        return found

    @cached_property
    def left(self) -> IntArray:
        """``left[a, u]`` is the element a u."""
        return np.stack([self.translated(int(self.right[0, a])) for a in range(self.degree)])

    def translated(self, element: int) -> IntArray:
        """Per element u the element ``element`` u."""
        found = np.empty(self.order, dtype=np.int32)
        found[0] = element
        for level in self.levels[1:]:
            found[level] = self.right[found[self.parents[level]], self.last[level]]
        return found

    @cached_property
    def inverse(self) -> IntArray:
        """Per element its inverse."""
        found = np.zeros(self.order, dtype=np.int32)
        back = np.array(self.inverses)
        for level in self.levels[1:]:
            found[level] = self.left[back[self.last[level]], found[self.parents[level]]]
        return found

    @cached_property
    def first(self) -> IntArray:
        """Per element the first letter of its normal form; padding for the identity."""
        found = np.full(self.order, self.degree, dtype=np.int32)
        for level in self.levels[1:]:
            above = self.parents[level]
            found[level] = np.where(above == 0, self.last[level], found[above])
        return found

    @cached_property
    def tails(self) -> IntArray:
        """Per element that of its normal form without the first letter; the identity's is itself."""
        found = np.zeros(self.order, dtype=np.int32)
        for level in self.levels[2:]:
            found[level] = self.right[found[self.parents[level]], self.last[level]]
        return found

    def rules(self) -> Iterator[tuple[Word, Word]]:
        """The complete reduced rewriting system: the words that are no normal forms although all
        their parts are, each with its normal form."""
        extends = np.zeros((self.order, self.degree), dtype=np.bool_)
        extends[self.parents[1:], self.last[1:]] = True
        least = ~extends & extends[self.tails]
        least[0] = False
        for element, letter in np.argwhere(least).tolist():
            yield (*self.word(element), letter), self.word(int(self.right[element, letter]))

    @cached_property
    def levels(self) -> tuple[slice, ...]:
        """Per length of normal forms the range of elements."""
        ends = np.cumsum(np.bincount(self.lengths)).tolist()
        return tuple(slice(first, last) for first, last in zip([0, *ends], ends, strict=False))


def of_graph(family: CayleyGraph, order: Sequence[int] | None = None) -> Group:
    """The group of a Cayley graph; ``order`` lists ports (from 1) from the least letter up."""
    images = family.images(np.arange(family.vertices, dtype=np.int64)).astype(np.int32)
    chosen = tuple(range(len(family.letters))) if order is None else tuple(port - 1 for port in order)
    return of_table(images, family.letters, chosen)


def of_table(images: IntArray, names: Sequence[str], order: Word) -> Group:
    """The group with right multiplication table ``images`` (element 0 is the identity), its columns
    taken in ``order``."""
    right = images[:, list(order)]
    vertices, parents, last, lengths = _tree(right)
    if len(vertices) < len(right):
        raise GroupError(f"the generators reach {len(vertices)} of {len(right)} elements")
    ranks = np.empty(len(vertices), dtype=np.int32)
    ranks[vertices] = np.arange(len(vertices), dtype=np.int32)
    inverses = []
    for place, letter in enumerate(order):
        found = np.flatnonzero(right[right[0, place]] == 0)
        if not len(found):
            raise GroupError(f"generator {names[letter]} has no inverse among the generators")
        inverses.append(int(found[0]))
    return Group(
        tuple(names[letter] for letter in order),
        order,
        tuple(inverses),
        vertices,
        ranks[right[vertices]],
        parents,
        last,
        lengths,
    )


def _tree(right: IntArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Breadth first with letters in order: elements as they are first met, which is ShortLex order,
    with the parent (by its number in that order), the last letter, and the length."""
    degree = right.shape[1]
    seen = np.zeros(len(right), dtype=np.bool_)
    seen[0] = True
    frontier: NDArray[np.int32] = np.zeros(1, dtype=np.int32)
    found = [frontier]
    parents, last = [np.zeros(1, dtype=np.int64)], [np.zeros(1, dtype=np.int64)]
    before = 0
    while len(frontier):
        ends = right[frontier].ravel()
        fresh = np.flatnonzero(~seen[ends])
        _, first = np.unique(ends[fresh], return_index=True)
        slots = fresh[np.sort(first)]
        parents.append(before + slots // degree)
        last.append(slots % degree)
        before += len(frontier)
        frontier = ends[slots]
        seen[frontier] = True
        found.append(frontier)
    lengths = np.repeat(np.arange(len(found)), [len(level) for level in found])
    columns = (np.concatenate(found), np.concatenate(parents), np.concatenate(last), lengths)
    vertices, above, letters, depths = (column.astype(np.int32) for column in columns)
    return vertices, above, letters, depths
