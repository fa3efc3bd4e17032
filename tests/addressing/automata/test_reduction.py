"""Reduction by Diff against normal forms: every element, random words, both implementations.

The last tests show why the paper's Algorithm 4 fails: it takes one transition where all must be followed.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from addressing.automata.differences import Diff, automaton
from addressing.automata.group import Word
from addressing.automata.kernels import ReverseDiff
from addressing.automata.reduction import Reducer
from tests.addressing.automata.oracles import CASES, SMALL, group, normal_forms

every_case = pytest.mark.parametrize(("spec", "order"), CASES)


@functools.cache
def reducer(spec: str, order: tuple[int, ...] | None = None, trimmed: bool = True) -> Reducer:
    return Reducer(automaton(group(spec, order), trimmed))


@functools.cache
def beside(spec: str, order: tuple[int, ...] | None = None) -> ReverseDiff:
    return ReverseDiff.of_group(group(spec, order))


@functools.cache
def backwards(spec: str, order: tuple[int, ...] | None = None, trimmed: bool = True) -> ReverseDiff:
    return ReverseDiff.of(automaton(group(spec, order), trimmed))


def in_bulk(machine: ReverseDiff, words: list[Word], longest: int) -> list[Word]:
    """Reduce words of any lengths with the compiled kernels."""
    pad = machine.diff.degree
    rows = np.full((len(words), max(1, *map(len, words))), pad, dtype=np.int32)
    for row, word in zip(rows, words, strict=True):
        row[: len(word)] = word
    return [tuple(x for x in row if x < pad) for row in machine.reduce(rows, longest).tolist()]


@every_case
@pytest.mark.parametrize("trimmed", [True, False])
def test_every_product_of_an_element_and_a_letter(
    spec: str, order: tuple[int, ...] | None, trimmed: bool
) -> None:
    """The reductions that longer words consist of; both implementations, on both forms of Diff."""
    concrete, words = group(spec, order), normal_forms(spec, order)
    appended = [(*concrete.word(u), a) for u in range(concrete.order) for a in range(concrete.degree)]
    expected = [words[int(concrete.vertices[v])] for v in concrete.right.ravel()]
    forwards = reducer(spec, order, trimmed)
    assert [forwards.reduce(word[-1:], start=word[:-1]) for word in appended] == expected
    assert in_bulk(backwards(spec, order, trimmed), appended, int(concrete.lengths[-1])) == expected
    if trimmed:  # the third is made from the group itself
        assert in_bulk(beside(spec, order), appended, int(concrete.lengths[-1])) == expected


@pytest.mark.parametrize("spec", SMALL)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_random_words(spec: str, data: st.DataObject) -> None:
    concrete = group(spec)
    word = tuple(data.draw(st.lists(st.integers(0, concrete.degree - 1), max_size=40)))
    least = concrete.word(concrete.spell(word))
    assert reducer(spec).reduce(word) == least
    assert in_bulk(backwards(spec), [word], int(concrete.lengths[-1])) == [least]
    assert in_bulk(beside(spec), [word], int(concrete.lengths[-1])) == [least]
    assert reducer(spec).reduce((*reducer(spec).inverse(word), *word)) == ()


@pytest.mark.parametrize("spec", ["star:7", "transposition:7", "butterfly:9", "bubblesort:7"])
def test_long_words_in_large_groups(spec: str) -> None:
    concrete = group(spec)
    drawn = np.random.default_rng(3).integers(0, concrete.degree, (200, 100)).tolist()
    words = [tuple(word) for word in drawn]
    expected = [concrete.word(concrete.spell(word)) for word in words]
    assert in_bulk(backwards(spec), words, int(concrete.lengths[-1])) == expected
    assert in_bulk(beside(spec), words, int(concrete.lengths[-1])) == expected
    assert [reducer(spec).reduce(word) for word in words[:5]] == expected[:5]


# --- the paper's Algorithm 4 ---------------------------------------------------------------


def replaced_once(diff: Diff, word: Word, start: int, itself: bool) -> tuple[int, Word] | None:
    """A step of Algorithm 4 as we read it: from the identity at position ``start`` always take Diff's
    first transition (padding is the least letter), until the identity is reached again.

    Returns the position after that and the right letters.  With ``itself`` a letter is first paired
    with itself, as in the paper."""
    state, out, pad = 0, [], diff.degree
    for place in range(start, len(word)):
        arcs = diff.arcs[state * (pad + 1) + word[place]]
        ordered = sorted(
            arcs, key=lambda arc: (not (itself and arc[0] == word[place]), (arc[0] + 1) % (pad + 1))
        )
        if not ordered:
            return None
        right, state = ordered[0]
        out += [right] if right < pad else []
        if state == 0:
            return place + 1, tuple(out)
    return None


def published(diff: Diff, word: Word, most: int) -> int:
    """The rounds, at most ``most``, of Algorithm 4 as published: it repeats while a step is accepted."""
    for rounds in range(most):
        replacement = replaced_once(diff, word, 0, itself=True)
        if replacement is None:
            return rounds
        word = (*replacement[1], *word[replacement[0] :])
    return most


def repaired(diff: Diff, word: Word) -> Word:
    """Algorithm 4 corrected so that it terminates: a replacement must make the word smaller."""
    for start in range(len(word)):
        replacement = replaced_once(diff, word, start, itself=False)
        if replacement is not None:
            shorter = (*word[:start], *replacement[1], *word[replacement[0] :])
            if (len(shorter), shorter) < (len(word), word):
                return repaired(diff, shorter)
    return word


def test_algorithm_4_as_published_does_not_terminate() -> None:
    """It pairs the first letter with itself in every round."""
    diff = automaton(group("bubblesort:5"), trimmed=False)
    assert published(diff, (0, 1, 2), most=10_000) == 10_000


@pytest.mark.parametrize(("spec", "wrong"), [("bubblesort:5", 0.75), ("star:5", 0.75)])
def test_algorithm_4_corrected_to_terminate_is_mostly_wrong(spec: str, wrong: float) -> None:
    """Its result is the same element, but for more than three pairs in four not the least word."""
    concrete, diff = group(spec), automaton(group(spec), trimmed=False)
    forwards = reducer(spec)
    failures = pairs = 0
    for u in range(0, concrete.order, 13):
        for v in range(concrete.order):
            word = (*forwards.inverse(concrete.word(u)), *concrete.word(v))
            least, answer = forwards.reduce(word), repaired(diff, word)
            assert concrete.spell(answer) == concrete.spell(word)
            assert (len(least), least) <= (len(answer), answer)
            failures, pairs = failures + (answer != least), pairs + 1
    assert failures > wrong * pairs


def test_effort_counts_the_letters_read() -> None:
    """A word in normal form is read once; each letter costs one more for the look-up of its product."""
    concrete = group("star:4")
    reducer = Reducer(automaton(concrete))
    for element in range(concrete.order):
        word = concrete.word(element)
        assert reducer.effort(word) == 2 * len(word)
        assert reducer.effort((*word, *reducer.inverse(word))) >= 3 * len(word)
