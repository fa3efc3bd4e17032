"""Finite groups with chosen generators, numbered in ShortLex order.

Words of generators are compared by length, then letter by letter in the chosen order of letters.  An
element's least word is its *normal form*.  Elements are numbered in the order of their normal forms, so 0
is the identity, and parents come before children in the tree of normal forms.  Letters are numbered
0 .. k-1 in their order; k stands for padding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from topos.bases.cayley import CayleyGraph
from topos.graph import IntArray

Word = tuple[int, ...]


class GroupError(ValueError):
    """Generators or relators from which the group cannot be built; the text is one line for the user."""


@dataclass(frozen=True, eq=False)
class Group:
    """A finite group by the tree of its normal forms and its right multiplication table.

    ``vertices[u]`` is the vertex of element u in the Cayley graph, and ``generators[a]`` the port of letter
    a there, less one.  ``right[u, a]`` is the element u a.  The normal form of u is that of ``parents[u]``
    followed by ``last[u]``; ``lengths[u]`` is its length.
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
        """The element that ``start`` times a word is."""
        for letter in word:
            start = int(self.right[start, letter])
        return start

    @cached_property
    def ranks(self) -> IntArray:
        """Per vertex of the Cayley graph its element."""
        ranks = np.empty(self.order, dtype=np.int32)
        ranks[self.vertices] = np.arange(self.order, dtype=np.int32)
        return ranks

    @cached_property
    def left(self) -> IntArray:
        """``left[a, u]`` is the element a u."""
        return np.stack([self.translated(int(self.right[0, a])) for a in range(self.degree)])

    def translated(self, element: int) -> IntArray:
        """Per element u the product of ``element`` and u."""
        products = np.empty(self.order, dtype=np.int32)
        products[0] = element
        for level in self.levels[1:]:
            products[level] = self.right[products[self.parents[level]], self.last[level]]
        return products

    @cached_property
    def inverse(self) -> IntArray:
        """Per element its inverse."""
        inverse = np.zeros(self.order, dtype=np.int32)
        letters = np.array(self.inverses)
        for level in self.levels[1:]:
            inverse[level] = self.left[letters[self.last[level]], inverse[self.parents[level]]]
        return inverse

    @cached_property
    def first(self) -> IntArray:
        """Per element the first letter of its normal form; padding for the identity."""
        first = np.full(self.order, self.degree, dtype=np.int32)
        for level in self.levels[1:]:
            above = self.parents[level]
            first[level] = np.where(above == 0, self.last[level], first[above])
        return first

    @cached_property
    def tails(self) -> IntArray:
        """Per element the element of its normal form without the first letter; the identity for itself."""
        tails = np.zeros(self.order, dtype=np.int32)
        for level in self.levels[2:]:
            tails[level] = self.right[tails[self.parents[level]], self.last[level]]
        return tails

    def rules(self) -> Iterator[tuple[Word, Word]]:
        """The complete reduced rewriting system: the words that are not normal forms although all
        their proper factors are, each with its normal form."""
        extends = np.zeros((self.order, self.degree), dtype=np.bool_)
        extends[self.parents[1:], self.last[1:]] = True
        least = ~extends & extends[self.tails]
        least[0] = False
        for element, letter in np.argwhere(least).tolist():
            yield (*self.word(element), letter), self.word(int(self.right[element, letter]))

    @cached_property
    def levels(self) -> tuple[slice, ...]:
        """Per length of normal forms the slice of elements."""
        ends = np.cumsum(np.bincount(self.lengths)).tolist()
        return tuple(slice(first, last) for first, last in zip([0, *ends], ends, strict=False))


def of_graph(family: CayleyGraph, order: Sequence[int] | None = None) -> Group:
    """The group of a Cayley graph; ``order`` lists ports (from 1) in ascending order of letters."""
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
        inverse = np.flatnonzero(right[right[0, place]] == 0)
        if not len(inverse):
            raise GroupError(f"generator {names[letter]} has no inverse among the generators")
        inverses.append(int(inverse[0]))
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
    """Breadth-first search with letters in order, which visits elements in ShortLex order: the elements,
    and of each its parent (by number in this order), last letter and length."""
    degree = right.shape[1]
    seen = np.zeros(len(right), dtype=np.bool_)
    seen[0] = True
    frontier: NDArray[np.int32] = np.zeros(1, dtype=np.int32)
    levels = [frontier]
    parents, last = [np.zeros(1, dtype=np.int64)], [np.zeros(1, dtype=np.int64)]
    before = 0
    while len(frontier):
        ends = right[frontier].ravel()
        fresh = np.flatnonzero(~seen[ends])
        _, first = np.unique(ends[fresh], return_index=True)
        edges = fresh[np.sort(first)]
        parents.append(before + edges // degree)
        last.append(edges % degree)
        before += len(frontier)
        frontier = ends[edges]
        seen[frontier] = True
        levels.append(frontier)
    lengths = np.repeat(np.arange(len(levels)), [len(level) for level in levels])
    columns = (np.concatenate(levels), np.concatenate(parents), np.concatenate(last), lengths)
    vertices, above, letters, depths = (column.astype(np.int32) for column in columns)
    return vertices, above, letters, depths
