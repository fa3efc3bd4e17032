"""Which of the watched processes have ended: a descriptor shows the end of each, opened once while it runs."""

from __future__ import annotations

import contextlib
import os
import select
import threading
from collections.abc import Callable, Iterable

from dcnlab.lab.running.processes.supervised import SupervisedProcess


class Endings:
    """One thread renews the descriptors and waits; others may ask meanwhile which processes have ended."""

    def __init__(self) -> None:
        self._poll = select.epoll()
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._poll.register(self._wake, select.EPOLLIN)
        #: The process of each descriptor.
        self._watched: dict[int, SupervisedProcess] = {}
        #: Held while descriptors are opened, closed, or asked about.
        self._lock = threading.Lock()

    def wake(self) -> None:
        """Have the thread that waits go on."""
        os.eventfd_write(self._wake, 1)

    def renew(self, parts: Iterable[SupervisedProcess]) -> None:
        """Watch those of ``parts`` that run, and nothing else: one that has ended may run again since."""
        wanted = {id(part): part for part in parts}
        with self._lock:
            ended = self._ended()
            for handle, part in list(self._watched.items()):
                if handle in ended or id(part) not in wanted:
                    del self._watched[handle]
                    self._poll.unregister(handle)
                    os.close(handle)
            known = set(map(id, self._watched.values()))
            for part in wanted.values():
                if id(part) not in known and (ending := part.ending()) is not None:
                    self._watched[ending[0]] = part
                    self._poll.register(*ending)

    def wait(self, seconds: float) -> None:
        """Return when a process ends, somebody wakes this thread, or after so many seconds."""
        self._poll.poll(seconds)
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._wake)

    def running(self) -> Callable[[SupervisedProcess], bool]:
        """Return what says of a process whether it is watched and has not ended, now."""
        with self._lock:
            ended = self._ended()
            running = {id(part) for handle, part in self._watched.items() if handle not in ended}
        return lambda part: id(part) in running

    def _ended(self) -> set[int]:
        return {handle for handle, _ in self._poll.poll(0, len(self._watched) + 1)}
