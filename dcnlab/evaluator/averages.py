"""Means over seeds of the results of :func:`dcnlab.evaluator.compare.compare`, with 95 % intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from dcnlab.evaluator.statistics import interval, is_share, mean_and_half

Row = dict[str, Any]
#: What seeds draw, and the column of each.
_SEEDS = {"graph": "graph_seed", "traffic": "seed", "failures": "failure_seed"}


@dataclass(frozen=True)
class Average:
    """A figure's mean over the seeds, and half its 95 % interval (0 for one seed, and without a difference).

    Where graphs, traffic and failures have seeds of their own, ``apart`` has half the interval over each, of
    the means over the others, and ``half`` is the root of the sum of their squares.
    """

    mean: float
    half: float = 0.0
    share: bool = False
    apart: tuple[tuple[str, float], ...] = ()

    def text(self, sign: str = "+-") -> str:
        """The numbers, with four and two significant digits."""
        if not self.apart or not self.half:
            return interval(self.mean, self.half, share=self.share, sign=sign)
        parts = ", ".join(f"{half:.2g} {source}" for source, half in self.apart)
        return f"{self.mean:.4g} {sign} {parts}"


@dataclass(frozen=True)
class Combination:
    """A topology with a scheme, failures, traffic and, for latency and fct, a load: a row per seed."""

    topology: str
    scheme: str
    failures: str
    load: float
    rows: tuple[Row, ...]
    traffic: str = ""

    def average(self, key: str) -> Average | None:
        """The mean of a figure over the seeds that have it; None where none has a number."""
        rows = [row for row in self.rows if _is_number(row.get(key))]
        if not rows:
            return None
        mean, half = mean_and_half([float(row[key]) for row in rows])
        sources = _apart(rows)
        if not sources:
            return Average(mean, half, is_share(key))
        halves = tuple((source, _half_over(rows, seed, key)) for source, seed in sources.items())
        return Average(mean, math.hypot(*(half for _, half in halves)), is_share(key), halves)

    def value(self, key: str) -> object:
        """The parameter or text that all seeds have, or the mean of a figure; None if there is none."""
        if key in ("topology", "scheme", "failures", "traffic"):
            return getattr(self, key)
        average = self.average(key)
        return average if average is not None else next((row[key] for row in self.rows if row.get(key)), None)


def combinations(rows: Sequence[Row]) -> list[Combination]:
    """The rows without an error by what they evaluate, in order of first appearance."""
    groups: dict[tuple[str, tuple[str, str, str, float]], list[Row]] = {}
    for row in rows:
        if "error" not in row:
            load = float(row.get("load") or row.get("latency.load") or 0.0)
            what = (str(row["topology"]), row["scheme"], row["failures"], load)
            groups.setdefault((str(row.get("traffic") or ""), what), []).append(row)
    return [Combination(*what, tuple(group), traffic) for (traffic, what), group in groups.items()]


def seeds_text(rows: Sequence[Row]) -> str:
    """What the points of a figure of these rows are means of, and what their bars are."""
    seeds = {source: {row.get(seed) for row in rows} - {None} for source, seed in _SEEDS.items()}
    if all(row.get(seed) in (None, row["seed"]) for row in rows for seed in _SEEDS.values()):
        count = len(seeds["traffic"])
        return f"means of {count} seeds, bars: 95 % interval" if count > 1 else "1 seed"
    counts = ", ".join(f"{len(some)} of {source}" for source, some in seeds.items() if some)
    return f"means over seeds: {counts}; bars: their 95 % intervals, added in squares"


def _apart(rows: Sequence[Row]) -> dict[str, str]:
    """What has seeds of its own, with their column: two or more sources that vary in all combinations."""
    counts = {source: len({row.get(seed) for row in rows}) for source, seed in _SEEDS.items()}
    varying = {source: seed for source, seed in _SEEDS.items() if counts[source] > 1}
    return varying if len(varying) > 1 and len(rows) > max(counts.values()) else {}


def _half_over(rows: Sequence[Row], seed: str, key: str) -> float:
    """Half the 95 % interval over the means of the rows of each seed."""
    by_seed: dict[Any, list[float]] = {}
    for row in rows:
        by_seed.setdefault(row[seed], []).append(float(row[key]))
    return mean_and_half([fmean(values) for values in by_seed.values()])[1]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
