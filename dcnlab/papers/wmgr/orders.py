"""WMGR's free parameters: the effect of the scan order and of the root on stretch.

The paper fixes neither.  The scan order does not change labels; it decides between equally near
neighbours (see :mod:`addressing.algorithms.scan.wmgr_scan_order`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from addressing.algorithms.scan.wmgr_scan_order import ORDERS
from dcnlab.evaluator.reporting.charts import Chart, Series
from dcnlab.evaluator.routing.path_lengths import PathLengths
from dcnlab.papers.claim import Claim, Experiment, Row
from dcnlab.papers.measure import routed
from dcnlab.papers.wmgr.figures import over_roots
from topos.registry import fabric

_PAPER = "Aguirre-Guerrero et al., WMGR"
_HOW = "exact over all ordered pairs of nodes"
_OPEN = "Algorithm 1, step 1: an arbitrary root"
_BELOW = 2 - 1e-6
_FAMILIES = (
    "hypercube:7", "bubblesort:5", "star:5", "transposition:5", "butterfly:4", "bcube:6,2", "dcell:3,2",
    "torus:8x8", "jellyfish:24,60,12", "xpander:12,4", "slimfly:5",
)  # fmt: skip
#: The family that the paper does not evaluate.
_OURS = "torus:8x8"
#: Roots spread evenly over the nodes.
ROOTS = 12


@cache
def _path_lengths(topology: str, order: str, root: str) -> PathLengths:
    lengths = routed(topology, f"wmgr:root={root},order={order}", "all")
    assert lengths is not None
    return lengths


def _roots(topology: str) -> tuple[str, ...]:
    spread = np.linspace(0, fabric(topology).size - 1, ROOTS).astype(int)
    return tuple(map(str, spread))


def _orders() -> Iterator[Row]:
    for topology in _FAMILIES:
        for order in ORDERS:
            words = f"pairs with stretch below 2, scan {order}, %: {topology}"
            claim = Claim(
                f"{topology}-{order}", _PAPER, words, None, f"{_HOW}, root h0", source="not in the paper",
            )  # fmt: skip
            yield Row(claim, 100 * _path_lengths(topology, order, "0").cdf(_BELOW))
    yield from _everywhere()


def _everywhere() -> Iterator[Row]:
    """The sentence about all topologies.  On DCell the root matters, and h0 is its worst: the mean counts."""
    for topology in (*_FAMILIES, "bcube:7,2", "dcell:2,3"):
        if topology == _OURS:
            continue
        claim = Claim(
            f"{topology}-75", _PAPER, f"{topology}: pairs with stretch below 2, %", 75,
            f"{_HOW}; mean (and range) of {ROOTS} roots", ">=", 0.5,
            source='Section V-F: "in all of the evaluated topologies, at least 75%"',
        )  # fmt: skip
        yield Row.by_reading(
            claim,
            over_roots("less than 2", topology, lambda lengths: lengths.cdf(_BELOW)),
            over_roots("at most 2", topology, lambda lengths: lengths.cdf(2)),
        )


def _by_root() -> Iterator[Row]:
    """Mean stretch, with the range over the roots."""
    for topology in _FAMILIES:
        means = [_path_lengths(topology, "built", root).stretch_mean for root in _roots(topology)]
        words = f"{topology}: mean stretch, scan built, mean (and range) of {ROOTS} roots"
        yield Row(
            Claim(f"{topology}-roots", _PAPER, words, None, _HOW, source=_OPEN),
            float(np.mean(means)),
            (min(means), max(means)),
        )
        words = f"{topology}: mean stretch, scan built, root=centre"
        stretch = _path_lengths(topology, "built", "centre").stretch_mean
        yield Row(Claim(f"{topology}-centre", _PAPER, words, None, _HOW, source=_OPEN), stretch)


def _measure() -> Iterator[Row]:
    yield from _orders()
    yield from _by_root()


def _draw() -> tuple[Chart, ...]:
    places = tuple(map(float, range(len(_FAMILIES))))
    scans = tuple(
        Series(order, places, tuple(_path_lengths(t, order, "0").stretch_mean for t in _FAMILIES))
        for order in ORDERS
    )
    means = [[_path_lengths(t, "built", root).stretch_mean for root in _roots(t)] for t in _FAMILIES]
    middle = tuple((min(values) + max(values)) / 2 for values in means)
    half = tuple((max(values) - min(values)) / 2 for values in means)
    centre = tuple(_path_lengths(t, "built", "centre").stretch_mean for t in _FAMILIES)
    roots = (Series(f"range of {ROOTS} roots", places, middle, half), Series("root=centre", places, centre))
    return (
        Chart("Stretch by scan order", "", "mean stretch", scans, f"wmgr, root h0, {_HOW}", names=_FAMILIES),
        Chart("Stretch by root", "", "mean stretch", roots, f"wmgr, scan built, {_HOW}", names=_FAMILIES),
    )


EXPERIMENTS = (Experiment("wmgr-orders", _PAPER, "effect of scan order and root on stretch", _measure, _draw),)
