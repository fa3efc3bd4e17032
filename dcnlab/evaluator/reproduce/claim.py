"""A claim of a paper, its measurement, and the verdict."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from dcnlab.evaluator.reporting.plots import Chart

Verdict = Literal["holds", "does not hold", "not measured", "not published"]
Relation = Literal["=", "<=", ">=", "<", ">"]

_RELATIONS: Mapping[Relation, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}

#: The tolerance for rounding errors in floating-point arithmetic.
_EQUAL = 1e-9


@dataclass(frozen=True)
class Claim:
    """One claim of a paper.

    ``printed`` is the published value (None: the paper gives no number), ``how`` the method of
    measurement.  The claim holds if ``measured relation printed`` is true within ``tolerance``,
    in the unit of the value: half a unit of the last published digit, or more where the paper
    says "about".  ``computed`` is the result of an independent computation from the paper's
    definitions, if there is one, and ``spread`` its tolerance.
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
    """A claim and its measured value; None where this program cannot measure it.

    Some claims are about one random draw, or depend on a choice that the paper leaves open.  For
    these, ``seen`` is the range of the measured values over seeds or choices: an equality holds
    if the published value lies in the range, and so does agreement with ``computed``.
    """

    claim: Claim
    measured: float | None
    seen: tuple[float, float] | None = None

    @property
    def verdict(self) -> Verdict:
        """The verdict: whether the measured value satisfies the claim."""
        claim = self.claim
        if self.measured is None:
            return "not measured"
        if claim.printed is None:
            return "not published"
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
        """True if the measurement agrees with the independent computation; None without one."""
        if self.measured is None or self.claim.computed is None:
            return None
        low, high = self.seen or (self.measured, self.measured)
        slack = self.claim.spread + _EQUAL
        return low - slack <= self.claim.computed <= high + slack


@dataclass(frozen=True)
class Result:
    """The rows of one experiment, and its figures."""

    rows: tuple[Row, ...]
    charts: tuple[Chart, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """One table, figure or theorem of a paper: ``dcnlab reproduce NAME``."""

    name: str
    paper: str
    title: str
    measure: Callable[[], Iterator[Row]]
    #: Draws the figures; called only on request.
    draw: Callable[[], tuple[Chart, ...]] = tuple

    def run(self, figures: bool = True) -> Result:
        """Measure every claim; a claim that does not hold is no error."""
        return Result(tuple(self.measure()), self.draw() if figures else ())
