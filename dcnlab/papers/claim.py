"""A claim of a paper, its measurement, and the verdict."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from dcnlab.evaluator.reporting.charts import Chart
from dcnlab.papers import oracles

Verdict = Literal["holds", "holds by reading", "not refuted", "does not hold", "not measured", "not published"]
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
    says "about".  ``source`` is the place in the paper: section, equation, table row or figure.  Where
    the paper gives a range ("35 % ~ 50 %"), ``printed`` is its lower and ``upper`` its upper end: an
    equality holds within it.  No finite number of sizes can prove an ``asymptotic`` claim, and what refutes
    one is an interval that is outside as a whole.
    """

    id: str
    paper: str
    statement: str
    printed: float | None
    how: str
    relation: Relation = "="
    tolerance: float = 0.0
    upper: float | None = None
    asymptotic: bool = False
    #: Every claim names its place, be it "not in the paper".
    source: str = field(kw_only=True)

    @classmethod
    def of(
        cls, paper: str, id: str, source: str, statement: str, how: str, printed: float | None = None,
        relation: Relation = "=",
    ) -> Claim:  # fmt: skip
        """A claim in the order in which papers' modules state theirs."""
        return cls(id, paper, statement, printed, how, relation, source=source)

    def holds(self, measured: float, seen: tuple[float, float] | None = None) -> bool:
        """True if the measured value (or the range ``seen``) satisfies the claim.

        False where nothing is published.
        """
        if self.printed is None:
            return False
        low, high = seen or (measured, measured)
        if self.asymptotic and seen:
            measured = low if self.relation in ("<=", "<") else high
        if self.relation == "=":
            slack, upper = self.tolerance + _EQUAL, self.printed if self.upper is None else self.upper
            return low - slack <= upper and self.printed <= high + slack
        slack = self.tolerance if self.relation in ("<=", "<") else -self.tolerance
        slack += _EQUAL if self.relation in ("<=", ">") else -_EQUAL
        return _RELATIONS[self.relation](measured, self.printed + slack)


@dataclass(frozen=True)
class Sentence:
    """What a paper says in one sentence, its place, and its evidence: patterns of ``experiment/claim``."""

    text: str
    source: str
    rows: tuple[str, ...]


@dataclass(frozen=True)
class Reading:
    """One way to read a sentence of the paper, with the value measured under it.

    ``printed`` is the published value under this reading; None: that of the claim.
    """

    name: str
    measured: float
    seen: tuple[float, float] | None = None
    printed: float | None = None

    def holds(self, claim: Claim) -> bool:
        """True if the claim holds under this reading."""
        read = claim if self.printed is None else replace(claim, printed=self.printed)
        return read.holds(self.measured, self.seen)


@dataclass(frozen=True)
class Independent:
    """A value by a function of :mod:`dcnlab.papers.oracles`: code that shares nothing with what is measured.

    ``function`` is its name, ``arguments`` those of the call, so that the call can be made again.
    """

    value: float
    function: str
    arguments: tuple[int | str, ...] = ()

    @classmethod
    def by(cls, function: Callable[..., float], *arguments: int | str) -> Independent:
        """The value of a call.  Raises ValueError for a function of another module."""
        if function.__module__ != oracles.__name__:
            raise ValueError(f"{function.__module__}.{function.__qualname__} is not in {oracles.__name__}")
        return cls(function(*arguments), function.__name__, arguments)

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.arguments))})"


@dataclass(frozen=True)
class Row:
    """A claim and its measured value; None where this program cannot measure it.

    Some claims are about one random draw, or depend on a choice that the paper leaves open.  For
    these, ``seen`` is the range of the measured values over seeds or choices: an equality holds
    if the published value lies in the range, and so does agreement with ``independent``.
    """

    claim: Claim
    measured: float | None
    seen: tuple[float, float] | None = None
    #: Where the verdict depends on how a sentence is read: every reading with its value.
    readings: tuple[Reading, ...] = ()
    independent: Independent | None = None

    @classmethod
    def by_reading(cls, claim: Claim, *readings: Reading) -> Row:
        """A claim measured under several readings; the first one also gives ``measured``."""
        return cls(claim, readings[0].measured, readings[0].seen, readings)

    @property
    def verdict(self) -> Verdict:
        """The verdict; with readings "holds" means: under every one of them."""
        if self.measured is None:
            return "not measured"
        if self.claim.printed is None:
            return "not published"
        if not self.readings:
            held: Verdict = "not refuted" if self.claim.asymptotic else "holds"
            return held if self.claim.holds(self.measured, self.seen) else "does not hold"
        count = len(self.holding)
        return "does not hold" if not count else "holds" if count == len(self.readings) else "holds by reading"

    @property
    def holding(self) -> tuple[str, ...]:
        """The names of the readings under which the claim holds."""
        return tuple(one.name for one in self.readings if one.holds(self.claim))

    @property
    def judgement(self) -> str:
        """The verdict in words, with the readings under which the claim holds."""
        if self.verdict == "holds by reading":
            return f"holds under reading {' and '.join(self.holding)}"
        return self.verdict

    @property
    def agrees(self) -> bool | None:
        """True if the measurement agrees with the independent computation; None without one."""
        if self.measured is None or self.independent is None:
            return None
        low, high = self.seen or (self.measured, self.measured)
        return low - _EQUAL <= self.independent.value <= high + _EQUAL


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
