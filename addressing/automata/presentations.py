"""Presentations of the Cayley families: words of generators that are the identity (relators).

Most have closed forms: Coxeter's for the bubble-sort graph (the hypercube's is its commuting case); the
reflections' for the transposition graph (t_ij t_jk t_ij = t_ik, disjoint ones commute); Carmichael's for
the star graph.  Those of pancake, butterfly and Borel graphs are Tietze transformations of Coxeter's
presentation, the wreath product's and the metacyclic group's, whose generators are written as words of
the family's generators.  For any other finite group :func:`of_group` derives a presentation from the
Cayley graph: the cycles over a spanning tree.

The relators "a letter times its inverse" are implied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any

from addressing.automata.group import Group, GroupError, Word, of_graph
from topos.bases.abelian import Abelian
from topos.bases.cayley import CayleyGraph, colex_pairs
from topos.families.borel import Borel
from topos.families.bubblesort import BubbleSort
from topos.families.butterfly import Butterfly
from topos.families.hypercube import Hypercube
from topos.families.pancake import Pancake
from topos.families.star import Star
from topos.families.transposition import Transposition


@dataclass(frozen=True)
class Presentation:
    """Letters 0 .. k-1 in their order, the inverse of each, and the relators: words that are the identity."""

    names: tuple[str, ...]
    inverses: Word
    relators: tuple[Word, ...]

    @property
    def degree(self) -> int:
        """The number of letters."""
        return len(self.names)


def of_family(family: CayleyGraph, order: Word | None = None) -> Presentation:
    """The presentation of a Cayley family, with letters in the same order as :func:`of_graph`."""
    if type(family) not in _RELATORS:
        raise GroupError(
            f"no presentation of {family.spec} is known: compute the group from its graph (--from graph)"
        )
    ports = tuple(range(1, len(family.letters) + 1)) if order is None else order
    letter = {port - 1: place for place, port in enumerate(ports)}
    return Presentation(
        tuple(family.letters[port - 1] for port in ports),
        tuple(letter[family.inverses[port - 1] - 1] for port in ports),
        tuple(tuple(letter[x] for x in relator) for relator in _RELATORS[type(family)](family)),
    )


def of_group(group: Group) -> Presentation:
    """A presentation of any finite group from its Cayley graph: one cycle per edge outside the tree of
    normal forms."""
    cycles = []
    for element in range(group.order):
        for letter in range(group.degree):
            end = int(group.right[element, letter])
            if (int(group.parents[end]), int(group.last[end])) != (element, letter):
                back = _inverse(group.word(end), group.inverses)
                cycles.append((*group.word(element), letter, *back))
    return Presentation(group.names, group.inverses, tuple(dict.fromkeys(cycles)))


def _inverse(word: Word, inverses: Word) -> Word:
    return tuple(inverses[letter] for letter in reversed(word))


def _commuting(family: Hypercube) -> Iterator[Word]:
    """Bit flips commute."""
    for a, b in combinations(range(family.s), 2):
        yield (a, b) * 2


def _coxeter(words: list[Word]) -> Iterator[Word]:
    """Coxeter's relators: neighbouring transpositions satisfy the braid relation, others commute.

    ``words`` are the transpositions of adjacent positions, in order."""
    for (i, a), (j, b) in combinations(enumerate(words), 2):
        yield (a + b) * (3 if j == i + 1 else 2)


def _bubblesort(family: BubbleSort) -> Iterator[Word]:
    return _coxeter([(letter,) for letter in range(family.s - 1)])


def _transposition(family: Transposition) -> Iterator[Word]:
    letter = {frozenset(pair): place for place, pair in enumerate(colex_pairs(family.s))}
    for one, other in permutations(letter, 2):
        if one & other:
            yield letter[one], letter[other], letter[one], letter[one ^ other]
        else:
            yield (letter[one], letter[other]) * 2


def _star(family: Star) -> Iterator[Word]:
    for a, b in combinations(range(family.s - 1), 2):
        yield (a, b) * 3
    for a, b, c in permutations(range(family.s - 1), 3):
        yield (a, b, a, c) * 2


def _pancake(family: Pancake) -> Iterator[Word]:
    """Coxeter's transposition i is r_(i+1) r_2 r_(i+1).  Reversing m positions is reversing m - 1 positions
    followed by the transpositions from the last to the first."""
    exchanges: list[Word] = [(0,), *((i, 0, i) for i in range(1, family.s - 1))]
    yield from _coxeter(exchanges)
    for last in range(1, family.s - 1):
        carried = sum(reversed(exchanges[: last + 1]), ())
        yield (last, last - 1, *carried)


def _butterfly(family: Butterfly) -> Iterator[Word]:
    """Letters g, f, g^-1, f^-1; f g^-1 flips one bit, and g rotates the word."""
    up, down, flip = (0,), (2,), (1, 2)
    yield up * family.s
    yield flip * 2
    for turns in range(1, family.s // 2 + 1):
        yield (flip + up * turns + flip + down * turns) * 2


def _borel(family: Borel) -> Iterator[Word]:
    """Letters A, A^-1, B, B^-1.  With Y = (0, 1) and T = (1, 0), written as their shortest words: Y^p = 1,
    T^k = 1, T Y = Y^a T, A = Y T^t1 and B = Y T^t2."""
    group = of_graph(family)
    turn = group.word(int(group.ranks[family.vertex_of(1, 0)]))
    shift = group.word(int(group.ranks[family.vertex_of(0, 1)]))
    yield shift * family.p
    yield turn * family.k
    yield turn + shift + _inverse(turn, group.inverses) + _inverse(shift * family.a, group.inverses)
    yield (1, *shift, *turn * family.t1)
    yield (3, *shift, *turn * family.t2)


def _abelian(family: Abelian) -> Iterator[Word]:
    """Steps commute; a step taken as often as its order is none; two steps make a third."""
    letters = range(len(family.letters))
    back = [port - 1 for port in family.inverses]
    yield from ((a, b, back[a], back[b]) for a, b in combinations(letters, 2))
    for a in letters:
        vertex, order = family.step(0, a + 1), 1
        while vertex:
            vertex, order = family.step(vertex, a + 1), order + 1
        yield (a,) * order
    ends = {family.step(0, c + 1): c for c in letters}
    for a in letters:
        for b in letters:
            third = ends.get(family.step(family.step(0, a + 1), b + 1))
            if third is not None:
                yield (a, b, back[third])


_RELATORS: dict[type[CayleyGraph], Callable[[Any], Iterator[Word]]] = {
    Abelian: _abelian,
    Borel: _borel,
    BubbleSort: _bubblesort,
    Butterfly: _butterfly,
    Hypercube: _commuting,
    Pancake: _pancake,
    Star: _star,
    Transposition: _transposition,
}
