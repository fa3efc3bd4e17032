"""WMGR (Aguirre-Guerrero et al.), Table I, Figures 7 to 11: stretch on nine families, word differences.

The scheme is the free-group one (``wmgr``).  Pairs are all ordered pairs of nodes, including
switches, unless a claim says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from addressing.automata.differences import differences
from addressing.automata.group import of_graph
from addressing.automata.orders import named
from dcnlab.evaluator.graph.distances import distances
from dcnlab.evaluator.graph.hop_graph import hop_graph
from dcnlab.evaluator.reporting.plots import Chart
from dcnlab.evaluator.reproduce import wmgr_charts as charts
from dcnlab.evaluator.reproduce.claim import Claim, Experiment, Relation, Row
from dcnlab.evaluator.reproduce.measure import routed
from dcnlab.evaluator.routing.path_lengths import PathLengths
from topos.cayley import CayleyGraph
from topos.registry import fabric, parse

_PAPER = "Aguirre-Guerrero et al., WMGR"
_HOW = "exact over all ordered pairs of nodes, root h0, port order, per cent"
_BELOW = 1e-6
_ROOTS = 12
_HOW_ROOTS = f"exact over all ordered pairs of nodes, mean (and range) of {_ROOTS} roots, port order"
_HOW_STATES = "over all elements of the group, by breadth-first search"

_CAYLEY = ("hypercube:7", "bubblesort:5", "star:5", "transposition:5", "butterfly:4")
_CAYLEY_LARGE = ("hypercube:10", "bubblesort:6", "star:6", "transposition:6", "butterfly:7")
_BCUBE, _DCELL = ("bcube:6,2", "bcube:7,2"), ("dcell:3,2", "dcell:2,3")
_RANDOM = ("jellyfish:24,60,12", "xpander:12,4", "slimfly:5")


@cache
def stretch(topology: str, scheme: str = "wmgr", pairs: str = "all") -> PathLengths | None:
    """The path lengths of a scheme; None if there is no such scheme."""
    return routed(topology, scheme, pairs)


def _share(topology: str, below: float, pairs: str = "all") -> float | None:
    """The percentage of pairs with stretch at most ``below``."""
    lengths = stretch(topology, pairs=pairs)
    return None if lengths is None else 100 * lengths.cdf(below)


def _claim(
    topology: str, words: str, printed: float, relation: Relation, computed: float | None = None
) -> Claim:  # fmt: skip
    """A claim in per cent.  Published percentages are integers, or have one digit below 1; the
    independent computation has two digits."""
    return Claim(
        f"{topology}-{words}", _PAPER, f"{topology}: {words}, %", printed, _HOW, relation,
        tolerance=0.05 if printed < 1 else 0.5 if printed < 100 else 0.0, computed=computed, spread=0.15,
    )  # fmt: skip


def _cayley() -> Iterator[Row]:
    for topology in (*_CAYLEY, *_CAYLEY_LARGE):
        yield Row(_claim(topology, "pairs with stretch below 2", 85, ">="), _share(topology, 2 - _BELOW))
        yield Row(_claim(topology, "pairs with stretch at most 2", 85, ">="), _share(topology, 2))


def _bcube() -> Iterator[Row]:
    for topology, below, five in (("bcube:6,2", 82.6, 0.72), ("bcube:7,2", 83.4, 0.63)):
        claim = _claim(topology, "pairs with stretch below 2", 83, ">=", below)
        yield Row(claim, _share(topology, 2 - _BELOW))
        most = _share(topology, 5 - _BELOW)
        claim = _claim(topology, "pairs with stretch of at least 5", 0.6, "<=", five)
        yield Row(claim, None if most is None else 100 - most)


def _dcell() -> Iterator[Row]:
    for topology, words, below, printed, computed in (
        ("dcell:3,2", "pairs with stretch below 2", 2 - _BELOW, 78, 75.6),
        ("dcell:3,2", "pairs with stretch at most 2", 2, 78, 81.7),
        ("dcell:2,3", "pairs with stretch at most 2", 2, 75, 74.3),
    ):
        claim = _claim(topology, words, printed, ">=", computed)
        yield _over_roots(claim, [100 * lengths.cdf(below) for lengths in by_root(topology)])
    claim = _claim("dcell:3,2", "pairs with stretch above 5", 0.5, "<=", 0.44)
    yield _over_roots(claim, [100 - 100 * lengths.cdf(5) for lengths in by_root("dcell:3,2")])


@cache
def by_root(topology: str) -> tuple[PathLengths, ...]:
    """The path lengths for roots spread evenly over the nodes: on DCell the root matters."""
    roots = np.linspace(0, fabric(topology).size - 1, _ROOTS).astype(int)
    results = [routed(topology, f"wmgr:root={root}", "all") for root in roots]
    return tuple(one for one in results if one is not None)


def _over_roots(claim: Claim, shares: Sequence[float]) -> Row:
    """The mean and the range over the roots."""
    return Row(replace(claim, how=_HOW_ROOTS), float(np.mean(shares)), (min(shares), max(shares)))


def _states(spec: str, order: str) -> tuple[int, int]:
    """(word differences, elements) of a Cayley graph's group."""
    family = parse(spec)
    assert isinstance(family, CayleyGraph)
    group = of_graph(family, named(family, order))
    return len(differences(group)), group.order


def _word_differences() -> Iterator[Row]:
    """The number of states of Diff; for star and transposition graphs the paper has only a curve."""
    for spec, order, printed, computed in (
        ("hypercube:10", "natural", 56, 56),
        ("bubblesort:7", "natural", 27, 27),
        ("transposition:7", "colex", None, 197),
        ("transposition:7", "lex", None, 961),
    ):
        statement = f"{spec}: word differences, {order} order"
        yield Row(
            Claim(f"{spec}-{order}", _PAPER, statement, printed, _HOW_STATES, computed=computed),
            _states(spec, order)[0],
        )
    for spec, bound, share in (
        ("star:5", None, 47), ("star:6", None, 43), ("star:7", None, 39),
        ("butterfly:5", 55, None), ("butterfly:6", 55, None), ("butterfly:7", 55, None),
    ):  # fmt: skip
        states, elements = _states(spec, "natural")
        claim = Claim(
            f"{spec}-share", _PAPER, f"{spec}: word differences, natural order, % of the elements", bound,
            _HOW_STATES, "<", computed=share, spread=0.5,
        )  # fmt: skip
        yield Row(claim, 100 * states / elements)


def _others() -> Iterator[Row]:
    for topology in _RANDOM:
        yield Row(_claim(topology, "pairs with stretch below 1.75", 99, ">="), _share(topology, 1.75 - _BELOW))
    for pairs, words in (("servers", "pairs of servers with stretch 1"), ("all", "all pairs with stretch 1")):
        yield Row(_claim("fattree:8", words, 100, ">="), _share("fattree:8", 1, pairs))


def _diameter(topology: str) -> int:
    return distances(hop_graph(fabric(topology))).diameter


_BCUBES = ((4, 1), (6, 1), (4, 2), (6, 2), (4, 3))
_DCELLS = ((2, 1), (4, 1), (2, 2), (3, 2), (2, 3), (3, 3))


def _table() -> Iterator[Row]:
    """The diameters of Table I; DCell's is an upper bound."""
    how = "exact over all pairs of nodes, in links"
    for p, q in _BCUBES:
        claim = Claim(
            f"bcube-{p}-{q}", _PAPER, f"diameter of BCube(p, q) is p + 3, p = {p}, q = {q}", p + 3, how,
            computed=2 * (q + 1),
        )  # fmt: skip
        yield Row(claim, _diameter(f"bcube:{p},{q}"))
    for p, q in _DCELLS:
        bound = 2 ** (q + 1) + 3
        claim = Claim(
            f"dcell-{p}-{q}", _PAPER, f"diameter of DCell(p, q) is at most 2^(q+1) + 3, p = {p}, q = {q}",
            bound, how, "<=",
        )  # fmt: skip
        yield Row(claim, _diameter(f"dcell:{p},{q}"))


# --- figures ----------------------------------------------------------------------


def _table_charts() -> tuple[Chart, ...]:
    drawn = []
    for name, title, sizes in (
        ("bcube", "BCube(p, q); published: p + 3", _BCUBES),
        ("dcell", "DCell(p, q); published: at most 2^(q+1) + 3", _DCELLS),
    ):
        printed = [p + 3 if name == "bcube" else 2 ** (q + 1) + 3 for p, q in sizes]
        specs = [f"{name}:{p},{q}" for p, q in sizes]
        drawn.append(charts.side_by_side(title, specs, printed, [_diameter(spec) for spec in specs]))
    return tuple(drawn)


def _states_charts() -> tuple[Chart, ...]:
    """The curves of Figure 7, transposition graphs in both orders."""
    curves = (
        ("hypercube", "natural", range(3, 11)), ("bubblesort", "natural", range(3, 8)),
        ("star", "natural", range(3, 8)), ("transposition", "colex", range(3, 8)),
        ("transposition", "lex", range(3, 8)), ("butterfly", "natural", range(3, 9)),
    )  # fmt: skip
    counts = {
        f"{name}, {order}": [_states(f"{name}:{s}", order) for s in sizes] for name, order, sizes in curves
    }
    return (charts.states(counts),)


def _chart(title: str, topologies: tuple[str, ...], *baselines: str) -> Chart:
    spreads = {}
    for topology in topologies:
        for scheme, pairs in (("wmgr", "all"), *((name, "sample:2000") for name in baselines)):
            lengths = stretch(topology, scheme, pairs)
            if lengths is not None:
                spreads[f"{topology} {scheme}"] = lengths
    caption = "wmgr over all pairs of nodes, root h0, port order" + (
        f"; {', '.join(baselines)} over 2000 pairs of servers" if baselines else ""
    )
    return charts.stretch(title, spreads, caption)


def _cayley_charts() -> tuple[Chart, ...]:
    small, large = "Cayley graphs of 64 to 128 nodes", "Cayley graphs of 720 to 1024 nodes"
    return _chart(small, _CAYLEY), _chart(large, _CAYLEY_LARGE)


def _bcube_charts() -> tuple[Chart, ...]:
    return (_chart("BCube", ("bcube:4,2", *_BCUBE), "brp"),)


def _dcell_charts() -> tuple[Chart, ...]:
    return (_chart("DCell", ("dcell:3,1", *_DCELL), "dfr"),)


def _other_charts() -> tuple[Chart, ...]:
    return (_chart("Random graphs, Slim fly, fat tree", (*_RANDOM, "fattree:8")),)


EXPERIMENTS = (
    Experiment("wmgr-table1", _PAPER, "diameters", _table, _table_charts),
    Experiment("wmgr-fig7", _PAPER, "word differences of Cayley graphs", _word_differences, _states_charts),
    Experiment("wmgr-fig8", _PAPER, "stretch on five Cayley families", _cayley, _cayley_charts),
    Experiment("wmgr-fig9", _PAPER, "stretch on BCube", _bcube, _bcube_charts),
    Experiment("wmgr-fig10", _PAPER, "stretch on DCell", _dcell, _dcell_charts),
    Experiment("wmgr-fig11", _PAPER, "stretch on other topologies", _others, _other_charts),
)
