"""How often, and when, a process that ends again and again is started again."""

from __future__ import annotations

from dataclasses import dataclass

#: Seconds before the second restart in a row, doubled for each further one up to the longest.
FIRST, LONGEST = 0.5, 30.0
#: Restarts in a row; after the last the process stays as it is.
MOST = 8
#: A process that has run for so many seconds has recovered: its next end counts as the first.
STEADY = 60.0


@dataclass
class Backoff:
    """The restarts of one process; times are in seconds on any steady clock."""

    #: Restarts since the process ran steadily.
    in_row: int = 0
    _last: float | None = None

    def due(self, now: float) -> float | None:
        """When a process that was found dead at ``now`` is to be started again; None: never."""
        if self._last is not None and now - self._last > STEADY + self._pause(self.in_row):
            self.in_row = 0
        return None if self.in_row >= MOST else now + self._pause(self.in_row)

    def restarted(self, now: float) -> None:
        """The process was started again, or that was tried."""
        self.in_row += 1
        self._last = now

    def forget(self) -> None:
        """Somebody restarts it by hand: it has all its restarts again."""
        self.in_row = 0

    @staticmethod
    def _pause(in_row: int) -> float:
        return min(LONGEST, FIRST * 2 ** (in_row - 1)) if in_row else 0.0
