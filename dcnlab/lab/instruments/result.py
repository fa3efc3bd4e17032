"""The result of a measurement: a dataclass with its JSON form, its figures and its table."""

from __future__ import annotations

import dataclasses
import functools
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

from dcnlab.lab.contract.codec import decode_fields
from dcnlab.lab.contract.values import Figures, JsonObject
from dcnlab.lab.instruments.verdict import MachineVerdict, Timed

_NUMBERS = (int, float, bool)
#: What the name of a figure says: a delay in ms, a rate in Mb/s, and whether a delay is one of the longest.
_DELAY, _RATE, _TAILS = "_ms", "mbps", ("p99", "max", "longest", "slowest")
#: Why a result is ``partial`` when the user has pressed Ctrl-C.
INTERRUPTED = "interrupted"


class Table(NamedTuple):
    """Headings and rows for people."""

    columns: Sequence[str]
    rows: Iterable[Sequence[object]]


@dataclasses.dataclass(frozen=True)
class Result:
    """Base of all results.  A subclass is a frozen dataclass; its fields are the JSON keys."""

    #: Whether the machine has spoiled it; None where nothing was timed, or nobody could watch the machine.
    verdict: MachineVerdict | None = dataclasses.field(default=None, kw_only=True)

    @property
    def held(self) -> bool:
        """Whether what the measurement checks is true; the command exits with 1 otherwise."""
        return True

    def table(self) -> Table | None:
        """What the command prints; None to print :meth:`notes` alone."""
        return Table(("figure", "value"), list(self.summary().items()))

    def tables(self) -> Iterable[Table]:
        """What the command prints, where one table does not hold it."""
        table = self.table()
        return () if table is None else (table,)

    def notes(self) -> Iterable[str]:
        """Lines below the table."""
        return ()

    def lines(self) -> Iterable[str]:
        """All lines below the table: the notes, and the verdict."""
        yield from self.notes()
        if self.verdict is not None:
            yield from self.verdict.lines()

    def timed(self) -> Timed:
        """The figures that a machine that is too busy spoils: by their names, those that end in ``_ms`` and
        ``mbps``."""
        numbers = {name: value for name, value in self.summary().items() if isinstance(value, int | float)}
        delays = {name: value for name, value in numbers.items() if name.endswith(_DELAY)}
        tails = {name: value for name, value in delays.items() if any(word in name for word in _TAILS)}
        return Timed(
            tuple(value for name, value in numbers.items() if name.endswith(_RATE)),
            tuple(value for name, value in delays.items() if name not in tails),
            tuple(tails.values()),
        )

    @classmethod
    def figures(cls) -> tuple[str, ...]:
        """The names of the numbers that a scenario can expect: fields, or properties of the class."""
        return _numbers_of(cls)  # type: ignore[arg-type]  # a class can be hashed

    def summary(self) -> Figures:
        """The figures by name: what a scenario keeps, and by default the table."""
        return {name: getattr(self, name) for name in self.figures()}

    def to_json(self) -> JsonObject:
        """Return it as a JSON object."""
        value = dataclasses.asdict(self)
        verdict = value.pop("verdict")
        return value if verdict is None else {**value, "verdict": verdict}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`to_json`."""
        return decode_fields(cls, value)


@functools.cache
def _numbers_of(kind: type[Result]) -> tuple[str, ...]:
    """The fields of a class that are numbers; Python evaluates the text of their types again each time."""
    hints = typing.get_type_hints(kind)
    return tuple(item.name for item in dataclasses.fields(kind) if _is_number(hints[item.name]))


def _is_number(hint: Any) -> bool:
    kinds = [kind for kind in typing.get_args(hint) if kind is not type(None)] or [hint]
    return all(kind in _NUMBERS for kind in kinds)
