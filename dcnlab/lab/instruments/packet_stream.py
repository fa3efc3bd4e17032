"""A stream of numbered packets between two servers: what is lost of it, and for how long."""

from __future__ import annotations

import contextlib
import itertools
import socket
import statistics
import struct
import threading
import time
from collections.abc import Iterable
from typing import Any

from dcnlab.lab.errors import LabError
from dcnlab.lab.instruments.sockets import enlarge_receive_buffer
from dcnlab.lab.running.endpoint import Endpoint

#: The option that has the kernel say when a packet arrived, and what it says: seconds and nanoseconds.
_SO_TIMESTAMPNS, _TIMESPEC = 35, struct.Struct("@ll")
_NUMBER = struct.Struct("!Q")


def most_lost_in_a_row(arrived: Iterable[int], sent: int) -> int:
    """The most packets in a row that are missing of those with the numbers 0 to ``sent`` - 1."""
    numbers = sorted(arrived)
    return max(b - a - 1 for a, b in itertools.pairwise([-1, *numbers, sent]))


class PacketStream:
    """Small UDP packets from one server to another, to see outages.

    One packet per ``interval`` seconds, each with its number.  Whoever sends too late does not
    make up for it with a burst, and arrivals have the kernel's times: that the machine was busy
    elsewhere is not taken for an outage of the network.
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
        """Until packets arrive."""
        deadline = time.monotonic() + timeout
        while len(self._arrivals) < 10:
            if time.monotonic() > deadline:
                raise LabError("no probe packet arrived")
            time.sleep(self._interval)

    def stop(self) -> dict[str, Any]:
        """End the stream: packets sent and lost, the outage and the gaps between arrivals in ms.

        The outage is what RFC 6413 calls loss-derived: the time in which all packets were lost that
        were sent.  The longest gap has in it what packets waited, too.
        """
        self._stop.set()
        for thread in self._threads:
            thread.join()
        self._sender.close()
        self._receiver.close()
        times = sorted(self._arrivals.values())
        gaps = [b - a for a, b in itertools.pairwise(times)]
        return {
            "sent": self._sent,
            "received": len(self._arrivals),
            "lost": self._sent - len(self._arrivals),
            "outage_ms": round(most_lost_in_a_row(self._arrivals, self._sent) * self._interval * 1000, 2),
            "longest_gap_ms": round(max(gaps, default=0.0) * 1000, 2),
            "median_gap_ms": round(statistics.median(gaps) * 1000, 2) if gaps else None,
        }

    def _send(self) -> None:
        due = time.monotonic()
        while not self._stop.is_set():
            with contextlib.suppress(OSError):  # no route for a moment: it counts as lost
                self._sender.sendto(_NUMBER.pack(self._sent), self._target)
            self._sent += 1
            now = time.monotonic()
            due = max(due + self._interval, now)
            self._stop.wait(due - now)

    def _receive(self) -> None:
        quiet = 0
        while quiet < 2:
            try:
                data, said, _, _ = self._receiver.recvmsg(64, socket.CMSG_SPACE(_TIMESPEC.size))
            except TimeoutError:
                quiet = quiet + 1 if self._stop.is_set() else 0
                continue
            if len(data) == _NUMBER.size and said:
                seconds, nanoseconds = _TIMESPEC.unpack(said[0][2])
                self._arrivals[_NUMBER.unpack(data)[0]] = seconds + nanoseconds * 1e-9
