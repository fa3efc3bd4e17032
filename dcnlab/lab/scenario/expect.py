"""Expectations: ``NAME.FIGURE OPERATOR NUMBER``, read and judged without ``eval``."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal

Figures = Mapping[str, float | None]

OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
_FORM = re.compile(
    r"\s*(?P<name>[A-Za-z][\w-]*)\.(?P<figure>[a-z]\w*)"
    rf"\s*(?P<operator>{'|'.join(OPERATORS)})"
    r"\s*(?P<number>[+-]?\d+(?:\.\d+)?)\s*",
    re.ASCII,
)

#: Stands for the proof of what is installed at the end: `lab.violations == 0`.
VERIFIED, VIOLATIONS = "verified", "violations"
#: Stands for measurements that the machine has not spoiled: `lab.machine_limited == 0`.
VALID, MACHINE_LIMITED = "valid", "machine_limited"
_WORDS = {VERIFIED: VIOLATIONS, VALID: MACHINE_LIMITED}
#: The same form, as a regular expression of JSON Schema.
PATTERN = (
    r"^\s*[A-Za-z][A-Za-z0-9_-]*\.[a-z][A-Za-z0-9_]*"
    rf"\s*({'|'.join(OPERATORS)})\s*[+-]?[0-9]+(\.[0-9]+)?\s*$|^({VERIFIED}|{VALID})$"
)


@dataclass(frozen=True)
class Expectation:
    """A comparison of a figure of a named result with a number."""

    name: str
    figure: str
    operator: str
    number: float

    def __str__(self) -> str:
        return f"{self.name}.{self.figure} {self.operator} {_number(self.number)}"

    def judge(self, results: Mapping[str, Figures]) -> Verdict:
        """Compare the measured value; a figure that was not measured fails every comparison."""
        value = results.get(self.name, {}).get(self.figure)
        return Verdict(self, value, value is not None and OPERATORS[self.operator](value, self.number))


@dataclass(frozen=True)
class Verdict:
    """An expectation, the measured value (None when there is none), and whether the expectation held."""

    expectation: Expectation
    value: float | None
    held: bool


def _number(value: float) -> str:
    """All its digits, without an exponent."""
    return format(Decimal(repr(value)).normalize(), "f")


def read_expectation(text: object) -> Expectation:
    """Parse one; ValueError with half a sentence for the user."""
    if isinstance(text, str) and text in _WORDS:
        return Expectation("lab", _WORDS[text], "==", 0)
    match = _FORM.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError(
            f"must be written as in stream.outage_ms < 500, or be `verified` or `valid`, not {text!r}"
        )
    return Expectation(match["name"], match["figure"], match["operator"], float(match["number"]))
