"""The journal of a lab: the last events, numbered from 1.  Any thread may add events or read them.

It is a ring: when it is full, the oldest event is dropped and counted.  A reader that was too slow learns
how many it has missed.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from dcnlab.lab.contract.values import JsonObject
from dcnlab.lab.events.kinds import KINDS, Dropped, Event

#: Events that a journal keeps: those of cutting a node of the largest labs, several times.
SIZE = 10_000


@dataclass(frozen=True)
class Record:
    """An event with its number, and when it happened: in seconds since 1970 (``at``) and on the monotonic
    clock of the machine (``clock``), which is also that of counters."""

    number: int
    at: float
    clock: float
    event: Event

    @property
    def kind(self) -> str:
        """The kind of the event."""
        return self.event.kind

    def to_json(self) -> JsonObject:
        """Return the number and the times, then the kind, the fields and the text of the event."""
        times = {"at": round(self.at, 6), "clock": round(self.clock, 6)}
        return {"number": self.number, **times, **self.event.to_json(), "text": self.event.text()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """The record that :meth:`to_json` wrote."""
        words = {key: item for key, item in value.items() if key != "text"}
        number, at, clock = (words.pop(key) for key in ("number", "at", "clock"))
        return cls(number, at, clock, KINDS[words.pop("kind")](**words))


class Journal:
    """The ring of events of one lab."""

    def __init__(self, size: int = SIZE) -> None:
        self._records: deque[Record] = deque(maxlen=size)
        self._changed = threading.Condition()
        self._last = self._followers = 0
        self._closed = False

    @property
    def last(self) -> int:
        """The number of the newest event; 0 before the first."""
        return self._last

    @property
    def closed(self) -> bool:
        """Whether there will be no more events."""
        return self._closed

    @property
    def dropped(self) -> int:
        """How many events the ring has dropped so far."""
        with self._changed:
            return self._last - len(self._records)

    def add(self, event: Event) -> int:
        """Add an event that happens now; its number.  A closed journal ignores it."""
        with self._changed:
            if self._closed:
                return self._last
            self._last += 1
            self._records.append(Record(self._last, time.time(), time.monotonic(), event))
            self._changed.notify_all()
            return self._last

    def since(self, after: int = 0, kinds: Collection[str] = ()) -> list[Record]:
        """Return the events with greater numbers than ``after``, of these kinds (none: of all), oldest first.

        Where the ring has dropped some of them, the first record is a ``Dropped`` with their count.
        """
        with self._changed:
            newer = itertools.takewhile(lambda record: record.number > after, reversed(self._records))
            records = list(newer)[::-1]
            missed = self._last - after - len(records)
        chosen = [record for record in records if not kinds or record.kind in kinds]
        return [self._gap(after + missed, missed), *chosen] if missed > 0 else chosen

    def wait(self, after: int, timeout: float) -> bool:
        """Wait until there is a newer event than number ``after``; False after ``timeout`` seconds, and when
        the journal is closed without one."""
        with self._changed:
            self._changed.wait_for(lambda: self._last > after or self._closed, timeout)
            return self._last > after

    @contextlib.contextmanager
    def following(self) -> Iterator[None]:
        """While a reader follows the journal, :meth:`close` waits for it."""
        with self._changed:
            self._followers += 1
        try:
            yield
        finally:
            with self._changed:
                self._followers -= 1
                self._changed.notify_all()

    def close(self, timeout: float = 1.0) -> None:
        """Nothing more will happen: wake all readers, and wait until those that follow have read the rest,
        but no longer than ``timeout`` seconds."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._followers, timeout)

    @staticmethod
    def _gap(number: int, count: int) -> Record:
        return Record(number, time.time(), time.monotonic(), Dropped(count))
