"""Whether processes of agents make progress, in memory that they share with their supervisor.

A process notes the number of its turn of the event loop before it handles what has arrived, and 0 before
it waits for more.  A supervisor that finds the same turn again and again, though the process could have gone
on, concludes that it hangs: in an endless loop of a scheme for instance.  Nothing wakes a process for this.

The supervisor notes there when a process was stopped and when it went on.  Packets that have waited too long
for a stopped agent are dropped: see :func:`discards`.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import time
from dataclasses import dataclass
from pathlib import Path

#: Seconds that a turn may take: of processor time, or blocked.
PATIENCE = 5.0
#: The numbers of a cell: the turn, and the milliseconds at which the process was stopped and went on.
TURN, STOPPED, CONTINUED = range(3)
#: Milliseconds for which packets may wait for a stopped agent.
_KEPT = 1000
#: Milliseconds after which a process that went on has surely handled what had waited for it.
_HANDLED = 500
#: Bytes between two cells, a cache line: processes write them at each turn.
_CELL = 64
_TICKS = os.sysconf("SC_CLK_TCK")


def cells(count: int) -> list[memoryview]:
    """So many cells, each of three 64-bit numbers.  Create them before the processes are forked."""
    memory = memoryview(mmap.mmap(-1, max(1, count) * _CELL))
    return [memory[at : at + 24].cast("Q") for at in range(0, count * _CELL, _CELL)]


def shared_cell(descriptor: int) -> memoryview:
    """A cell in the memory of a descriptor, for processes that are no forks of each other."""
    return memoryview(mmap.mmap(descriptor, _CELL))[:8].cast("Q")


def milliseconds() -> int:
    """A clock that supervisor and agents share."""
    return time.monotonic_ns() // 1_000_000


def discards(cell: memoryview, now: int) -> bool:
    """Whether an agent that was stopped drops what waits for it; afterwards the cell says nothing of the stop.

    A packet that comes seconds late is of little use, and looks like a slow path.  What waited less is kept."""
    stopped, continued = cell[STOPPED], cell[CONTINUED]
    cell[STOPPED] = 0
    end = continued if continued >= stopped else now
    return end - stopped > _KEPT and now - end < _HANDLED


def new_memory() -> int:
    """A descriptor of memory for :func:`shared_cell`."""
    descriptor = os.memfd_create("turns")
    os.ftruncate(descriptor, _CELL)
    return descriptor


@dataclass
class Turn:
    """What a supervisor has seen of a process's present turn.

    ``used``: the seconds that the process has computed or was blocked in it; ``None`` after the first look.
    """

    number: int = 0
    used: float | None = None
    _cpu: float = 0.0
    _at: float = 0.0

    def look(self, number: int, pid: int, now: float) -> bool:
        """Whether the process hangs, by the ``number`` in its cell; call this from time to time."""
        if not number or number != self.number:
            self.number, self.used = number, None
            return False
        self.note(*_process(pid), now)
        return self.used is not None and self.used >= PATIENCE

    def note(self, running: bool, cpu: float, now: float) -> None:
        """The turn goes on.  Time without a processor on a loaded machine does not count: the process has used
        ``cpu`` seconds of processor time so far, and is ``running``, waits for a processor, or is blocked."""
        if self.used is None:
            self.used = 0.0
        else:
            self.used += cpu - self._cpu if running else now - self._at
        self._cpu, self._at = cpu, now


def _process(pid: int) -> tuple[bool, float]:
    """Whether a process computes or waits for a processor, and the processor time that it has used."""
    with contextlib.suppress(OSError):
        fields = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()
        return fields[0] == "R", (int(fields[11]) + int(fields[12])) / _TICKS
    return True, 0.0
