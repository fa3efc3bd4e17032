"""What links have carried: byte counters of the interfaces at their ends, as the kernel keeps them.

``/proc/net/dev`` shows the namespace in which it was opened for as long as it stays open,
so one descriptor per namespace is enough, and reading starts no process.
"""

from __future__ import annotations

import os
import threading
from functools import cached_property

from dcnlab.lab.emulation import netns
from dcnlab.lab.emulation.launch import Running, interface

_DEV = "/proc/thread-self/net/dev"
#: The places of received and sent bytes among the numbers of a line.
_RECEIVED, _SENT = 0, 8
_CHUNK = 1 << 16


class LinkCounters:
    """The counters of all links of a lab."""

    def __init__(self, running: Running) -> None:
        self._running = running
        #: A file that is read in pieces has one reader at a time.
        self._lock = threading.Lock()

    def read(self) -> list[tuple[int, int]]:
        """Per link the bytes that went from its end a to b, and from b to a, since the launch."""
        found: dict[str, tuple[int, int]] = {}
        with self._lock:
            for descriptor in self._descriptors:
                found.update(parse(_whole(descriptor)))
        fabric = self._running.fabric
        return [found[interface(fabric, link.a.node, link.a.number)] for link in fabric.links()]

    @cached_property
    def _descriptors(self) -> tuple[int, ...]:
        running = self._running
        names = sorted({running.namespace(node) for node in range(running.fabric.size)})
        return tuple(netns.inside(name, lambda: os.open(_DEV, os.O_RDONLY | os.O_CLOEXEC)) for name in names)


def parse(text: str) -> dict[str, tuple[int, int]]:
    """(bytes sent, bytes received) by interface, from the text of ``/proc/net/dev``."""
    found = {}
    for line in text.splitlines()[2:]:
        name, _, numbers = line.partition(":")
        values = numbers.split()
        found[name.strip()] = int(values[_SENT]), int(values[_RECEIVED])
    return found


def _whole(descriptor: int) -> str:
    """All of a file that the kernel gives a page at a time."""
    parts: list[bytes] = []
    offset = 0
    while part := os.pread(descriptor, _CHUNK, offset):
        parts.append(part)
        offset += len(part)
    return b"".join(parts).decode()
