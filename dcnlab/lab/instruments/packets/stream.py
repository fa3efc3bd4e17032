"""A stream of numbered packets between two servers, to measure losses and outages."""

from __future__ import annotations

import contextlib
import itertools
import socket
import statistics
import struct
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dcnlab.lab.errors import LabError
from dcnlab.lab.instruments.packets.sockets import enlarge_receive_buffer
from dcnlab.lab.instruments.result import Result, Table
from dcnlab.lab.instruments.verdict import Timed
from dcnlab.lab.network.endpoint import Endpoint

#: The option with which the kernel timestamps arrivals, and the timestamp: seconds and nanoseconds.
_SO_TIMESTAMPNS, _TIMESPEC = 35, struct.Struct("@ll")
_NUMBER = struct.Struct("!Q")
#: Seconds between two packets of a stream that counts as flowing with some packets, not with the first.
_OFTEN = 0.01
#: Seconds between two looks at whether packets arrive.
_LOOK = 0.001


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
    #: Packets that the sender, which was late, has left out.
    missed: int = 0

    def timed(self) -> Timed:
        """The outage; gaps contain the sender's lateness anyway."""
        return Timed(delays=(self.outage_ms,), missed=self.missed / max(1, self.sent + self.missed))

    def table(self) -> Table:
        packets = [(name, f"{getattr(self, name):,} packets") for name in ("sent", "received", "lost")]
        times = (
            ("outage", self.outage_ms),
            ("longest gap", self.longest_gap_ms),
            ("median gap", self.median_gap_ms),
        )
        rows = [*packets, *((name, f"{ms:,} ms") for name, ms in times if ms is not None)]
        return Table(("figure", "value"), rows)


@dataclass(frozen=True)
class Arrivals:
    """What the receiver knows of a stream: how many packets came, the longest run of numbers missing before
    ``last``, the greatest that came (-1: none), and the gaps between arrivals in milliseconds."""

    received: int
    missing_in_a_row: int
    last: int
    longest_gap_ms: float
    median_gap_ms: float | None

    @classmethod
    def of(cls, arrivals: Mapping[int, float]) -> Arrivals:
        """Make one from the seconds at which each number came."""
        times, last = sorted(arrivals.values()), max(arrivals, default=-1)
        gaps = [b - a for a, b in itertools.pairwise(times)]
        return cls(
            received=len(arrivals),
            missing_in_a_row=most_lost_in_a_row(arrivals, last + 1),
            last=last,
            longest_gap_ms=round(max(gaps, default=0.0) * 1000, 2),
            median_gap_ms=round(statistics.median(gaps) * 1000, 2) if gaps else None,
        )

    def result(self, sent: int, interval: float, missed: int = 0) -> StreamResult:
        """With what the sender knows: the number of packets, the seconds between two, and those left out."""
        in_a_row = max(self.missing_in_a_row, sent - 1 - self.last)
        return StreamResult(
            sent=sent,
            received=self.received,
            lost=sent - self.received,
            outage_ms=round(in_a_row * interval * 1000, 2),
            longest_gap_ms=self.longest_gap_ms,
            median_gap_ms=self.median_gap_ms,
            missed=missed,
        )


class PacketReceiver:
    """Receives the numbered packets at a server.

    The kernel timestamps arrivals: a busy machine does not look like an outage of the network.
    """

    def __init__(self, target: Endpoint) -> None:
        self._socket = target.socket(socket.SOCK_DGRAM)
        enlarge_receive_buffer(self._socket)
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        self._socket.bind((target.address, 0))
        self._socket.settimeout(0.2)
        #: The port to which packets are to be sent.
        self.port = int(self._socket.getsockname()[1])
        self._arrivals: dict[int, float] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._receive, daemon=True)
        self._thread.start()

    def wait_flowing(self, interval: float, rtt: float = 0.0) -> None:
        """Return once packets arrive that are sent every ``interval`` seconds; LabError when none does in time,
        which is longer where links impose a round-trip time."""
        wanted = 10 if interval <= _OFTEN else 1
        timeout = 5.0 + rtt + wanted * interval
        deadline = time.monotonic() + timeout
        while len(self._arrivals) < wanted:
            if time.monotonic() > deadline:
                raise LabError(f"no packet of the stream arrived within {timeout:.3g} s")
            time.sleep(_LOOK)

    def stop(self) -> Arrivals:
        """Wait for packets in flight, and end."""
        self._stop.set()
        self._thread.join()
        self._socket.close()
        return Arrivals.of(self._arrivals)

    def _receive(self) -> None:
        quiet = 0
        while quiet < 2:
            try:
                data, ancillary, _, _ = self._socket.recvmsg(64, socket.CMSG_SPACE(_TIMESPEC.size))
            except TimeoutError:
                quiet = quiet + 1 if self._stop.is_set() else 0
                continue
            if len(data) == _NUMBER.size and ancillary:
                seconds, nanoseconds = _TIMESPEC.unpack(ancillary[0][2])
                self._arrivals[_NUMBER.unpack(data)[0]] = seconds + nanoseconds * 1e-9


class PacketSender:
    """Sends small UDP packets from a server, each with its number, every ``interval`` seconds.

    A sender that is late sends no burst afterwards.
    """

    def __init__(self, source: Endpoint, target: Endpoint, port: int, interval: float) -> None:
        self._interval, self._target = interval, (target.address, port)
        self._socket = source.socket(socket.SOCK_DGRAM)
        self._sent = 0
        #: Packets left out because the sender was late.
        self.missed = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._send, daemon=True)
        self._thread.start()

    def stop(self) -> int:
        """End; how many packets were sent."""
        self._stop.set()
        self._thread.join()
        self._socket.close()
        return self._sent

    def _send(self) -> None:
        due = time.monotonic()
        while not self._stop.is_set():
            with contextlib.suppress(OSError):  # no route at the moment: the packet counts as lost
                self._socket.sendto(_NUMBER.pack(self._sent), self._target)
            self._sent += 1
            now, due = time.monotonic(), due + self._interval
            if now > due + self._interval:
                self.missed += int((now - due) / self._interval)
            due = max(due, now)
            self._stop.wait(due - now)
