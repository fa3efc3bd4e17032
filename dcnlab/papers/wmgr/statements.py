"""WMGR (Aguirre-Guerrero et al.), sections II to V-D: figures, the size of Diff, k, hyperbolicity, sorts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache, partial, reduce

import numpy as np

from addressing.algorithms.freegroup import common_prefix_length
from addressing.automata import sizes
from addressing.automata.differences import automaton, differences
from addressing.automata.discovery import discover
from addressing.automata.group import Group, of_graph
from addressing.automata.orders import named
from addressing.automata.presentations import of_family
from addressing.automata.reduction import Reducer
from addressing.registry import bind
from dcnlab.evaluator.graph.hyperbolicity import hyperbolicity
from dcnlab.evaluator.routing.table_sizes import table_sizes
from dcnlab.papers import oracles
from dcnlab.papers.claim import Claim, Experiment, Independent, Row
from dcnlab.papers.measure import routed
from dcnlab.papers.wmgr.states import states
from topos.bases.cayley import CayleyGraph
from topos.family import Family
from topos.registry import fabric, parse

_PAPER = "Aguirre-Guerrero et al., WMGR"
_claim = partial(Claim.of, _PAPER)


@cache
def group_of(spec: str) -> Group:
    """The group of a Cayley graph, in the order of letters that has the fewest word differences."""
    family = parse(spec)
    assert isinstance(family, CayleyGraph)
    return of_graph(family, named(family, "colex" if spec.startswith("transposition") else "natural"))


# --- worked figures ---------------------------------------------------------------------


def _figures() -> Iterator[Row]:
    """The 3-cube with a = 001, b = 100, c = 010: the ports 1, 3 and 2."""
    cube = parse("hypercube:3")
    assert isinstance(cube, CayleyGraph)
    group = of_graph(cube, (1, 3, 2))
    reducer = Reducer(automaton(group))
    for number, word, normal in ((1, "cbcb", ""), (1, "acac", ""), (3, "cbab", "ac")):
        reduced = "".join("abc"[letter] for letter in reducer.reduce("abc".index(letter) for letter in word))
        claim = _claim(
            f"figure-{number}-{word}", f"Fig. {number}",
            f"{word} reduces to {normal or 'the empty word'}: 1 if so",
            "the automaton Diff of the 3-cube, a < b < c", 1,
        )  # fmt: skip
        yield Row(claim, int(reduced == normal))
    for word, distance in (("ab", 1), ("c", 2)):
        measured = len(word) + len("a") - 2 * common_prefix_length(tuple(map(ord, word)), (ord("a"),))
        claim = _claim(
            f"figure-5-{word}", "section IV-C, on Fig. 5",
            f"distance from {word} to a", "the free group's metric",
            distance,
        )  # fmt: skip
        yield Row(claim, measured)


# --- the size of Diff, and k -----------------------------------------------------------------


def _ball_sizes() -> Iterator[Row]:
    for family, size in (("hypercube", 10), ("bubblesort", 5), ("transposition", 5), ("star", 5)):
        spec, order = f"{family}:{size}", "colex" if family == "transposition" else "natural"
        size_of_diff = states(spec, order)[0]
        k = fellow_traveller(spec)
        claim = _claim(
            f"ball-{spec}", "section V-D: |sigma_Diff| = |B(Id, k)|",
            f"{spec}: states of Diff, as many as the ball of radius k = {k} has nodes",
            "Definition 15; k is the length of the longest word difference", oracles.ball(family, size, k),
        )  # fmt: skip
        yield Row(claim, size_of_diff, independent=Independent.by(oracles.word_differences, family, size))


def _memory() -> Iterator[Row]:
    """Bits of Diff over those of the word acceptor or the rules, whichever are fewer."""
    for spec in ("hypercube:7", "bubblesort:5", "star:5", "transposition:5", "butterfly:4"):
        measured = sizes.measure(group_of(spec))
        others = {"WA": measured.acceptor.bits, "CRS": measured.rule_bits}
        least = min(others, key=lambda name: others[name])
        claim = _claim(
            f"memory-{spec}", 'section IV-B, [33]: "Diff has the lowest memory space complexity"',
            f"{spec}: bits of Diff over those of {least}",
            "packed tables of the transitions; of the rules the letters of both sides", 1, "<",
        )  # fmt: skip
        yield Row(claim, measured.trimmed.bits / others[least])


def fellow_traveller(spec: str) -> int:
    """k of Definition 14: the letters of the longest word difference."""
    group = group_of(spec)
    return int(group.lengths[differences(group)].max())


def _fellow() -> Iterator[Row]:
    how = "the longest word difference (Definition 15)"
    sizes_of = {"hypercube": (4, 6, 8, 10), "transposition": (4, 5, 6, 7), "bubblesort": (4, 5, 6, 7)}
    for family, every in sizes_of.items():
        for s in every[1:]:
            claim = _claim(
                f"k-constant-{family}:{s}", "section V-D: k is constant in these families",
                f"k of {family}:{s} less that of {family}:{every[0]}", how, 0,
            )  # fmt: skip
            yield Row(claim, fellow_traveller(f"{family}:{s}") - fellow_traveller(f"{family}:{every[0]}"))
    for family in ("star", "butterfly"):
        claim = _claim(
            f"k-grows-{family}", "section V-D: k grows in terms of D in Star and Butterfly",
            f"k of {family}:7 over that of {family}:4", how, 1, ">",
        )  # fmt: skip
        yield Row(claim, fellow_traveller(f"{family}:7") / fellow_traveller(f"{family}:4"))
    for s in (5, 6, 7):
        spec = f"butterfly:{s}"
        claim = _claim(
            f"k-close-{spec}", "section V-D: in the Butterfly graphs k is very close to D",
            f"{spec}: D less k, at most 1", how, 1, "<=",
        )  # fmt: skip
        yield Row(claim, int(group_of(spec).lengths.max()) - fellow_traveller(spec))


def _hyperbolic() -> Iterator[Row]:
    for family, s in (("hypercube", 5), ("bubblesort", 4), ("star", 4), ("transposition", 4), ("butterfly", 4)):
        spec = f"{family}:{s}"
        delta, diameter = hyperbolicity(fabric(spec)).delta, int(group_of(spec).lengths.max())
        known = Independent.by(oracles.hyperbolicity, family, s) if family != "butterfly" else None
        claim = _claim(
            f"delta-below-{spec}", "section V-D, [3]: delta <= D/2",
            f"{spec}: delta, at most D/2 = {diameter / 2:g}",
            "exact over all quadruples", diameter / 2, "<=",
        )  # fmt: skip
        yield Row(claim, delta, independent=known)
        half = fellow_traveller(spec) / 2
        claim = _claim(
            f"delta-above-{spec}", "section V-D, [3]: delta > k/2",
            f"{spec}: delta, above k/2 = {half:g}",
            "exact over all quadruples", half, ">",
        )  # fmt: skip
        yield Row(claim, delta)


def _orders() -> Iterator[Row]:
    """Finite groups have a Diff in every order; each is tried on all products with a letter."""
    family = parse("bubblesort:4")
    assert isinstance(family, CayleyGraph)
    ports = range(1, len(family.letters) + 1)
    every = list(itertools.permutations(ports))
    claim = _claim(
        "orders", 'section V-D: bubble-sort is "Short-Lex automatic only with some lexicographic orders"',
        f"orders of the letters of bubblesort:4 whose Diff reduces every product, of {len(every)}",
        "all elements times all letters, reduced by Diff", len(every), "<",
    )  # fmt: skip
    yield Row(claim, sum(_reduces(of_graph(family, order)) for order in every))


def _reduces(group: Group) -> bool:
    reducer = Reducer(automaton(group))
    return all(
        reducer.reduce((letter,), group.word(element)) == group.word(int(group.right[element, letter]))
        for element in range(group.order)
        for letter in range(group.degree)
    )


# --- permutation sort -------------------------------------------------------------------------


def _sorts() -> Iterator[Row]:
    for spec in ("hypercube:6", "butterfly:4", "star:5", "pancake:5"):
        lengths = routed(spec, "permsort")
        claim = _claim(
            f"sort-{spec}", "section II", f"{spec}: largest stretch of permutation sort",
            "exact over all pairs; the scheme permsort", 1, "<=",
        )  # fmt: skip
        yield Row(claim, None if lengths is None else lengths.stretch_max)


def _reference_17() -> Iterator[Row]:
    for spec in ("hypercube:5", "star:5", "pancake:5", "butterfly:4"):
        ours, full = (
            table_sizes(bind(name, fabric(spec)), 1).entries_mean for name in ("vertex-transitive", "shortest")
        )
        claim = _claim(
            f"tables-{spec}", 'section II, [17]: "equivalent to having full routing tables"',
            f"{spec}: entries of vertex-transitive routing over those of full tables", "mean over all nodes", 1,
        )  # fmt: skip
        yield Row(claim, ours / full)


def _below_diameter() -> Iterator[Row]:
    for spec in ("hypercube:8", "bubblesort:6", "star:6", "transposition:6", "butterfly:6"):
        diameter = int(group_of(spec).lengths.max())
        claim = _claim(
            f"k-below-{spec}", "section V-D, [3]: k <= D", f"{spec}: k, at most D = {diameter}",
            "the longest word difference (Definition 15)", diameter, "<=",
        )  # fmt: skip
        yield Row(claim, fellow_traveller(spec))


def _explored() -> Iterator[Row]:
    for spec in ("hypercube:4", "bubblesort:4", "star:4", "transposition:4", "butterfly:3"):
        claim = _claim(
            f"explored-{spec}", "section IV-A, footnote 2",
            f"{spec}: relators that close at every vertex with the letters found by exploring, per cent",
            "Todd and Coxeter's enumeration over the links, which have no letters before", 100,
        )  # fmt: skip
        yield Row(claim, _closing(parse(spec)))


def _closing(family: Family) -> float:
    """The share of (vertex, relator) whose letters, as discovered from the links alone, lead back."""
    assert isinstance(family, CayleyGraph)
    presentation = of_family(family)
    following = discover(family.images(np.arange(family.vertices)).tolist(), presentation)
    if following is None:
        return 0.0
    ends = [
        (at, reduce(lambda here, letter: following[here][letter], relator, at))
        for at in range(family.vertices)
        for relator in presentation.relators
    ]
    return 100 * sum(start == end for start, end in ends) / len(ends)


def _rows() -> Iterator[Row]:
    parts = (
        _figures, _ball_sizes, _memory, _fellow, _hyperbolic, _orders, _sorts, _reference_17, _below_diameter,
        _explored,
    )  # fmt: skip
    for part in parts:
        yield from part()


EXPERIMENTS = (
    Experiment("wmgr-statements", _PAPER, "worked figures, the size of Diff, k, hyperbolicity, sorts", _rows),
)
