"""Byte counters of links: the kernel's counters of the interfaces at their ends.

An open ``/proc/net/dev`` keeps showing the namespace in which it was opened.  So one descriptor per
namespace is enough, and reading starts no process.
"""

from __future__ import annotations

import os
import threading
from functools import cache, cached_property

from dcnlab.lab.emulation import netns
from dcnlab.lab.emulation.launch import Running, interface
from dcnlab.lab.running.lab import RunningLab

_DEV = "/proc/thread-self/net/dev"
#: The columns of received and sent bytes in a line.
_RECEIVED, _SENT = 0, 8
_CHUNK = 1 << 16


class LinkCounters:
    """The counters of all links of a lab."""

    def __init__(self, running: Running) -> None:
        self._running = running
        #: The file is read in pieces, so one reader at a time.
        self._lock = threading.Lock()

    def read(self) -> list[tuple[int, int]]:
        """Per link the bytes from its end a to b and from b to a since the launch."""
        by_interface: dict[str, tuple[int, int]] = {}
        with self._lock:
            for descriptor in self._descriptors:
                by_interface.update(parse(_read_all(descriptor)))
        fabric = self._running.fabric
        return [by_interface[interface(fabric, link.a.node, link.a.number)] for link in fabric.links()]

    @cached_property
    def _descriptors(self) -> tuple[int, ...]:
        running = self._running
        names = sorted({running.namespace(node) for node in range(running.fabric.size)})
        return tuple(netns.inside(name, lambda: os.open(_DEV, os.O_RDONLY | os.O_CLOEXEC)) for name in names)


@cache
def link_counters(lab: RunningLab) -> LinkCounters:
    """The counters of a lab; its descriptors stay open for the next reading."""
    return LinkCounters(lab.running)


def parse(text: str) -> dict[str, tuple[int, int]]:
    """(bytes sent, bytes received) by interface, from the text of ``/proc/net/dev``."""
    counters = {}
    for line in text.splitlines()[2:]:
        name, _, numbers = line.partition(":")
        values = numbers.split()
        counters[name.strip()] = int(values[_SENT]), int(values[_RECEIVED])
    return counters


def _read_all(descriptor: int) -> str:
    """The whole of a file that the kernel returns one page at a time."""
    parts: list[bytes] = []
    offset = 0
    while part := os.pread(descriptor, _CHUNK, offset):
        parts.append(part)
        offset += len(part)
    return b"".join(parts).decode()
