"""What the machine was busy with while something ran: processor time, and time that was taken away."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from pathlib import Path

_STAT, _PRESSURE = Path("/proc/stat"), Path("/proc/pressure/cpu")
#: Columns of the first line of /proc/stat: idle, waiting for disks, stolen.
_IDLE, _IO, _STEAL = 3, 4, 7
#: user to steal; guests are counted in user.
_COLUMNS = 8


@dataclass(frozen=True)
class HostLoad:
    """The counters of the machine at a moment."""

    at: float
    ticks: tuple[int, ...]
    #: Microseconds in which some task waited for a processor; None where the kernel does not count them.
    waited_us: int | None

    @classmethod
    def now(cls) -> HostLoad:
        """Read the counters."""
        words = _STAT.read_text().partition("\n")[0].split()[1 : 1 + _COLUMNS]
        waited = None
        with contextlib.suppress(OSError, ValueError):
            waited = int(_PRESSURE.read_text().partition("\n")[0].rpartition("total=")[2])
        return cls(time.monotonic(), tuple(map(int, words)), waited)

    def figures(self) -> dict[str, float | None]:
        """Shares of the time since then, in percent.

        ``busy_percent``: processors that worked for anybody; ``steal_percent``: processors that the hypervisor
        gave to others; ``waited_percent``: time in which some program waited for a processor.
        """
        now = HostLoad.now()
        spent = [after - before for before, after in zip(self.ticks, now.ticks, strict=True)]
        total = sum(spent) or 1
        seconds = max(now.at - self.at, 1e-9)
        waited = None
        if self.waited_us is not None and now.waited_us is not None:
            waited = round(min(100.0, (now.waited_us - self.waited_us) / seconds / 1e4), 2)
        return {
            "busy_percent": round(100 * (total - spent[_IDLE] - spent[_IO]) / total, 2),
            "steal_percent": round(100 * spent[_STEAL] / total, 2),
            "waited_percent": waited,
        }
