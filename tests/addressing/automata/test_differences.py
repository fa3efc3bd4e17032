"""Word differences against WMGR's Definition 15 and the paper's numbers."""

from __future__ import annotations

import itertools

import pytest

from addressing.automata import orders
from addressing.automata.differences import Diff, automaton, differences
from addressing.automata.group import of_graph
from tests.addressing.automata.oracles import CASES, definition15, family, group

every_case = pytest.mark.parametrize(("spec", "order"), CASES)


def transitions(diff: Diff) -> set[tuple[int, int, int, int]]:
    """(element, left letter, right letter, element)."""
    width = diff.degree + 1
    rows = zip(diff.rows.tolist(), diff.right.tolist(), diff.target.tolist(), strict=True)
    element = diff.elements.tolist()
    return {(element[row // width], row % width, right, element[end]) for row, right, end in rows}


@every_case
def test_states_are_those_of_the_definition(spec: str, order: tuple[int, ...] | None) -> None:
    concrete = group(spec, order)
    assert {int(concrete.vertices[u]) for u in differences(concrete)} == definition15(spec, order)


@every_case
def test_transitions_by_products(spec: str, order: tuple[int, ...] | None) -> None:
    """All x^-1 d y that are differences; the trimmed ones are those that some pair of neighbours takes."""
    concrete = group(spec, order)
    states, pad = set(differences(concrete).tolist()), concrete.degree
    letters = range(pad + 1)
    back = [*concrete.inverses, pad]

    def end(d: int, x: int, y: int) -> int:
        word = [letter for letter in (back[x], *concrete.word(d), y) if letter < pad]
        return concrete.spell(word)

    pairs = [pair for pair in itertools.product(letters, letters) if pair != (pad, pad)]
    full = {(d, x, y, end(d, x, y)) for d in states for x, y in pairs if end(d, x, y) in states}
    assert transitions(automaton(concrete, trimmed=False)) == full
    used = {(0, letter, letter, 0) for letter in range(pad)}
    for u in range(concrete.order):
        for v in concrete.right[u].tolist():
            d = 0
            for x, y in itertools.zip_longest(concrete.word(u), concrete.word(v), fillvalue=pad):
                used.add((d, x, y, end(d, x, y)))
                d = end(d, x, y)
    assert transitions(automaton(concrete)) == used


@pytest.mark.parametrize(
    ("spec", "order", "states"),
    [
        ("hypercube:10", "natural", 56), ("bubblesort:7", "natural", 27), ("transposition:7", "colex", 197),
        ("transposition:7", "lex", 961),
    ],
)  # fmt: skip
def test_sizes_of_the_paper(spec: str, order: str, states: int) -> None:
    assert len(differences(of_graph(family(spec), orders.named(family(spec), order)))) == states


@pytest.mark.parametrize(("s", "percent"), [(5, 47), (6, 43), (7, 39)])
def test_shares_of_the_star_graph(s: int, percent: int) -> None:
    concrete = group(f"star:{s}")
    assert int(100 * len(differences(concrete)) / concrete.order) == percent


def test_butterfly_is_below_55_percent_except_for_s_5_and_7() -> None:
    """s = 5 exceeds it in every order of letters; s = 7 in the natural order, but not in another one."""

    def share(s: int, order: tuple[int, ...]) -> float:
        concrete = of_graph(family(f"butterfly:{s}"), order)
        return len(differences(concrete)) / concrete.order

    natural = (1, 2, 3, 4)
    assert min(share(5, order) for order in itertools.permutations(natural)) > 0.55
    assert [s for s in range(4, 10) if share(s, natural) > 0.55] == [5, 7]
    assert share(7, (4, 2, 3, 1)) < 0.55
