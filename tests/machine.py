"""Whether the machine was quiet during a test: only then do times say something about dcnlab."""

from __future__ import annotations

import threading
import time
from types import TracebackType

#: Seconds between two looks, and how late a quiet machine wakes a process at most.
_LOOK, _QUIET = 0.005, 0.02


class Quiet:
    """``with Quiet() as machine: ...`` measures how late a sleeping thread is woken meanwhile."""

    def __init__(self) -> None:
        self.latest = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Quiet:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def __bool__(self) -> bool:
        """Whether no thread here had to wait long for a processor."""
        return self.latest < _QUIET

    def _watch(self) -> None:
        while not self._stop.is_set():
            begun = time.monotonic()
            time.sleep(_LOOK)
            self.latest = max(self.latest, time.monotonic() - begun - _LOOK)
