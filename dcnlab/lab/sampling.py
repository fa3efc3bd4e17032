"""The counters of a lab's links, read every so often in a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from dcnlab.lab.errors import LabError, UsageError

if TYPE_CHECKING:
    import pandas

    from dcnlab.lab.measurement.counters import CountersResult


class Sampling:
    """Samples of the links' counters, while a ``with`` block runs."""

    def __init__(self, read: Callable[[], CountersResult], every: float) -> None:
        if not every > 0:
            raise UsageError(f"every must be a positive number of seconds, not {every!r}")
        self._read, self._every = read, every
        self._samples: list[CountersResult] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> Self:
        self._samples.append(self._read())
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def frame(self) -> pandas.DataFrame:
        """A row for each time and direction of a link: ``time_s`` since the first sample, ``source``,
        ``destination``, ``bytes`` since the first sample, and ``mbps`` since the one before (0 in the first).

        UsageError where pandas is not installed.
        """
        try:
            import pandas
        except ImportError:
            raise UsageError("samples need pandas: pip install 'dcnlab[metrics]'") from None
        rows = []
        first = before = self._samples[0]
        for sample in tuple(self._samples):
            seconds = sample.at - before.at
            ends = zip(sample.ends, sample.links, before.links, first.links, strict=True)
            for (a, b), now, last, start in ends:
                for source, destination, side in ((a, b, 0), (b, a, 1)):
                    bits = 8 * (now[side] - last[side])
                    mbps = bits / seconds / 1e6 if seconds > 0 else 0.0
                    rows.append((sample.at - first.at, source, destination, now[side] - start[side], mbps))
            before = sample
        return pandas.DataFrame(rows, columns=["time_s", "source", "destination", "bytes", "mbps"])

    def _follow(self) -> None:
        """Read at a fixed rhythm, and once more at the end; a lab that ends ends the samples."""
        due = time.monotonic()
        try:
            while not self._stop.is_set():
                due = max(due + self._every, time.monotonic())
                self._stop.wait(due - time.monotonic())
                self._samples.append(self._read())
        except LabError:
            return
