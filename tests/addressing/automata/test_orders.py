"""Orders of letters: names, errors, and the search for better ones."""

from __future__ import annotations

import itertools

import pytest

from addressing.automata import orders
from addressing.automata.differences import differences
from addressing.automata.group import Group, of_graph
from addressing.automata.sizes import measure
from tests.addressing.automata.oracles import SMALL, family, group
from topos.family import ParameterError


def test_named_orders() -> None:
    """Ports of the transposition graph come in colexicographic order."""
    graph = family("transposition:4")
    names = {name: [graph.letters[port - 1] for port in orders.read(graph, name)] for name in orders.NAMES[:3]}
    assert names["natural"] == names["colex"] == ["(1 2)", "(1 3)", "(2 3)", "(1 4)", "(2 4)", "(3 4)"]
    assert names["lex"] == ["(1 2)", "(1 3)", "(1 4)", "(2 3)", "(2 4)", "(3 4)"]
    assert orders.read(family("butterfly:3"), "lex") == (1, 2, 3, 4)
    assert orders.read(family("butterfly:3"), "4.2.3.1") == (4, 2, 3, 1)


@pytest.mark.parametrize("text", ["", "best", "1.2", "1.2.3.3", "1.2.3.5", "1-2-3-4", "0.1.2.3"])
def test_invalid_orders_are_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="ports 1 to 4 separated by full stops"):
        orders.check(family("butterfly:3"), text)


@pytest.mark.parametrize("spec", ["butterfly:5", "pancake:5", "borel:11,3,1,2"])
def test_search_finds_the_best_of_all_orders(spec: str) -> None:
    """Four letters have 24 orders: the best of 60 trials is the best of all orders."""
    graph = family(spec)
    sizes = [len(differences(of_graph(graph, order))) for order in itertools.permutations((1, 2, 3, 4))]
    best = orders.read(graph, "search")
    assert len(differences(of_graph(graph, best))) == min(sizes)
    assert best == orders.read(graph, "search")


def test_trials_have_the_right_number_of_states() -> None:
    graph = family("pancake:5")
    for trial in itertools.islice(orders.search(graph, seed=7), 12):
        assert len(differences(of_graph(graph, trial.order))) == trial.states


def by_definition(concrete: Group) -> set[int]:
    """u(t)^-1 v(t) for all rules u -> v and all t, with the letters and the identity."""
    elements = {0, *(concrete.spell((letter,)) for letter in range(concrete.degree))}
    for left, right in concrete.rules():
        for t in range(len(left) + 1):
            back = [concrete.inverses[letter] for letter in reversed(left[:t])]
            elements.add(concrete.spell((*back, *right[:t])))
    return elements


@pytest.mark.parametrize("spec", SMALL)
def test_sizes(spec: str) -> None:
    sizes, concrete = measure(group(spec)), group(spec)
    assert sizes.diff.states == sizes.trimmed.states == len(differences(concrete))
    assert sizes.trimmed.transitions <= sizes.diff.transitions
    assert sizes.trimmed.bits <= sizes.diff.bits
    assert sizes.rules == len(list(concrete.rules()))
    assert sizes.rule_differences == len(by_definition(concrete)) <= sizes.diff.states
    assert (sizes.elements, sizes.table_entries) == (concrete.order, concrete.order - 1)
