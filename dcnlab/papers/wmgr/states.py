"""WMGR (Aguirre-Guerrero et al.), Figure 7: the states of Diff as a share of the nodes.

Definition 15 counts the word differences of all pairs of neighbouring normal forms.  KBMAG, with which
the paper computed the figure, also builds a smaller automaton, on the differences within the rewriting
rules.  The paper does not say which of the two, nor give the letter orders (they are those of its
reference [38]); so both are readings, on transposition graphs in two orders.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from addressing.automata.differences import differences, rule_differences
from addressing.automata.group import of_graph
from addressing.automata.orders import named
from dcnlab.evaluator.reporting.charts import Chart
from dcnlab.papers import oracles
from dcnlab.papers.claim import Claim, Experiment, Independent, Reading, Row
from dcnlab.papers.wmgr import charts
from topos.bases.cayley import CayleyGraph
from topos.registry import parse

_PAPER = "Aguirre-Guerrero et al., WMGR"
_HOW = "over all elements of the group, by breadth-first search"
#: Section V-D: the families with less than 10 % at n > 720, and those with less than 55 % at n >= 64.
_TENTH = ("hypercube:10", "bubblesort:7", "transposition:7")
_HALF = (
    "star:5",
    "star:6",
    "star:7",
    "butterfly:4",
    "butterfly:5",
    "butterfly:6",
    "butterfly:7",
    "butterfly:8",
)

#: An order of the butterfly's letters under which the differences are few at every size.
_LETTERS = (2, 4, 3, 1)


@cache
def states(spec: str, order: str | tuple[int, ...]) -> tuple[int, int, int]:
    """(word differences, those of the rules, elements) of a Cayley graph's group."""
    family = parse(spec)
    assert isinstance(family, CayleyGraph)
    group = of_graph(family, named(family, order) if isinstance(order, str) else order)
    return len(differences(group)), len(rule_differences(group)), group.order


def _orders(spec: str) -> tuple[str, ...]:
    return ("colex", "lex") if spec.startswith("transposition") else ("natural",)


def _readings(spec: str) -> Iterator[Reading]:
    for order in _orders(spec):
        every, rules, elements = states(spec, order)
        where = "" if order == "natural" else f", {order} order"
        yield Reading(f"all neighbours (Definition 15){where}", 100 * every / elements)
        yield Reading(f"rules only{where}", 100 * rules / elements)
    if spec.startswith("butterfly"):
        every, rules, elements = states(spec, _LETTERS)
        where = f"letters {'.'.join(map(str, _LETTERS))}"
        yield Reading(f"all neighbours (Definition 15), {where}", 100 * every / elements)
        yield Reading(f"rules only, {where}", 100 * rules / elements)


def _measure() -> Iterator[Row]:
    for specs, bound in ((_TENTH, 10), (_HALF, 55)):
        for spec in specs:
            claim = Claim(
                f"{spec}-share", _PAPER, f"{spec}: states of Diff, % of the nodes", bound, _HOW, "<",
                source="Section V-D, paragraph on Fig. 7",
            )  # fmt: skip
            yield Row.by_reading(claim, *_readings(spec))
    for spec in _TENTH:
        order = _orders(spec)[0]
        claim = Claim(
            f"{spec}-states", _PAPER, f"{spec}: states of Diff, {order} order", None, _HOW,
            source="Fig. 7 is a curve without values",
        )  # fmt: skip
        family, _, size = spec.partition(":")
        known = Independent.by(oracles.word_differences, family, int(size))
        yield Row(claim, states(spec, order)[0], independent=known)


def _draw() -> tuple[Chart, ...]:
    """The curves of Figure 7, transposition graphs in both orders."""
    curves = (
        ("hypercube", range(3, 11)), ("bubblesort", range(3, 8)), ("star", range(3, 8)),
        ("transposition", range(3, 8)), ("butterfly", range(3, 9)),
    )  # fmt: skip
    every, rules = {}, {}
    for name, sizes in curves:
        for order in _orders(name):
            points = [states(f"{name}:{s}", order) for s in sizes]
            every[f"{name}, {order}"] = [(one[0], one[2]) for one in points]
            rules[f"{name}, {order}"] = [(one[1], one[2]) for one in points]
    return (charts.states("all neighbours", every), charts.states("rules only", rules))


EXPERIMENTS = (Experiment("wmgr-fig7", _PAPER, "states of Diff on Cayley graphs", _measure, _draw),)
