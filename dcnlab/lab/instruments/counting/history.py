"""What the links of a lab have carried in the last minutes, so that a page that is opened later shows it."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcnlab.lab.contract.network import LinkCounts
from dcnlab.lab.errors import LabError
from dcnlab.lab.instruments.counting.counters import link_counters
from dcnlab.lab.running.local_machine import LocalMachine

#: Seconds that are kept, and the least between two readings.
SPAN, INTERVAL = 900.0, 1.0
#: Readings take at most this share of a processor: those of large networks are rarer.
_SHARE = 0.01
#: The most counts that are kept, of 8 bytes each, and the most readings in an answer.
_MOST_COUNTS, _MOST_READ = 2_000_000, 300


@dataclass(frozen=True)
class _Reading:
    at: float
    down: tuple[int, ...]
    counts: NDArray[np.uint64]


class Readings:
    """The last readings: those of :data:`SPAN` seconds, and not more than memory has room for."""

    def __init__(self) -> None:
        self._kept: deque[_Reading] = deque()

    def add(self, at: float, down: tuple[int, ...], links: list[tuple[int, int]]) -> None:
        """Another reading; the oldest are forgotten."""
        self._kept.append(_Reading(at, down, np.array(links, dtype=np.uint64)))
        most = max(2, _MOST_COUNTS // max(1, 2 * len(links)))
        while self._kept[0].at < at - SPAN or len(self._kept) > most:
            self._kept.popleft()

    def read(self, most: int = _MOST_READ) -> list[LinkCounts]:
        """The readings, the oldest first; of many every second, third, ..., and always the last."""
        kept = tuple(self._kept)
        step = -(-len(kept) // most) or 1
        return [LinkCounts(one.at, list(one.down), one.counts.tolist()) for one in kept[::-1][::step][::-1]]


class LinkHistory:
    """Reads the counters of a machine's links again and again."""

    def __init__(self, lab: LocalMachine) -> None:
        self._lab = lab
        self.readings = Readings()

    def run(self) -> None:
        """Read until the lab stops."""
        pause = INTERVAL
        while not self._lab.stop.wait(pause):
            begun, spent = time.monotonic(), time.thread_time()
            try:
                links = link_counters(self._lab).read()
            except (OSError, LabError):  # the lab ends
                return
            self.readings.add(begun, tuple(sorted(self._lab.links.down)), links)
            pause = max(INTERVAL, (time.thread_time() - spent) / _SHARE)  # the clock also has others' time
