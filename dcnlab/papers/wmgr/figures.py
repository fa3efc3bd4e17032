"""WMGR (Aguirre-Guerrero et al.), Figures 8 to 11, Theorems 9 and 10: stretch.

The scheme is the free-group one (``wmgr``).  Pairs are all ordered pairs of nodes, including
switches, unless a claim says otherwise.  The paper names the families but not the sizes, the root or the
order of letters; "less than 2" is also read as "at most 2".
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np

from addressing.algorithms.scan.wmgr_scan_order import ORDERS
from addressing.registry import bind
from dcnlab.evaluator.graph.pairs import choose
from dcnlab.evaluator.reporting.charts import Chart, Series
from dcnlab.evaluator.routing.path_lengths import PathLengths, path_lengths
from dcnlab.papers.claim import Claim, Experiment, Reading, Relation, Row
from dcnlab.papers.measure import routed
from dcnlab.papers.wmgr import charts
from dcnlab.papers.wmgr.topologies import diameter
from topos.bases.cayley import CayleyGraph, Relettered
from topos.fabric import Fabric
from topos.registry import fabric, parse

_PAPER = "Aguirre-Guerrero et al., WMGR"
_HOW = "exact over all ordered pairs of nodes, root h0, port order, per cent"
_BELOW = 1e-6
_ROOTS = 12
_HOW_ROOTS = f"exact over all ordered pairs of nodes, mean (and range) of {_ROOTS} roots, port order"

_CAYLEY = ("hypercube:7", "bubblesort:5", "star:5", "transposition:5", "butterfly:4")
_CAYLEY_LARGE = ("hypercube:10", "bubblesort:6", "star:6", "transposition:6", "butterfly:7")
#: Those with few enough orders of letters to try all.
_REORDERED = ("bubblesort:5", "star:5", "butterfly:4")
_BCUBE, _DCELL = ("bcube:6,2", "bcube:7,2"), ("dcell:3,2", "dcell:2,3")
_RANDOM = ("jellyfish:24,60,12", "xpander:12,4", "slimfly:5")
_LESS, _MOST = "less than 2", "at most 2"


@cache
def stretch(topology: str, scheme: str = "wmgr", pairs: str = "all") -> PathLengths:
    """The path lengths of a scheme."""
    lengths = routed(topology, scheme, pairs)
    assert lengths is not None
    return lengths


def _share(topology: str, below: float, scheme: str = "wmgr", pairs: str = "all") -> float:
    """The percentage of pairs with stretch at most ``below``."""
    return 100 * stretch(topology, scheme, pairs).cdf(below)


def _claim(
    topology: str, words: str, printed: float, relation: Relation, source: str,
    how: str = _HOW,
) -> Claim:  # fmt: skip
    """A claim in per cent.  Published percentages are integers, or have one digit below 1."""
    return Claim(
        f"{topology}-{words}", _PAPER, f"{topology}: {words}, %", printed, how, relation,
        tolerance=0.05 if printed < 1 else 0.5 if printed < 100 else 0.0, source=source,
    )  # fmt: skip


def _cayley() -> Iterator[Row]:
    source = 'Section V-F, on Fig. 8: "in all cases at least 85%"'
    for topology in (*_CAYLEY, *_CAYLEY_LARGE):
        claim = _claim(topology, "pairs with stretch less than 2", 85, ">=", source)
        yield Row.by_reading(
            claim,
            Reading(_LESS, _share(topology, 2 - _BELOW)),
            Reading(_MOST, _share(topology, 2)),
            Reading(f"{_LESS}, the best order of each graph", _best_order(topology, 2 - _BELOW)),
            Reading(f"{_MOST}, the best order of each graph", _best_order(topology, 2)),
        )


def _best_order(topology: str, below: float) -> float:
    """The largest share over the scan orders and, where they are few enough to try, the orders of letters."""
    shares = [_share(topology, below, f"wmgr:order={order}") for order in ORDERS]
    if topology in _REORDERED:
        shares += [100 * relettered(topology, order).cdf(below) for order in _letter_orders(topology)]
    return max(shares)


def _letter_orders(topology: str) -> list[tuple[int, ...]]:
    family = parse(topology)
    assert isinstance(family, CayleyGraph)
    return list(itertools.permutations(range(1, len(family.letters) + 1)))


@cache
def relettered(topology: str, order: tuple[int, ...]) -> PathLengths:
    """The path lengths of ``wmgr`` with the generators in another order."""
    family = parse(topology)
    assert isinstance(family, CayleyGraph)
    scheme = bind("wmgr", Fabric.of(Relettered(family, order)))
    return path_lengths(scheme, choose(scheme.fabric, "all", 1))


def _bcube() -> Iterator[Row]:
    where = "Section V-F, on Fig. 9"
    for topology in _BCUBE:
        claim = _claim(topology, "pairs with stretch less than 2", 83, ">=", where)
        yield Row.by_reading(
            claim, Reading(_LESS, _share(topology, 2 - _BELOW)), Reading(_MOST, _share(topology, 2))
        )
        claim = _claim(topology, "pairs with stretch higher than 5", 0.6, "<=", where)
        yield Row(claim, 100 - _share(topology, 5))
        claim = Claim(
            f"{topology}-five", _PAPER, f"{topology}: pairs with stretch of at least 5, %", None, _HOW,
            source=f"{where} (the text has only: higher than 5)",
        )  # fmt: skip
        yield Row(claim, 100 - _share(topology, 5 - _BELOW))
        claim = _claim(
            topology, "pairs of servers to which BRP takes a shortest path", 100, "=",
            f'{where}: "BRP is a shortest path scheme"', how="2000 pairs of servers",
        )  # fmt: skip
        yield Row(claim, _share(topology, 1, "brp", "sample:2000"))


def _dcell() -> Iterator[Row]:
    where = "Section V-F, on Fig. 10"
    claim = _claim("dcell:3,2", "pairs with stretch less than 2", 78, ">=", where, how=_HOW_ROOTS)
    yield Row.by_reading(
        claim,
        over_roots(_LESS, "dcell:3,2", lambda lengths: lengths.cdf(2 - _BELOW)),
        over_roots(_MOST, "dcell:3,2", lambda lengths: lengths.cdf(2)),
    )
    claim = _claim("dcell:3,2", "pairs with stretch higher than 5", 0.5, "=", where, how=_HOW_ROOTS)
    share = over_roots("", "dcell:3,2", lambda lengths: 1 - lengths.cdf(5))
    yield Row(claim, share.measured, share.seen)
    for topology in _DCELL:
        claim = _claim(
            topology, "paths of DFR with stretch higher than 5", 0.5, "=", where,
            how="DFR over 2000 pairs of servers",
        )  # fmt: skip
        yield Row(claim, 100 - _share(topology, 5, "dfr", "sample:2000"))


@cache
def by_root(topology: str) -> tuple[PathLengths, ...]:
    """The path lengths for roots spread evenly over the nodes: on DCell the root matters."""
    roots = np.linspace(0, fabric(topology).size - 1, _ROOTS).astype(int)
    return tuple(stretch(topology, f"wmgr:root={root}") for root in roots)


def over_roots(name: str, topology: str, share: Callable[[PathLengths], float]) -> Reading:
    """The mean and the range over the roots, in per cent."""
    shares: Sequence[float] = [100 * share(lengths) for lengths in by_root(topology)]
    return Reading(name, float(np.mean(shares)), (min(shares), max(shares)))


def _others() -> Iterator[Row]:
    for topology in _RANDOM:
        claim = _claim(topology, "pairs with stretch less than 1.75", 99, ">=", "Section V-F, on Fig. 11")
        yield Row(claim, _share(topology, 1.75 - _BELOW))


def _theorems() -> Iterator[Row]:
    for topology in (*_CAYLEY, *_BCUBE, *_DCELL, *_RANDOM):
        claim = Claim(
            f"{topology}-bound", _PAPER, f"{topology}: largest stretch is at most D", diameter(topology), _HOW,
            "<=", source="Section V-F, Theorem 9",
        )  # fmt: skip
        yield Row(claim, stretch(topology).stretch_max)
    for topology in (*_CAYLEY, "bcube:4,2", "bcube:6,2", "torus:8x8"):
        claim = Claim(
            f"{topology}-cayley", _PAPER, f"{topology}: largest stretch by its own Cayley graph", 1,
            "wmgr-cayley, exact over all pairs of servers", source="Section V-F, Theorem 10; V-D for BCube",
        )  # fmt: skip
        yield Row(claim, stretch(topology, "wmgr-cayley", "servers").stretch_max)
    claim = _claim(
        "fattree:8", "pairs with stretch 1", 100, "=", "Abstract; section V-D: stretch 1 on the Fat-tree"
    )
    yield Row.by_reading(
        claim,
        Reading("pairs of servers", _share("fattree:8", 1, pairs="servers")),
        Reading("pairs of nodes", _share("fattree:8", 1)),
    )


# --- figures ----------------------------------------------------------------------


def _chart(title: str, topologies: tuple[str, ...], published: tuple[Series, ...], *baselines: str) -> Chart:
    """Measured distributions beside the points that the text prints (the curves have no values)."""
    spreads = {}
    for topology in topologies:
        for scheme, pairs in (("wmgr", "all"), *((name, "sample:2000") for name in baselines)):
            spreads[f"{topology} {scheme}"] = stretch(topology, scheme, pairs)
    caption = "wmgr over all pairs of nodes, root h0, port order" + (
        f"; {', '.join(baselines)} over 2000 pairs of servers" if baselines else ""
    )
    return charts.stretch(title, spreads, caption, published)


def _points(*points: tuple[float, float]) -> tuple[Series, ...]:
    """The shares that section V-F prints, as steps of a distribution."""
    x, y = zip(*points, strict=True)
    return (Series("printed in section V-F", (1.0, *x, 8.0), (0.0, *(one / 100 for one in y), y[-1] / 100)),)


def _cayley_charts() -> tuple[Chart, ...]:
    small, large = "Cayley graphs of 64 to 128 nodes", "Cayley graphs of 720 to 1024 nodes"
    return _chart(small, _CAYLEY, _points((2, 85))), _chart(large, _CAYLEY_LARGE, _points((2, 85)))


def _bcube_charts() -> tuple[Chart, ...]:
    return (_chart("BCube", ("bcube:4,2", *_BCUBE), _points((2, 83), (5, 99.4)), "brp"),)


def _dcell_charts() -> tuple[Chart, ...]:
    return (_chart("DCell", ("dcell:3,1", *_DCELL), _points((2, 78), (5, 99.5)), "dfr"),)


def _other_charts() -> tuple[Chart, ...]:
    return (_chart("Random graphs, Slim fly, fat tree", (*_RANDOM, "fattree:8"), _points((1.75, 99))),)


EXPERIMENTS = (
    Experiment("wmgr-fig8", _PAPER, "stretch on five Cayley families", _cayley, _cayley_charts),
    Experiment("wmgr-fig9", _PAPER, "stretch on BCube", _bcube, _bcube_charts),
    Experiment("wmgr-fig10", _PAPER, "stretch on DCell", _dcell, _dcell_charts),
    Experiment("wmgr-fig11", _PAPER, "stretch on Jellyfish, Xpander, Slim fly", _others, _other_charts),
    Experiment("wmgr-theorems", _PAPER, "bounds of the stretch", _theorems),
)
