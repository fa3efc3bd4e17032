"""A journal in a line per episode: a command or a measurement stands for what it has caused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dcnlab.lab.events.journal import Record
from dcnlab.lab.events.kinds import CommandEnded, MeasurementEnded

#: Kinds that begin something, whose end has its own event.
_BEGINNINGS = frozenset({"command", "measurement"})
#: Steps of a convergence, which :class:`~dcnlab.lab.events.kinds.Converged` sums up.
_STEPS = frozenset({"tables", "learned"})
#: Kinds that a command may have caused.
_CAUSED = frozenset({"link", "ordered", "converged", "switch"})


def brief(records: Iterable[Record]) -> Iterator[Record]:
    """What a reader needs first: how commands and measurements ended, and what happened outside of them."""
    running: set[int] = set()
    for record in records:
        event = record.event
        if record.kind in _BEGINNINGS:
            running.add(record.number)
            continue
        if isinstance(event, CommandEnded):
            running.discard(event.command)
        elif isinstance(event, MeasurementEnded):
            running.discard(event.measurement)
        elif record.kind in _STEPS or (record.kind in _CAUSED and running):
            continue
        yield record
