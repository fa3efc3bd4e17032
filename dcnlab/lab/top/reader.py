"""Reads a lab as the streams of the API do: its state once per interval, its events as they come."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace

from dcnlab.lab.api.state import state
from dcnlab.lab.client import Lab
from dcnlab.lab.errors import LabError
from dcnlab.lab.events.journal import Record
from dcnlab.lab.events.kinds import TablesChanged
from dcnlab.lab.top.convergence import Convergences
from dcnlab.lab.top.snapshot import Snapshot, State, TableSize, loads, newest

#: Events that are kept, and those of a snapshot.
_KEPT, _EVENTS = 2000, 200
#: Changes in a snapshot.
_CHANGES = 50
#: Tables that are read per state: the changed ones first.
_TABLES = 32


class Reader:
    """What is known of a lab; ``events`` and ``refresh`` may run in different threads."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self._info = lab.info()
        self._records: deque[Record] = deque(maxlen=_KEPT)
        self._convergences = Convergences()
        self._before: State | None = None
        switches = [node["name"] for node in lab.nodes() if node["kind"] == "switch"]
        self._tables = dict.fromkeys(switches, TableSize("", 0))
        #: Switches whose entries have to be counted, in this order.
        self._unread = dict.fromkeys(switches)
        self._lock = threading.Lock()
        self._last = 0

    def catch_up(self) -> None:
        """Take in the events so far."""
        for record in self.lab.events(after=self._last):
            self._add(record)

    def follow(self) -> Iterator[Record]:
        """Take in the events as they come, and pass them on; ends with the lab."""
        for record in self.lab.events(follow=True, after=self._last):
            self._add(record)
            yield record

    def _add(self, record: Record) -> None:
        with self._lock:
            self._last = max(self._last, record.number)
            self._records.append(record)
            self._convergences.add(record)
            event = record.event
            if isinstance(event, TablesChanged):
                known = self._tables.get(event.switch, TableSize("", 0))
                self._tables[event.switch] = replace(known, at=record.at, flow_mods=event.flow_mods)
                self._unread = {event.switch: None, **self._unread}

    def refresh(self, whole: bool = False) -> Snapshot:
        """The lab now, with the loads since the last call; LabError where it has ended.

        Entries are counted of a few switches per call, or of all with ``whole``.
        """
        now = state(self.lab)
        first, links, self._before = self._before is None, loads(self._before, now), now
        if whole or not first:  # the first picture of a large lab does not wait for its tables
            self._count_entries(whole)
        with self._lock:
            tables = [
                replace(one, switch=name) for name, one in self._tables.items() if name not in self._unread
            ]
            return Snapshot(
                self._info["name"], self._info["topology"], self._info["scheme"], time.time(), links,
                tuple(sorted(tables, key=lambda one: -one.entries)),
                tuple(reversed(self._convergences.changes[-_CHANGES:])),
                newest(tuple(self._records), _EVENTS), tuple(now["ended"]),
            )  # fmt: skip

    def _count_entries(self, whole: bool) -> None:
        with self._lock:
            chosen = list(self._unread)[: None if whole else _TABLES]
            self._unread = {name: None for name in self._unread if name not in chosen}
        for name in chosen:
            entries = len(self.lab.flows(name)["flows"])
            with self._lock:
                self._tables[name] = replace(self._tables[name], entries=entries)


def once(lab: Lab, interval: float) -> Snapshot:
    """One snapshot, with the loads over an interval in seconds."""
    reader = Reader(lab)
    reader.refresh()
    time.sleep(interval)
    reader.catch_up()
    return reader.refresh(whole=True)


class Updates:
    """Threads that read a lab until ``stop``: ``show`` gets snapshots; ``ended`` is called at its end."""

    def __init__(
        self, reader: Reader, interval: float, show: Callable[[Snapshot], None], ended: Callable[[], None]
    ) -> None:
        self._reader, self._interval = reader, interval
        self._show, self._ended = show, ended
        self._stopped, self._changed = threading.Event(), threading.Event()

    def start(self) -> None:
        """Start to read."""
        for target in (self._follow, self._read):
            threading.Thread(target=target, daemon=True, name="top").start()

    def stop(self) -> None:
        """Do not read any more."""
        self._stopped.set()
        self._changed.set()

    def _follow(self) -> None:
        try:
            for _ in self._reader.follow():
                self._changed.set()
        except LabError:
            pass
        if not self._stopped.is_set():
            self._ended()

    def _read(self) -> None:
        """A snapshot per interval; one that an event asks for comes sooner."""
        while not self._stopped.is_set():
            try:
                snapshot = self._reader.refresh()
            except LabError:
                return
            self._show(snapshot)
            self._changed.wait(self._interval)
            if self._changed.is_set():  # what belongs to the event comes within a few milliseconds
                self._stopped.wait(min(0.2, self._interval))
            self._changed.clear()
