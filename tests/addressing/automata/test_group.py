"""Normal forms against the graphs, and groups from elements of any kind."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from addressing.automata.acceptor import DEAD, of_group
from addressing.automata.coding import Coding
from addressing.automata.group import GroupError
from tests.addressing.automata.oracles import CASES, family, group, normal_forms, of_elements, steps

every_case = pytest.mark.parametrize(("spec", "order"), CASES)


@every_case
def test_normal_forms_are_least_shortest_words(spec: str, order: tuple[int, ...] | None) -> None:
    concrete, words = group(spec, order), normal_forms(spec, order)
    assert {int(concrete.vertices[u]): concrete.word(u) for u in range(concrete.order)} == words
    numbered = [concrete.word(u) for u in range(concrete.order)]
    assert numbered == sorted(numbered, key=lambda word: (len(word), word))
    assert [len(word) for word in numbered] == concrete.lengths.tolist()


@every_case
def test_tables_are_the_group(spec: str, order: tuple[int, ...] | None) -> None:
    concrete, graph, ends = group(spec, order), family(spec), steps(spec, order)
    vertex = concrete.vertices.tolist()
    for u in range(concrete.order):
        assert concrete.ranks[vertex[u]] == u
        assert vertex[concrete.inverse[u]] == graph.inverse(vertex[u])
        assert concrete.spell(concrete.word(u)) == u
        assert concrete.word(int(concrete.tails[u])) == concrete.word(u)[1:]
        assert tuple(concrete.word(u)[:1] or (concrete.degree,)) == (int(concrete.first[u]),)
        for letter in range(concrete.degree):
            assert vertex[concrete.right[u, letter]] == ends[vertex[u]][letter]
            assert vertex[concrete.left[letter, u]] == graph.product(ends[0][letter], vertex[u])
            assert concrete.right[concrete.right[u, letter], concrete.inverses[letter]] == u


@every_case
def test_rules_are_the_minimal_words_that_are_not_normal_forms(
    spec: str, order: tuple[int, ...] | None
) -> None:
    concrete = group(spec, order)
    words = {word: u for u, word in enumerate(concrete.word(u) for u in range(concrete.order))}
    expected = {
        (*word, letter): concrete.word(int(concrete.right[u, letter]))
        for word, u in words.items()
        for letter in range(concrete.degree)
        if (*word, letter) not in words and (*word[1:], letter) in {**words, (letter,): 0} and word
    }
    assert dict(concrete.rules()) == expected


@every_case
def test_acceptor_of_a_group(spec: str, order: tuple[int, ...] | None) -> None:
    concrete = group(spec, order)
    acceptor = of_group(concrete)
    assert acceptor.count == concrete.order
    for u in range(concrete.order):
        state = acceptor.read(concrete.word(u))
        longer = [
            concrete.word(int(concrete.right[u, a])) == (*concrete.word(u), a) for a in range(concrete.degree)
        ]
        assert [end != DEAD for end in acceptor.moves[state]] == longer
    assert acceptor.minimised().states == acceptor.states


@every_case
def test_labels_have_their_ancestors_labels_as_prefixes(spec: str, order: tuple[int, ...] | None) -> None:
    concrete = group(spec, order)
    coding = Coding.of(concrete)
    assert len(coding.elements) == concrete.order
    assert max(coding.labels) < 1 << coding.bits
    below = sorted(range(concrete.order), key=lambda u: coding.labels[u])
    assert below == sorted(range(concrete.order), key=concrete.word)


def test_groups_of_permutations() -> None:
    """Adjacent transpositions of five symbols, as tuples, generate the bubble-sort graph."""
    exchanges = [tuple(x + (x == i) - (x == i + 1) for x in range(5)) for i in range(4)]
    permutations = of_elements(exchanges, tuple(range(5)), lambda u, v: tuple(u[x] for x in v))
    assert np.array_equal(permutations.right, group("bubblesort:5").right)


def test_groups_of_matrices() -> None:
    """Matrices modulo 7 generate the Borel graph."""

    def times(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
        rows = ((a[i] * b[j] + a[i + 1] * b[j + 2]) % 7 for i, j in itertools.product((0, 2), (0, 1)))
        return tuple(rows)

    def matrix(t: int, y: int) -> tuple[int, ...]:
        return pow(2, t, 7), y % 7, 0, 1

    one, other = matrix(1, 1), matrix(2, 1)
    back = [matrix(-1, -pow(2, -1, 7)), matrix(-2, -pow(2, -2, 7))]
    matrices = of_elements([one, back[0], other, back[1]], matrix(0, 0), times)
    assert np.array_equal(matrices.right, group("borel:7,2,1,2").right)


def test_generators_without_inverses_are_refused() -> None:
    with pytest.raises(GroupError, match="no inverse among the generators"):
        of_elements([1], 0, lambda u, v: (u + v) % 3)


def test_samples_of_a_larger_group() -> None:
    """star:7, against the graph's own products."""
    concrete, graph, draw = group("star:7"), family("star:7"), random.Random(1)
    for _ in range(200):
        u, v = draw.randrange(concrete.order), draw.randrange(concrete.order)
        there = concrete.translated(int(concrete.inverse[u]))[v]
        inverse, other = graph.inverse(int(concrete.vertices[u])), int(concrete.vertices[v])
        assert int(concrete.vertices[there]) == graph.product(inverse, other)
