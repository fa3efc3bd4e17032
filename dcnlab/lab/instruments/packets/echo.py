"""Echo requests between many pairs of servers.

The raw sockets are opened inside the servers' namespaces and used by one process, so that all pairs of a
large lab take seconds.
"""

from __future__ import annotations

import itertools
import os
import select
import socket
import struct
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from dcnlab.lab.network.endpoint import Endpoint

#: ICMP types of echo requests and replies, by version of IP.
_ECHO = {4: (8, 0), 6: (128, 129)}
_HEADER = struct.Struct("!BBHHH")
#: Requests in flight: few, so that round-trip times contain no queueing.
_WINDOW = 4
#: Seconds after which a request without an answer no longer counts as in flight.  It may still be answered,
#: but it does not delay the others: where many are lost, a time-out for every few of them would take too long.
_SLOW_AFTER = 0.25
#: Seconds without any answer after which echo requests count as lost.
PING_TIMEOUT = 5.0
#: Seconds of which one turn of the loop is taken to be patience at most; the loop waits half of it for packets.
_TURN = 0.1
#: A request is lost after so many timeouts even if others are answered: sequence numbers are used again.
_AT_MOST = 12


@dataclass
class PingReport:
    """How many echo requests were sent and answered, round-trip times in milliseconds, and lost pairs."""

    sent: int = 0
    received: int = 0
    rtt_ms: list[float] = field(default_factory=list)
    lost: list[tuple[str, str]] = field(default_factory=list)


def quantile(values: Sequence[float], share: float) -> float | None:
    """The quantile ``share`` of the values; None without values."""
    if not values:
        return None
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 4)


def is_lost(sent: float, answered: float, now: float, timeout: float) -> bool:
    """Whether a request is lost that was ``sent`` and not answered; the last answer to any was ``answered``."""
    return now - max(sent, answered) > timeout or now - sent > _AT_MOST * timeout


class Patience:
    """The seconds that count towards a timeout: those in which answers would have been read.

    When the machine stands still, or this process does, the lab has not been silent.
    """

    def __init__(self, now: float) -> None:
        self._last, self.spent = now, 0.0

    def turn(self, now: float) -> None:
        """A turn of the loop has ended at ``now``, and what has arrived was read."""
        self.spent += min(now - self._last, _TURN)
        self._last = now


def ping_pairs(
    pairs: Iterable[tuple[Endpoint, Endpoint]],
    timeout: float = PING_TIMEOUT,
    progress: Callable[[int], None] | None = None,
    size: int = 56,
    identity: int | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> PingReport:
    """Send one echo request with ``size`` bytes from the first to the second of every pair.

    A request is lost if it is not answered while no answer to any request arrives for ``timeout`` seconds:
    as long as answers arrive, the lab is slow, not silent (see also :class:`Patience`).  ``progress`` gets the
    number of requests decided.  They have the sequence numbers 0, 1, ... and an ``identity`` from 0 to 65535.
    Once ``stopped`` says so, the report is of the requests decided until then.
    """
    return _Pinger(timeout, progress, size, identity, stopped).run(pairs)


class _Pinger:
    """Sends echo requests from many namespaces, a few in flight at a time."""

    def __init__(
        self,
        timeout: float,
        progress: Callable[[int], None] | None,
        size: int,
        identity: int | None,
        stopped: Callable[[], bool],
    ) -> None:
        self._timeout, self._progress, self._size, self._stopped = timeout, progress, size, stopped
        self._sockets: dict[str, socket.socket] = {}
        self._by_descriptor: dict[int, str] = {}
        self._waiting: dict[tuple[str, int], tuple[float, str]] = {}
        self._due: deque[tuple[float, tuple[str, int]]] = deque()
        self._patience = Patience(time.perf_counter())
        self._answered = 0.0
        self._poll = select.epoll()
        self._identity = os.getpid() & 0xFFFF if identity is None else identity
        self._report = PingReport()

    def run(self, pairs: Iterable[tuple[Endpoint, Endpoint]]) -> PingReport:
        remaining = iter(pairs)
        try:
            exhausted = False
            while (self._waiting or not exhausted) and not self._stopped():
                while not exhausted and self._in_flight(time.perf_counter()) < _WINDOW:
                    pair = next(remaining, None)
                    exhausted = pair is None
                    if pair is not None:
                        self._send(*pair)
                self._collect()
            self._report.sent -= len(self._waiting)
        finally:
            self._poll.close()
            for handle in self._sockets.values():
                handle.close()
        return self._report

    def _in_flight(self, now: float) -> int:
        """How many of the last requests may still be answered soon."""
        latest = itertools.islice(reversed(self._waiting.values()), _WINDOW)
        return sum(sent > now - _SLOW_AFTER for sent, _ in latest)

    def _send(self, source: Endpoint, target: Endpoint) -> None:
        handle = self._sockets.get(source.name) or self._open(source)
        sequence = self._report.sent & 0xFFFF
        self._report.sent += 1
        key, now = (source.name, sequence), time.perf_counter()
        try:
            request = _echo_request(target.version, self._identity, sequence, self._size)
            handle.sendto(request, (target.address, 0))
        except OSError:
            self._lost(source.name, target.name)
            return
        self._waiting[key] = (now, target.name)
        self._due.append((self._patience.spent, key))

    def _open(self, source: Endpoint) -> socket.socket:
        protocol = socket.IPPROTO_ICMPV6 if source.version == 6 else socket.IPPROTO_ICMP
        handle = source.socket(socket.SOCK_RAW, protocol)
        handle.setblocking(False)
        self._sockets[source.name] = handle
        self._by_descriptor[handle.fileno()] = source.name
        self._poll.register(handle, select.EPOLLIN)
        return handle

    def _collect(self) -> None:
        for descriptor, _ in self._poll.poll(_TURN / 2):
            name = self._by_descriptor[descriptor]
            try:
                data = self._sockets[name].recv(65_535)
            except BlockingIOError:
                continue
            self._received(name, data, time.perf_counter())
        self._patience.turn(time.perf_counter())
        self._expire(self._patience.spent)

    def _received(self, name: str, data: bytes, now: float) -> None:
        # Raw sockets pass the IPv4 header on, but not the IPv6 header.
        version = 6 if self._sockets[name].family == socket.AF_INET6 else 4
        start = (data[0] & 0xF) * 4 if version == 4 else 0
        if len(data) < start + _HEADER.size:
            return
        kind, _, _, identity, sequence = _HEADER.unpack_from(data, start)
        if kind != _ECHO[version][1] or identity != self._identity:
            return
        waiting = self._waiting.pop((name, sequence), None)
        if waiting is not None:
            self._answered = self._patience.spent
            self._report.received += 1
            self._report.rtt_ms.append((now - waiting[0]) * 1000)
            self._decided()

    def _expire(self, now: float) -> None:
        while self._due:
            sent, key = self._due[0]
            if key in self._waiting and not is_lost(sent, self._answered, now, self._timeout):
                return
            self._due.popleft()
            waiting = self._waiting.pop(key, None)
            if waiting is not None:
                self._lost(key[0], waiting[1])

    def _lost(self, source: str, target: str) -> None:
        self._report.lost.append((source, target))
        self._decided()

    def _decided(self) -> None:
        if self._progress is not None:
            self._progress(self._report.received + len(self._report.lost))


def _echo_request(version: int, identity: int, sequence: int, size: int) -> bytes:
    """The request as bytes; the kernel overwrites the checksum of ICMPv6."""
    body, kind = bytes(size), _ECHO[version][0]
    plain = _HEADER.pack(kind, 0, 0, identity, sequence) + body
    total = sum(struct.unpack(f"!{len(plain) // 2}H", plain[: len(plain) // 2 * 2]))
    if len(plain) % 2:
        total += plain[-1] << 8
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return _HEADER.pack(kind, 0, ~total & 0xFFFF, identity, sequence) + body
