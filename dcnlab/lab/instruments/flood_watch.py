"""Frames that circulate: a foreign controller floods, and the switches form loops.

Where the links between switches are busy, a sample of the broadcasts that arrive by the busiest one is taken.
A frame that returns again and again circulates: without a loop it crosses a link once.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import select
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence

from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.emulation.running import interface
from dcnlab.lab.events.kinds import Alarm
from dcnlab.lab.instruments.counting.counters import link_counters
from dcnlab.lab.instruments.counting.port_counters import PortCounters
from dcnlab.lab.running import controller_status
from dcnlab.lab.running.local_machine import LocalMachine

_log = logging.getLogger(__name__)

#: Seconds between two looks at the counters, and seconds and frames of a sample.
INTERVAL, SAMPLE, MOST = 2.0, 0.5, 2000
#: Packets per second of one link below which no sample is taken.
_BUSY = 20.0
#: How often a frame must arrive within a sample to be one that circulates.
_OFTEN = 5
_ETH_P_ALL, _OUTGOING = 0x0003, 4
_SO_ATTACH_FILTER = 26
#: Classic BPF: accept frames whose first byte has the group bit, at most 512 bytes of each; LDB [0], JSET #1.
_GROUP_ONLY = ((0x30, 0, 0, 0), (0x45, 0, 1, 1), (0x06, 0, 0, 512), (0x06, 0, 0, 0))


class FloodWatch:
    """Looks now and then; :attr:`line` says what was seen last."""

    def __init__(self, lab: LocalMachine) -> None:
        self._lab, self._read = lab, link_counters(lab).ports
        self.line = ""

    def run(self) -> None:
        """Look until the lab stops."""
        before, at = self._read(), time.monotonic()
        said: list[str] = []
        while not self._lab.stop.wait(INTERVAL):
            now, later = self._read(), time.monotonic()
            with contextlib.suppress(OSError):  # the lab ends, or the port is being deleted
                self.line = self._look(before, now, later - at)
            before, at = now, later
            said = self._report(said)

    def _report(self, said: list[str]) -> list[str]:
        """Add what is new about the control of the switches to the lab's journal and log."""
        lines = [*controller_status.status(self._lab.running).notes, *([self.line] if self.line else [])]
        kinds = {line.partition(":")[0] for line in said}
        for line in lines:
            if line.partition(":")[0] not in kinds:  # the numbers in a line may change all the time
                _log.warning("%s", line)
                self._lab.journal.add(Alarm("controller", line))
        return lines

    def _look(self, before: Sequence[PortCounters], now: Sequence[PortCounters], seconds: float) -> str:
        place = busiest(before, now, seconds)
        if place is None:
            return ""
        port, rate = place
        fabric = self._lab.fabric
        name = interface(fabric, fabric.index(port.switch), port.port)
        shard = self._lab.running.shard(port.switch)
        seen = netns.inside(shard.netns, lambda: repetitions(_broadcasts(name)))
        if seen < _OFTEN:
            return ""
        return (
            f"frames circulate in a loop: {port.switch} got one broadcast {seen} times within {SAMPLE:g} s "
            f"from {port.to}, and {rate:,.0f} packets/s by that link (--no-loops floods along a tree)"
        )


def begin(lab: LocalMachine) -> None:
    """Watch a lab whose switches somebody else controls; what is seen is among the lab's notices."""
    watch = FloodWatch(lab)
    threading.Thread(target=watch.run, daemon=True, name="floods").start()
    lab.notices.append(lambda: [watch.line] if watch.line else [])


def busiest(
    before: Sequence[PortCounters], now: Sequence[PortCounters], seconds: float
) -> tuple[PortCounters, float] | None:
    """The port that has received most from another switch between two readings, and its packets per second;
    None if none is busy."""
    switches = {port.switch for port in now}
    between = [
        (new.rx_packets - old.rx_packets, number)
        for number, (old, new) in enumerate(zip(before, now, strict=True))
        if new.to in switches
    ]
    most, number = max(between, default=(0, 0))
    return (now[number], most / seconds) if most > _BUSY * seconds else None


def repetitions(frames: Iterator[bytes]) -> int:
    """How often the most frequent frame occurs."""
    counted = Counter(frames)
    return max(counted.values(), default=0)


def _broadcasts(name: str) -> Iterator[bytes]:
    """The broadcasts and multicasts that arrive at an interface of this thread's namespace in a sample."""
    with _group_socket(name) as connection:
        end = time.monotonic() + SAMPLE
        poll = select.poll()
        poll.register(connection, select.POLLIN)
        for _ in range(MOST):
            left = end - time.monotonic()
            if left <= 0 or not poll.poll(left * 1000):
                return
            frame, address = connection.recvfrom(512)
            if address[2] != _OUTGOING:
                yield frame


def _group_socket(name: str) -> socket.socket:
    """A packet socket at an interface that takes frames to groups only."""
    program = b"".join(struct.pack("HBBI", *instruction) for instruction in _GROUP_ONLY)
    memory = ctypes.create_string_buffer(program)
    connection = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    connection.setsockopt(
        socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HL", len(_GROUP_ONLY), ctypes.addressof(memory))
    )
    connection.bind((name, _ETH_P_ALL))
    return connection
