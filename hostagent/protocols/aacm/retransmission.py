"""Retransmission of frames until they are acknowledged; times are arguments, in seconds."""

from __future__ import annotations

from dataclasses import dataclass

from hostagent.protocols.aacm.frames import Frame
from hostagent.protocols.aacm.ports import Coordinates


@dataclass(frozen=True)
class AacmTiming:
    """The timers of AACM.

    ``hop`` is the longest time, in seconds, that a frame takes over one link and through a server.  A Config is
    answered when its receiver has all others that it needs.  So the interval of retransmission is the time that
    the wave of Configs takes through the whole torus.
    """

    hop: float = 0.05
    #: How often a frame is sent before its link counts as failed.
    attempts: int = 8

    def interval(self, sizes: Coordinates) -> float:
        """Seconds until a retransmission."""
        return self.hop * (2 + sum(sizes))

    def timeout(self, sizes: Coordinates) -> float:
        """Seconds until a link counts as failed."""
        return self.attempts * self.interval(sizes)


@dataclass(slots=True)
class _Pending:
    frame: Frame
    data: bytes
    attempts: int
    due: float


class Retransmitter:
    """The unacknowledged frames of one server, by port and sequence number."""

    def __init__(self, interval: float, attempts: int) -> None:
        self._interval, self._attempts = interval, attempts
        self._pending: dict[tuple[int, int], _Pending] = {}

    def track(self, frame: Frame, data: bytes, now: float) -> None:
        """A frame has just been sent by its port for the first time."""
        self._pending[frame.port, frame.sequence] = _Pending(frame, data, 1, now + self._interval)

    def acknowledge(self, port: int, answer: Frame) -> bool:
        """Handle an ACK that arrived at ``port``; returns whether it answers a frame sent there."""
        pending = self._pending.get((port, answer.sequence))
        if pending is None or answer.kind & pending.frame.kind != pending.frame.kind:
            return False
        del self._pending[port, answer.sequence]
        return True

    def next_timer(self) -> float | None:
        """When the next frame is due in :meth:`due`."""
        return min((pending.due for pending in self._pending.values()), default=None)

    def due(self, now: float) -> tuple[list[tuple[int, bytes]], list[Frame]]:
        """The frames to retransmit, as (port, bytes), and those that are given up."""
        again, lost = [], []
        for key, pending in list(self._pending.items()):
            if pending.due > now:
                continue
            if pending.attempts >= self._attempts:
                del self._pending[key]
                lost.append(pending.frame)
                continue
            pending.attempts += 1
            pending.due = now + self._interval
            again.append((key[0], pending.data))
        return again, lost
