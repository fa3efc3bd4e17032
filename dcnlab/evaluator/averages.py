"""Means over seeds of the results of :func:`dcnlab.evaluator.compare.compare`, with 95 % intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dcnlab.evaluator.statistics import mean_and_half

Row = dict[str, Any]


@dataclass(frozen=True)
class Average:
    """A figure's mean over the seeds, and half its 95 % interval (0 for one seed, and without a difference)."""

    mean: float
    half: float = 0.0

    def text(self, sign: str = "+-") -> str:
        """Both numbers, with four and two significant digits."""
        return f"{self.mean:.4g}" + (f" {sign} {self.half:.2g}" if self.half else "")


@dataclass(frozen=True)
class Combination:
    """A topology with a scheme under failures and, for latency and fct, a load: its rows, one per seed."""

    topology: str
    scheme: str
    failures: str
    load: float
    rows: tuple[Row, ...]

    def average(self, key: str) -> Average | None:
        """The mean of a figure over the seeds that have it; None where none has a number."""
        values = [float(row[key]) for row in self.rows if _is_number(row.get(key))]
        return Average(*mean_and_half(values)) if values else None

    def value(self, key: str) -> object:
        """The parameter or text that all seeds have, or the mean of a figure; None if there is none."""
        if key in ("topology", "scheme", "failures"):
            return getattr(self, key)
        found = self.average(key)
        return found if found is not None else next((row[key] for row in self.rows if row.get(key)), None)


def combinations(rows: Sequence[Row]) -> list[Combination]:
    """The rows without an error by what they evaluate, in order of first appearance."""
    groups: dict[tuple[str, str, str, float], list[Row]] = {}
    for row in rows:
        if "error" not in row:
            load = float(row.get("load") or row.get("latency.load") or 0.0)
            groups.setdefault((str(row["topology"]), row["scheme"], row["failures"], load), []).append(row)
    return [Combination(*key, tuple(group)) for key, group in groups.items()]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
