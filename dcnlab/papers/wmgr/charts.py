"""WMGR's figures: exact distributions of stretch, shares of word differences, diameters."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from dcnlab.evaluator.reporting.charts import Chart, Series
from dcnlab.evaluator.routing.path_lengths import PathLengths

#: The x axis ends where at most this share of the pairs of every curve is to the right.
_TAIL = 1e-3
_MOST_STRETCH = 8


def stretch(
    title: str, spreads: Mapping[str, PathLengths], caption: str, published: tuple[Series, ...] = ()
) -> Chart:
    """P(stretch <= x), with a step at every stretch that occurs."""
    ends = [next(x for x in _values(lengths) if lengths.cdf(x) >= 1 - _TAIL) for lengths in spreads.values()]
    end = min(_MOST_STRETCH, max(2, math.ceil(max(ends))))
    series = []
    for label, lengths in spreads.items():
        points = sorted({1.0, *(x for x in _values(lengths) if x < end), float(end)})
        series.append(Series(label, tuple(points), tuple(lengths.cdf(x) for x in points)))
    return Chart(title, "stretch", "share of pairs", tuple(series), caption, steps=True, published=published)


def _values(lengths: PathLengths) -> list[float]:
    """All values of stretch that occur, in ascending order."""
    hops, distance = np.nonzero(lengths.joint)
    values: list[float] = np.unique(hops / np.maximum(distance, 1)).tolist()
    return values


def states(reading: str, curves: Mapping[str, Iterable[tuple[int, int]]]) -> Chart:
    """Word differences as a percentage of the elements, from (states, elements) pairs per curve.

    The published limits (section V-D) are drawn on the same axes."""
    series = tuple(
        Series(label, tuple(float(n) for _, n in counts), tuple(100 * states / n for states, n in counts))
        for label, counts in ((label, list(pairs)) for label, pairs in curves.items())
    )
    last = max(x for one in series for x in one.x)
    limits = (
        Series("hypercube, bubble-sort, transposition: below 10 %", (721.0, last), (10.0, 10.0)),
        Series("star, butterfly: below 55 %", (64.0, last), (55.0, 55.0)),
    )
    caption = "with the order of the letters; by breadth-first search over each whole group"
    title, share = f"States of Diff ({reading})", "states, % of the nodes"
    return Chart(title, "nodes", share, series, caption, log_x=True, log_y=True, published=limits)


def side_by_side(
    title: str, names: Sequence[str], printed: Sequence[float], measured: Sequence[float]
) -> Chart:
    """Published and measured diameters."""
    places = tuple(map(float, range(len(names))))
    return Chart(
        title, "", "diameter, links", (Series("measured", places, tuple(measured)),),
        "exact over all pairs of nodes", names=tuple(names),
        published=(Series("Table I", places, tuple(printed)),),
    )  # fmt: skip
