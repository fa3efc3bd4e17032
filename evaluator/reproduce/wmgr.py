"""WMGR (Aguirre-Guerrero et al.): stretch of the free-group scheme on nine families, all nodes.

Pairs are all ordered pairs of nodes, servers and switches alike, unless a claim says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from evaluator.adjacency import adjacency
from evaluator.distances import distances
from evaluator.plots import Chart, Series
from evaluator.reproduce.claim import Claim, Experiment, Relation, Row
from evaluator.reproduce.measure import routed
from evaluator.routed import Spread
from topos.registry import fabric

_PAPER = "Aguirre-Guerrero et al., WMGR"
_HOW = "exact over all ordered pairs of nodes, root h0, port order, per cent"
_BELOW = 1e-6

_CAYLEY = ("hypercube:7", "bubblesort:5", "star:5", "transposition:5", "butterfly:4")
_CAYLEY_LARGE = ("hypercube:10", "bubblesort:6", "star:6", "transposition:6", "butterfly:7")
_BCUBE, _DCELL = ("bcube:6,2", "bcube:7,2"), ("dcell:3,2", "dcell:2,3")
_RANDOM = ("jellyfish:24,60,12", "xpander:12,4", "slimfly:5")


@cache
def stretch(topology: str, scheme: str = "wmgr", pairs: str = "all") -> Spread | None:
    """The spread of a scheme; None where there is none."""
    return routed(topology, scheme, pairs)


def _share(topology: str, below: float, pairs: str = "all") -> float | None:
    """Per cent of pairs with stretch at most ``below``."""
    found = stretch(topology, pairs=pairs)
    return None if found is None else 100 * found.cdf(below)


def _claim(
    topology: str, words: str, printed: float, relation: Relation, computed: float | None = None
) -> Claim:  # fmt: skip
    """Printed percentages are whole, or have one digit below 1; computed ones had two."""
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
    yield Row(
        _claim("dcell:3,2", "pairs with stretch below 2", 78, ">=", 75.6), _share("dcell:3,2", 2 - _BELOW)
    )
    yield Row(_claim("dcell:3,2", "pairs with stretch at most 2", 78, ">=", 81.7), _share("dcell:3,2", 2))
    yield Row(_claim("dcell:2,3", "pairs with stretch at most 2", 75, ">=", 74.3), _share("dcell:2,3", 2))
    most = _share("dcell:3,2", 5)
    claim = _claim("dcell:3,2", "pairs with stretch above 5", 0.5, "<=", 0.44)
    yield Row(claim, None if most is None else 100 - most)


def _others() -> Iterator[Row]:
    for topology in _RANDOM:
        yield Row(_claim(topology, "pairs with stretch below 1.75", 99, ">="), _share(topology, 1.75 - _BELOW))
    for pairs, words in (("servers", "pairs of servers with stretch 1"), ("all", "all pairs with stretch 1")):
        yield Row(_claim("fattree:8", words, 100, ">="), _share("fattree:8", 1, pairs))


def _diameter(topology: str) -> int:
    return distances(adjacency(fabric(topology))).diameter


def _table() -> Iterator[Row]:
    """The diameters of Table I that are claims of their own; DCell's is a bound."""
    how = "exact over all pairs of nodes, in links"
    for p, q in ((4, 1), (6, 1), (4, 2), (6, 2), (4, 3)):
        claim = Claim(
            f"bcube-{p}-{q}", _PAPER, f"diameter of BCube(p, q) is p + 3, p = {p}, q = {q}", p + 3, how,
            computed=2 * (q + 1),
        )  # fmt: skip
        yield Row(claim, _diameter(f"bcube:{p},{q}"))
    for p, q in ((2, 1), (4, 1), (2, 2), (3, 2), (2, 3), (3, 3)):
        bound = 2 ** (q + 1) + 3
        claim = Claim(
            f"dcell-{p}-{q}", _PAPER, f"diameter of DCell(p, q) is at most 2^(q+1) + 3, p = {p}, q = {q}",
            bound, how, "<=",
        )  # fmt: skip
        yield Row(claim, _diameter(f"dcell:{p},{q}"))


def _chart(topologies: tuple[str, ...], *baselines: str) -> tuple[Chart, ...]:
    series = []
    for topology in topologies:
        for scheme, pairs in (("wmgr", "all"), *((name, "sample:2000") for name in baselines)):
            found = stretch(topology, scheme, pairs)
            if found is not None:
                points = sorted({1.0, *(i / 20 for i in range(20, 121))})
                cdf = tuple(found.cdf(x) for x in points)
                series.append(Series(f"{topology} {scheme}", tuple(points), cdf))
    caption = "wmgr over all pairs of nodes" + (
        f", {', '.join(baselines)} over 2000 pairs of servers" if baselines else ""
    )
    return (Chart("Stretch", "stretch", "share of pairs", tuple(series), caption, steps=True),)


EXPERIMENTS = (
    Experiment("wmgr-table1", _PAPER, "diameters", _table),
    Experiment("wmgr-fig8", _PAPER, "stretch on five Cayley families", _cayley, lambda: _chart(_CAYLEY)),
    Experiment("wmgr-fig9", _PAPER, "stretch on BCube", _bcube, lambda: _chart(_BCUBE, "brp")),
    Experiment("wmgr-fig10", _PAPER, "stretch on DCell", _dcell, lambda: _chart(_DCELL, "dfr")),
    Experiment("wmgr-fig11", _PAPER, "stretch elsewhere", _others, lambda: _chart((*_RANDOM, "fattree:8"))),
)
