"""Recordings of labs: the network, then its states and events in the order in which they came.

A recording is a text file.  Its first line is an object: the version of the format, and the drawing as of
``GET drawing``.  Each other line is one message, ``["state", {...}]`` or ``["event", {...}]``.
"""

from __future__ import annotations

import contextlib
import json
import threading
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

from dcnlab.lab.api.resources import lab_drawing
from dcnlab.lab.api.state import state
from dcnlab.lab.client import Lab
from dcnlab.lab.contract.values import JsonObject
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.events.journal import Record

_VERSION = 1
#: Seconds between two states.
_INTERVAL = 1.0


@dataclass(frozen=True)
class Recording:
    """``drawing`` as of ``GET drawing``; ``messages``: pairs of ``state`` or ``event`` and the data."""

    drawing: JsonObject
    messages: list[list[Any]]


def read(path: Path) -> Recording:
    """The recording in a file; UsageError if it is none.  A last line that is not whole is left out."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        head = json.loads(lines[0])
        if head["recording"] != _VERSION:
            raise UsageError(f"{path} has version {head['recording']}; this dcnlab reads {_VERSION}: update it")
        return Recording(head["drawing"], [*map(json.loads, lines[1:-1]), *_whole(lines[1:][-1:])])
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, IndexError):
        raise UsageError(f"{path} is not a recording: `dcnlab view LAB --record FILE` makes one") from None


def _whole(lines: list[str]) -> list[Any]:
    with contextlib.suppress(ValueError):
        return [json.loads(line) for line in lines]
    return []


class Recorder:
    """Writes the recording of a lab, from its first event, while the ``with`` block runs and the lab does."""

    def __init__(self, lab: Lab, path: Path) -> None:
        self._lab, self._path = lab, path
        self._lock, self._end = threading.Lock(), threading.Event()
        #: The number of the last event that is written, and the lock for it.
        self._last, self._events = 0, threading.Lock()

    def __enter__(self) -> Self:
        try:
            self._file: TextIO = self._path.open("w", encoding="utf-8", buffering=1)
        except OSError as error:
            raise UsageError(f"{self._path}: {error.strerror}") from None
        self._write({"recording": _VERSION, "drawing": lab_drawing(self._lab)})
        for target in (self._record_events, self._record_states):
            threading.Thread(target=target, daemon=True, name="recorder").start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end.set()
        with contextlib.suppress(LabError):  # what the thread has not written yet
            for record in self._lab.events(after=self._last):
                self._write_event(record)
        with self._lock:
            self._file.close()

    def _record_events(self) -> None:
        with contextlib.suppress(LabError):
            for record in self._lab.events(follow=True):
                self._write_event(record)

    def _record_states(self) -> None:
        with contextlib.suppress(LabError):
            while not self._end.is_set():
                self._write(["state", state(self._lab)])
                self._end.wait(_INTERVAL)

    def _write_event(self, record: Record) -> None:
        """Write an event, once."""
        with self._events:
            if record.number > self._last:
                self._last = record.number
                self._write(["event", record.to_json()])

    def _write(self, value: object) -> None:
        text = json.dumps(value, separators=(",", ":"))
        with self._lock:
            if not self._file.closed:
                self._file.write(text + "\n")
