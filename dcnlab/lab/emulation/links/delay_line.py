"""Holds packets of links back, without netem: ``python -P -m dcnlab.lab.emulation.links.delay_line FD``.

The kernel redirects what an interface sends to a TAP device, and what the device receives to the interface.
This process reads packets from the device, and writes them to it when they have waited.  Links are told
through the socket FD: a JSON object for each end, the first time with the descriptor of the TAP device.  The
process ends with the other end of FD.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import heapq
import json
import os
import random
import select
import socket
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from dcnlab.lab.emulation.links.corruption import corrupt

#: The header of super-packets and of checksums that are still to be computed, and the longest packet after it.
_HEADER, _LONGEST = 10, 65_535 + 64
#: Packets that are read at a time, and that wait for an end of a link at most, as with netem.
_READS, _MOST_WAITING = 64, 10_000
_PR_SET_TIMERSLACK = 29
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass
class Settings:
    """What packets of an end undergo: seconds, and shares of packets."""

    delay: float = 0.0
    jitter: float = 0.0
    loss: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    corrupt: float = 0.0


@dataclass
class End:
    """An end of a link."""

    tap: int
    settings: Settings = field(default_factory=Settings)
    waiting: int = 0


class Schedule:
    """The packets that wait, in the order in which they leave."""

    def __init__(self, chance: Callable[[], float] = random.random) -> None:
        """``chance`` gives numbers from 0 to 1, as ``random.random``."""
        self._chance = chance
        self._heap: list[tuple[float, int, End, bytes]] = []
        self._count = 0

    def add(self, end: End, packet: bytes, now: float) -> None:
        """Take a packet, which arrived at time ``now``."""
        settings = end.settings
        for leaving in self._packets(packet, settings):
            if end.waiting >= _MOST_WAITING:
                return
            delay = settings.delay
            if settings.reorder and self._chance() < settings.reorder:
                delay = 0.0
            elif settings.jitter:
                delay += settings.jitter * (2.0 * self._chance() - 1.0)
            self._count += 1
            end.waiting += 1
            heapq.heappush(self._heap, (now + max(delay, 0.0), self._count, end, leaving))

    def _packets(self, packet: bytes, settings: Settings) -> Iterator[bytes]:
        """What leaves for a packet: nothing, or it once or twice, each maybe with a wrong bit."""
        for _ in range(self._copies(settings)):
            if settings.corrupt and self._chance() < settings.corrupt:
                yield from corrupt(packet, self._chance)
            else:
                yield packet

    def _copies(self, settings: Settings) -> int:
        if settings.loss and self._chance() < settings.loss:
            return 0
        return 2 if settings.duplicate and self._chance() < settings.duplicate else 1

    def due(self, now: float) -> Iterator[tuple[End, bytes]]:
        """Give the packets that have waited."""
        while self._heap and self._heap[0][0] <= now:
            _, _, end, packet = heapq.heappop(self._heap)
            end.waiting -= 1
            yield end, packet

    def wait(self, now: float) -> float | None:
        """Seconds until the next packet leaves; None where none waits."""
        return max(self._heap[0][0] - now, 0.0) if self._heap else None


class DelayLine:
    """The ends of links and their packets."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._ends: dict[int, End] = {}
        self._by_tap: dict[int, End] = {}
        self._schedule = Schedule()
        self._poll = select.epoll()
        self._poll.register(channel, select.EPOLLIN)

    def run(self) -> None:
        """Carry packets until the channel is closed."""
        while True:
            wait = self._schedule.wait(time.monotonic())
            if select.select([self._poll], [], [], wait)[0]:  # epoll alone counts in milliseconds
                for descriptor, _ in self._poll.poll(0):
                    if descriptor != self._channel.fileno():
                        self._read(self._by_tap[descriptor])
                    elif not self._told():
                        return
            for end, packet in self._schedule.due(time.monotonic()):
                with contextlib.suppress(OSError):  # somebody has taken the device down
                    os.write(end.tap, packet)

    def _read(self, end: End) -> None:
        with contextlib.suppress(BlockingIOError):
            for _ in range(_READS):
                packet = os.read(end.tap, _HEADER + _LONGEST)
                self._schedule.add(end, packet, time.monotonic())

    def _told(self) -> bool:
        """Take one message; False at the end of the channel."""
        data, descriptors, _, _ = socket.recv_fds(self._channel, 1 << 16, 1)
        if not data:
            return False
        message = json.loads(data)
        number, settings = message["end"], Settings(**message["settings"])
        if descriptors:
            (tap,) = descriptors
            self._ends[number] = self._by_tap[tap] = End(tap, settings)
            self._poll.register(tap, select.EPOLLIN)
        else:
            self._ends[number].settings = settings
        return True


def main() -> None:
    """Run the delay line."""
    _libc.prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
    gc.disable()  # nothing here is in a circle
    with socket.socket(fileno=int(sys.argv[1])) as channel:
        DelayLine(channel).run()


if __name__ == "__main__":
    main()
