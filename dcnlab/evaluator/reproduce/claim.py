"""What a paper claims, what was measured, and whether the one bears out the other."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from dcnlab.evaluator.reporting.plots import Chart

Verdict = Literal["holds", "does not hold", "not measured", "not printed"]
Relation = Literal["=", "<=", ">=", "<", ">"]

_RELATIONS: Mapping[Relation, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}

#: Values as near as this are equal: a ratio of sums is seldom exactly what it is on paper.
_EQUAL = 1e-9


@dataclass(frozen=True)
class Claim:
    """One printed figure.

    ``relation`` is how the measured value must stand to the printed one; ``tolerance``
    (in the value's own unit) is half a unit of the last printed digit, unless the paper
    says "about".  ``computed`` is what an earlier independent computation gave, where
    there was one, with its own ``spread``.
    """

    id: str
    paper: str
    statement: str
    printed: float | None
    how: str
    relation: Relation = "="
    tolerance: float = 0.0
    computed: float | None = None
    spread: float = 0.0


@dataclass(frozen=True)
class Row:
    """A claim beside what was measured for it; None where this program cannot measure it.

    ``seen`` is the least and the largest value over seeds or other choices that a paper
    leaves open, for claims about one of them: an equality holds when what is printed lies
    between, and the earlier computation agrees when it does.
    """

    claim: Claim
    measured: float | None
    seen: tuple[float, float] | None = None

    @property
    def verdict(self) -> Verdict:
        """Whether what was printed holds for what was measured."""
        claim = self.claim
        if self.measured is None:
            return "not measured"
        if claim.printed is None:
            return "not printed"
        low, high = self.seen or (self.measured, self.measured)
        if claim.relation == "=":
            holds = low - claim.tolerance - _EQUAL <= claim.printed <= high + claim.tolerance + _EQUAL
        else:
            slack = claim.tolerance if claim.relation in ("<=", "<") else -claim.tolerance
            slack += _EQUAL if claim.relation in ("<=", ">") else -_EQUAL
            holds = _RELATIONS[claim.relation](self.measured, claim.printed + slack)
        return "holds" if holds else "does not hold"

    @property
    def agrees(self) -> bool | None:
        """Whether the measurement agrees with the earlier computation; None without one."""
        if self.measured is None or self.claim.computed is None:
            return None
        low, high = self.seen or (self.measured, self.measured)
        slack = self.claim.spread + _EQUAL
        return low - slack <= self.claim.computed <= high + slack


@dataclass(frozen=True)
class Result:
    """All rows of one experiment, and its figures."""

    rows: tuple[Row, ...]
    charts: tuple[Chart, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """One table, figure or theorem of a paper: ``dcnlab reproduce NAME``."""

    name: str
    paper: str
    title: str
    measure: Callable[[], Iterator[Row]]
    #: Figures from the rows' parameters; drawn only when asked for.
    draw: Callable[[], tuple[Chart, ...]] = tuple

    def run(self, figures: bool = True) -> Result:
        """Measure every claim; raises nothing for claims that do not hold."""
        return Result(tuple(self.measure()), self.draw() if figures else ())
