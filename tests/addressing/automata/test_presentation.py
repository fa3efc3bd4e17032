"""Completion, acceptor, multiplier and Diff from presentations, compared with the concrete groups."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from addressing.automata import completion, presentations
from addressing.automata.acceptor import of_group
from addressing.automata.differences import automaton
from addressing.automata.group import GroupError
from addressing.automata.presentations import Presentation
from addressing.automata.structure import EQUAL, multiplier
from tests.addressing.automata.oracles import CASES, SMALL, family, group
from tests.addressing.automata.test_differences import transitions

every_case = pytest.mark.parametrize(("spec", "order"), CASES)

#: Infinite groups with complete systems: the plane, the free group, the affine Weyl group of A2.
PLANE = Presentation(("a", "A", "b", "B"), (1, 0, 3, 2), ((0, 2, 1, 3),))
FREE = Presentation(("a", "A", "b", "B"), (1, 0, 3, 2), ())
AFFINE = Presentation(("a", "b", "c"), (0, 1, 2), ((0, 1) * 3, (1, 2) * 3, (0, 2) * 3))


@every_case
def test_relators_are_the_identity(spec: str, order: tuple[int, ...] | None) -> None:
    for relator in presentations.of_family(family(spec), order).relators:
        assert group(spec, order).spell(relator) == 0


@every_case
def test_completion_is_the_group(spec: str, order: tuple[int, ...] | None) -> None:
    """Completion yields the multiplication table and the rules of the concrete group."""
    system = completion.complete(presentations.of_family(family(spec), order))
    concrete = group(spec, order)
    assert np.array_equal(system.group().right, concrete.right)
    assert {tuple(left): tuple(right) for left, right in system.rules.items()} == dict(concrete.rules())
    assert system.acceptor.count == concrete.order
    assert system.acceptor.minimised().states == of_group(concrete).states


@every_case
def test_both_computations_of_diff_agree(spec: str, order: tuple[int, ...] | None) -> None:
    """The multiplier's differences and transitions are those of the group's trimmed Diff."""
    concrete = group(spec, order)
    symbolic = multiplier(completion.complete(presentations.of_family(family(spec), order)))
    pad = concrete.degree

    def letter(read: int | None) -> int:
        return pad if read is None else read

    projected = {
        (concrete.spell(d), letter(x), letter(y), concrete.spell(e)) for d, (x, y), e in symbolic.transitions
    }
    assert projected == transitions(automaton(concrete))
    assert {concrete.spell(d) for d in symbolic.differences} == set(automaton(concrete).elements.tolist())


@pytest.mark.parametrize("spec", ["hypercube:3", "bubblesort:4", "star:4", "butterfly:3", "borel:7,2,1,2"])
def test_multiplier_knows_all_products(spec: str) -> None:
    concrete = group(spec)
    symbolic = multiplier(completion.complete(presentations.of_family(family(spec))))
    words = [bytes(concrete.word(u)) for u in range(concrete.order)]
    for u, v in itertools.product(range(concrete.order), repeat=2):
        letters = [a for a in range(concrete.degree) if concrete.right[u, a] == v]
        expected = EQUAL if u == v else letters[0] if letters else None
        assert symbolic.letter(words[u], words[v]) == expected
    assert symbolic.letter(bytes((0, concrete.inverses[0])), b"") is None


@pytest.mark.parametrize("spec", ["star:4", "butterfly:3", "borel:7,2,1,2"])
def test_presentations_derived_from_a_graph(spec: str) -> None:
    concrete = group(spec)
    system = completion.complete(presentations.of_group(concrete))
    assert np.array_equal(system.group().right, concrete.right)


@pytest.mark.parametrize("spec", SMALL)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_rewriting_random_words(spec: str, data: st.DataObject) -> None:
    concrete = group(spec)
    word = bytes(data.draw(st.lists(st.integers(0, concrete.degree - 1), max_size=30)))
    system = completion.System(
        Presentation(concrete.names, concrete.inverses, ()),
        {bytes(left): bytes(right) for left, right in concrete.rules()},
    )
    assert tuple(system.reduce(word)) == concrete.word(concrete.spell(word))


@settings(max_examples=60, deadline=None)
@given(word=st.lists(st.integers(0, 3), max_size=20), more=st.integers(0, 3))
def test_the_plane(word: list[int], more: int) -> None:
    """Z^2: normal forms are powers of a, then of b; the multiplier finds neighbours of words of any length."""
    system, multiplies = _plane()
    x, y = word.count(0) - word.count(1), word.count(2) - word.count(3)
    least = bytes([0 if x > 0 else 1] * abs(x) + [2 if y > 0 else 3] * abs(y))
    assert system.reduce(bytes(word)) == least
    assert multiplies.letter(least, system.reduce(least + bytes((more,)))) == more


def _plane() -> tuple[completion.System, object]:
    system = completion.complete(PLANE)
    return system, multiplier(system)


@pytest.mark.parametrize(("presentation", "differences"), [(PLANE, 9), (FREE, 5), (AFFINE, 10)])
def test_infinite_groups(presentation: Presentation, differences: int) -> None:
    """Infinite groups have no table, but completion and multiplier terminate."""
    system = completion.complete(presentation)
    assert system.acceptor.count is None
    assert len(multiplier(system).differences) == differences
    with pytest.raises(GroupError, match="infinite"):
        system.group()


def test_collapse() -> None:
    """Relators can make letters equal, or the group trivial."""
    assert completion.complete(Presentation(("a", "b"), (0, 1), ((0, 1),))).group().order == 2
    one = completion.complete(Presentation(("a", "A"), (1, 0), ((0,) * 6, (0,) * 35)))
    assert one.reduce(bytes((0, 1, 0))) == b""
    assert one.acceptor.count == 1


def test_completion_gives_up_in_time() -> None:
    surface = Presentation(tuple("aAbBcCdD"), (1, 0, 3, 2, 5, 4, 7, 6), ((0, 2, 1, 3, 4, 6, 5, 7),))
    with pytest.raises(GroupError, match="no complete system of at most 40 rules"):
        completion.complete(surface, max_rules=40)
