"""Counters of links and of switches' ports: the kernel's counters of the interfaces at their ends.

An open ``/proc/net/dev`` keeps showing the namespace in which it was opened.  So one descriptor per
namespace is enough, and reading starts no process.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from functools import cache, cached_property

from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.emulation.running import Running, interface
from dcnlab.lab.instruments.counting.port_counters import PortCounters
from dcnlab.lab.running.local_machine import LocalMachine
from topos.graph import Link

_DEV = "/proc/thread-self/net/dev"
#: The columns of received and sent bytes in a line.
_RECEIVED, _SENT = 0, 8
#: The columns of bytes, packets, errors and drops, for each direction.
_COLUMNS = {"bytes": 0, "packets": 1, "errors": 2, "dropped": 3}
_CHUNK = 1 << 16


class LinkCounters:
    """The counters of all links of a lab."""

    def __init__(self, running: Running) -> None:
        self._running = running
        #: The file is read in pieces, so one reader at a time.
        self._lock = threading.Lock()

    def read(self) -> list[tuple[int, int]]:
        """Per link the bytes from its end a to b and from b to a since the launch."""
        by_interface = parse(self._text())
        fabric = self._running.fabric
        return [self._of(link, by_interface) for link in fabric.links()]

    def _of(self, link: Link, by_interface: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
        """Count as the end a does, or as b where a is on another machine or was removed by its owner."""
        running = self._running
        for end in (link.a, link.b):
            counted = by_interface.get(interface(running.fabric, end.node, end.number))
            if counted is not None and running.here(end.node):
                sent, received = counted
                return (sent, received) if end is link.a else (received, sent)
        return 0, 0

    def ports(self) -> list[PortCounters]:
        """The counters of every port of every switch."""
        columns, fabric = parse_columns(self._text()), self._running.fabric
        counters = []
        for switch in self._running.switches:
            for port, peer in fabric.ports(switch):
                # A port without an interface, deleted by hand, has counted nothing.
                values = columns.get(interface(fabric, switch, port), [0] * 2 * _SENT)
                counts = {f"rx_{name}": values[_RECEIVED + at] for name, at in _COLUMNS.items()}
                counts |= {f"tx_{name}": values[_SENT + at] for name, at in _COLUMNS.items()}
                counters.append(PortCounters(fabric.name(switch), port, fabric.name(peer.node), **counts))
        return counters

    def _text(self) -> str:
        """The lines of all namespaces' interfaces."""
        with self._lock:
            return "".join(_lines(_read_all(descriptor)) for descriptor in self._descriptors)

    @cached_property
    def _descriptors(self) -> tuple[int, ...]:
        running = self._running
        names = sorted({running.namespace(node) for node in (*running.servers, *running.switches)})
        return tuple(netns.inside(name, lambda: os.open(_DEV, os.O_RDONLY | os.O_CLOEXEC)) for name in names)


@cache
def link_counters(lab: LocalMachine) -> LinkCounters:
    """The counters of a lab; its descriptors stay open for the next reading."""
    return LinkCounters(lab.running)


def parse(text: str) -> dict[str, tuple[int, int]]:
    """(bytes sent, bytes received) by interface, from the text of ``/proc/net/dev``."""
    return {name: (values[_SENT], values[_RECEIVED]) for name, values in parse_columns(text).items()}


def parse_columns(text: str) -> dict[str, list[int]]:
    """All columns by interface: eight of what was received, eight of what was sent."""
    named = (line.partition(":") for line in text.splitlines() if ":" in line)
    return {name.strip(): list(map(int, numbers.split())) for name, _, numbers in named}


def _lines(text: str) -> str:
    """Without the two lines of headings."""
    return text.split("\n", 2)[2]


def _read_all(descriptor: int) -> str:
    """The whole of a file that the kernel returns one page at a time."""
    parts: list[bytes] = []
    offset = 0
    while part := os.pread(descriptor, _CHUNK, offset):
        parts.append(part)
        offset += len(part)
    return b"".join(parts).decode()
