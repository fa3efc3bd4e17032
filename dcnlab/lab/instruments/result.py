"""The result of a measurement: a dataclass with its JSON form, its figures and its table."""

from __future__ import annotations

import dataclasses
import functools
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

from dcnlab.lab.instruments.plain import decode

_NUMBERS = (int, float, bool)
#: Why a result is ``partial`` when the user has pressed Ctrl-C.
INTERRUPTED = "interrupted"


class Table(NamedTuple):
    """Headings and rows for people."""

    columns: Sequence[str]
    rows: Iterable[Sequence[object]]


@dataclasses.dataclass(frozen=True)
class Result:
    """Base of all results.  A subclass is a frozen dataclass; its fields are the JSON keys."""

    @property
    def held(self) -> bool:
        """Whether what the measurement checks is true; the command exits with 1 otherwise."""
        return True

    def table(self) -> Table | None:
        """What the command prints; None to print :meth:`notes` alone."""
        return Table(("figure", "value"), list(self.summary().items()))

    def tables(self) -> Iterable[Table]:
        """What the command prints, where one table does not hold it."""
        found = self.table()
        return () if found is None else (found,)

    def notes(self) -> Iterable[str]:
        """Lines below the table."""
        return ()

    @classmethod
    def figures(cls) -> tuple[str, ...]:
        """The names of the numbers that a scenario can expect: fields, or properties of the class."""
        return _numbers_of(cls)  # type: ignore[arg-type]  # a class can be hashed

    def summary(self) -> dict[str, Any]:
        """The figures by name: what a scenario keeps, and by default the table."""
        return {name: getattr(self, name) for name in self.figures()}

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`to_json`."""
        return typing.cast(Self, decode(cls, value))


@functools.cache
def _numbers_of(kind: type[Result]) -> tuple[str, ...]:
    """The fields of a class that are numbers; Python evaluates the text of their types again each time."""
    hints = typing.get_type_hints(kind)
    return tuple(item.name for item in dataclasses.fields(kind) if _is_number(hints[item.name]))


def _is_number(hint: Any) -> bool:
    kinds = [kind for kind in typing.get_args(hint) if kind is not type(None)] or [hint]
    return all(kind in _NUMBERS for kind in kinds)
