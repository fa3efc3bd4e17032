"""What the watcher has seen on a machine between two moments."""

from __future__ import annotations

from dataclasses import dataclass

#: The parts of a lab whose processes are told apart: those that forward, that which delays, and the others.
AGENTS, SWITCHES, DELAYS, PROGRAMS, CONTROL = "agents", "switches", "delay line", "programs", "control"


@dataclass(frozen=True)
class PartSeen:
    """The processes of a part: seconds of processor time, seconds in which they could run and had no processor,
    and how often they got one; ``top`` is the share of the time that their busiest thread needed a processor,
    with or without having one."""

    ran: float = 0.0
    waited: float = 0.0
    turns: int = 0
    top: float = 0.0

    @property
    def wait(self) -> float:
        """The mean time in seconds until a process that can run does."""
        return self.waited / self.turns if self.turns else 0.0


@dataclass(frozen=True)
class Observation:
    """A machine during a measurement: times in seconds, shares of 1.

    ``busy``, ``interrupts`` and ``stolen`` are seconds of all processors together; ``throttled`` those for
    which a limit of the control group stopped the lab.  Timers of the watcher were late by ``late_mean``,
    ``late_p99``; ``late_least`` is the best that the machine can, ``late_waited`` what of the mean the run
    queue explains.
    """

    seconds: float
    processors: int
    busy: float
    interrupts: float
    stolen: float
    throttled: float
    parts: dict[str, PartSeen]
    late_mean: float
    late_least: float
    late_waited: float
    late_p99: float
    queued_bytes: float
    dropped: int

    def part(self, name: str) -> PartSeen:
        """A part; nothing where the machine has none."""
        return self.parts.get(name) or PartSeen()

    @property
    def ran(self) -> float:
        """Seconds of processor time of the lab."""
        return sum(part.ran for part in self.parts.values())

    @property
    def waited(self) -> float:
        """Seconds in which its processes could run and had no processor."""
        return sum(part.waited for part in self.parts.values())

    @property
    def others(self) -> float:
        """Seconds of processor time of programs that are not the lab's."""
        return max(0.0, self.busy - self.interrupts - self.ran)
