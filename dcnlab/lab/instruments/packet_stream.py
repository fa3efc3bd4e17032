"""A stream of numbered packets between two servers, to measure losses and outages."""

from __future__ import annotations

import contextlib
import itertools
import socket
import statistics
import struct
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass

from dcnlab.lab.errors import LabError
from dcnlab.lab.instruments.result import Result
from dcnlab.lab.instruments.sockets import enlarge_receive_buffer
from dcnlab.lab.running.endpoint import Endpoint

#: The option with which the kernel timestamps arrivals, and the timestamp: seconds and nanoseconds.
_SO_TIMESTAMPNS, _TIMESPEC = 35, struct.Struct("@ll")
_NUMBER = struct.Struct("!Q")


def most_lost_in_a_row(arrived: Iterable[int], sent: int) -> int:
    """The longest run of missing numbers among 0 to ``sent`` - 1."""
    numbers = sorted(arrived)
    return max(b - a - 1 for a, b in itertools.pairwise([-1, *numbers, sent]))


@dataclass(frozen=True)
class StreamResult(Result):
    """Packets sent, received and lost, the outage, and the gaps between arrivals, in milliseconds.

    The outage is loss-derived (RFC 6413): the longest run of lost packets, as a time.  The longest gap
    includes the time that packets waited in queues.
    """

    sent: int
    received: int
    lost: int
    outage_ms: float
    longest_gap_ms: float
    median_gap_ms: float | None


class PacketStream:
    """Small UDP packets from one server to another, each with its number, every ``interval`` seconds.

    A sender that is late sends no burst afterwards, and the kernel timestamps arrivals: a busy machine
    does not look like an outage of the network.
    """

    def __init__(self, source: Endpoint, target: Endpoint, interval: float = 0.001) -> None:
        self._interval = interval
        self._receiver = target.socket(socket.SOCK_DGRAM)
        enlarge_receive_buffer(self._receiver)
        self._receiver.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        self._receiver.bind((target.address, 0))
        self._receiver.settimeout(0.2)
        self._sender = source.socket(socket.SOCK_DGRAM)
        self._target = self._receiver.getsockname()
        self._arrivals: dict[int, float] = {}
        self._sent = 0
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._receive, self._send)]
        for thread in self._threads:
            thread.start()

    def wait_flowing(self, timeout: float = 5.0) -> None:
        """Return once packets arrive; LabError when none does within ``timeout`` seconds."""
        deadline = time.monotonic() + timeout
        while len(self._arrivals) < 10:
            if time.monotonic() > deadline:
                raise LabError("no packet of the stream arrived")
            time.sleep(self._interval)

    def stop(self) -> StreamResult:
        """End the stream, wait for packets in flight, and return the figures."""
        self._stop.set()
        for thread in self._threads:
            thread.join()
        self._sender.close()
        self._receiver.close()
        times = sorted(self._arrivals.values())
        gaps = [b - a for a, b in itertools.pairwise(times)]
        return StreamResult(
            sent=self._sent,
            received=len(self._arrivals),
            lost=self._sent - len(self._arrivals),
            outage_ms=round(most_lost_in_a_row(self._arrivals, self._sent) * self._interval * 1000, 2),
            longest_gap_ms=round(max(gaps, default=0.0) * 1000, 2),
            median_gap_ms=round(statistics.median(gaps) * 1000, 2) if gaps else None,
        )

    def _send(self) -> None:
        due = time.monotonic()
        while not self._stop.is_set():
            with contextlib.suppress(OSError):  # no route at the moment: the packet counts as lost
                self._sender.sendto(_NUMBER.pack(self._sent), self._target)
            self._sent += 1
            now = time.monotonic()
            due = max(due + self._interval, now)
            self._stop.wait(due - now)

    def _receive(self) -> None:
        quiet = 0
        while quiet < 2:
            try:
                data, ancillary, _, _ = self._receiver.recvmsg(64, socket.CMSG_SPACE(_TIMESPEC.size))
            except TimeoutError:
                quiet = quiet + 1 if self._stop.is_set() else 0
                continue
            if len(data) == _NUMBER.size and ancillary:
                seconds, nanoseconds = _TIMESPEC.unpack(ancillary[0][2])
                self._arrivals[_NUMBER.unpack(data)[0]] = seconds + nanoseconds * 1e-9
