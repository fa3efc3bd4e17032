"""What is measured in a running lab: reachability and round trips, throughput (outages: stream.py).

Pings are ICMP echo requests from raw sockets that were opened inside the servers'
namespaces, so that all pairs of a large lab take seconds; iperf3 is the real program.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import os
import select
import socket
import struct
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from dcnlab.lab.errors import LabError
from dcnlab.lab.running.endpoint import Endpoint

#: ICMP types of echo requests and replies, by version of IP.
_ECHO = {4: (8, 0), 6: (128, 129)}
_HEADER = struct.Struct("!BBHHH")
#: Requests under way at once: few, so that round trips are the network's and not a queue's.
_WINDOW = 4
#: Seconds after which a request without an answer is still waited for, but keeps no other from being sent:
#: where much is lost, all pairs would take a PATIENCE for every few of them.
_SLOW_AFTER = 0.25
#: Seconds after which an echo request counts as lost.
PING_TIMEOUT = 5.0
#: iperf3's own; runs towards one server at the same time need one each.
IPERF_PORT = 5201


@dataclass
class PingReport:
    """How many echo requests were sent and answered, and the round trips in milliseconds."""

    sent: int = 0
    received: int = 0
    rtt_ms: list[float] = field(default_factory=list)
    lost: list[tuple[str, str]] = field(default_factory=list)

    def summary(self) -> dict[str, Any]:
        """The figures that scripts rely on."""
        return {
            "sent": self.sent,
            "received": self.received,
            "rtt_ms": {"p50": quantile(self.rtt_ms, 0.5), "p99": quantile(self.rtt_ms, 0.99)},
            "lost": [list(pair) for pair in self.lost],
        }


def quantile(values: Sequence[float], share: float) -> float | None:
    """The value below which ``share`` of all values lie; None without values."""
    if not values:
        return None
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 4)


def ping_pairs(
    pairs: Iterable[tuple[Endpoint, Endpoint]],
    timeout: float = PING_TIMEOUT,
    progress: Callable[[int], None] | None = None,
    size: int = 56,
) -> PingReport:
    """One echo request of ``size`` bytes from the first to the second of every pair."""
    return _Pinger(timeout, progress, size).run(pairs)


class _Pinger:
    """Echo requests from many namespaces, a bounded number of them under way at once."""

    def __init__(self, timeout: float, progress: Callable[[int], None] | None, size: int) -> None:
        self._timeout, self._progress, self._size = timeout, progress, size
        self._sockets: dict[str, socket.socket] = {}
        self._by_descriptor: dict[int, str] = {}
        self._waiting: dict[tuple[str, int], tuple[float, str]] = {}
        self._due: deque[tuple[float, tuple[str, int]]] = deque()
        self._poll = select.epoll()
        self._identity = os.getpid() & 0xFFFF
        self._report = PingReport()

    def run(self, pairs: Iterable[tuple[Endpoint, Endpoint]]) -> PingReport:
        remaining = iter(pairs)
        try:
            exhausted = False
            while self._waiting or not exhausted:
                while not exhausted and self._under_way(time.perf_counter()) < _WINDOW:
                    pair = next(remaining, None)
                    exhausted = pair is None
                    if pair is not None:
                        self._send(*pair)
                self._collect()
        finally:
            self._poll.close()
            for handle in self._sockets.values():
                handle.close()
        return self._report

    def _under_way(self, now: float) -> int:
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
        self._due.append((now + self._timeout, key))

    def _open(self, source: Endpoint) -> socket.socket:
        protocol = socket.IPPROTO_ICMPV6 if source.version == 6 else socket.IPPROTO_ICMP
        handle = source.socket(socket.SOCK_RAW, protocol)
        handle.setblocking(False)
        self._sockets[source.name] = handle
        self._by_descriptor[handle.fileno()] = source.name
        self._poll.register(handle, select.EPOLLIN)
        return handle

    def _collect(self) -> None:
        for descriptor, _ in self._poll.poll(0.05):
            name = self._by_descriptor[descriptor]
            try:
                data = self._sockets[name].recv(65_535)
            except BlockingIOError:
                continue
            self._received(name, data, time.perf_counter())
        self._expire(time.perf_counter())

    def _received(self, name: str, data: bytes, now: float) -> None:
        # Raw sockets hand over IPv4's header, but not IPv6's.
        version = 6 if self._sockets[name].family == socket.AF_INET6 else 4
        start = (data[0] & 0xF) * 4 if version == 4 else 0
        if len(data) < start + _HEADER.size:
            return
        kind, _, _, identity, sequence = _HEADER.unpack_from(data, start)
        if kind != _ECHO[version][1] or identity != self._identity:
            return
        found = self._waiting.pop((name, sequence), None)
        if found is not None:
            self._report.received += 1
            self._report.rtt_ms.append((now - found[0]) * 1000)
            self._decided()

    def _expire(self, now: float) -> None:
        while self._due and (self._due[0][0] < now or self._due[0][1] not in self._waiting):
            _, key = self._due.popleft()
            found = self._waiting.pop(key, None)
            if found is not None:
                self._lost(key[0], found[1])

    def _lost(self, source: str, target: str) -> None:
        self._report.lost.append((source, target))
        self._decided()

    def _decided(self) -> None:
        if self._progress is not None:
            self._progress(self._report.received + len(self._report.lost))


def _echo_request(version: int, identity: int, sequence: int, size: int) -> bytes:
    """The kernel writes ICMPv6's checksum itself, over whatever stands there."""
    body, kind = bytes(size), _ECHO[version][0]
    plain = _HEADER.pack(kind, 0, 0, identity, sequence) + body
    total = sum(struct.unpack(f"!{len(plain) // 2}H", plain[: len(plain) // 2 * 2]))
    if len(plain) % 2:
        total += plain[-1] << 8
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return _HEADER.pack(kind, 0, ~total & 0xFFFF, identity, sequence) + body


def iperf(
    client: list[str],
    server: list[str],
    target: str,
    seconds: float,
    options: Sequence[str] = (),
    port: int = IPERF_PORT,
    on_start: Callable[[subprocess.Popen[str]], None] = lambda _: None,
) -> dict[str, Any]:
    """Run iperf3 between two command prefixes; its summary: Mb/s, retransmits or lost share.

    iperf3 knows whole seconds only: ``seconds`` are rounded up (0 would be without end).  ``begun`` hears
    of the sending process.  Raises LabError with iperf3's own message when it fails.
    """
    length = ["-t", str(math.ceil(seconds))]
    asked = ["-c", target, "-p", str(port), *length, "--json", "--connect-timeout", "3000"]
    command = [*client, "iperf3", *asked, *options]
    with (
        _iperf_server(server, port),
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as sending,
    ):
        try:
            on_start(sending)
            said, complaint = sending.communicate(timeout=seconds + 30)
        except BaseException:
            sending.kill()
            raise
    result = json.loads(said or "{}")
    if sending.returncode or "error" in result:
        raise LabError(f"iperf3: {result.get('error') or complaint.strip()}")
    received = result["end"]["sum_received"]
    mbps = round(received["bits_per_second"] / 1e6, 1)
    if "lost_percent" in received:
        return {"mbps": mbps, "lost_percent": round(received["lost_percent"], 3)}
    return {"mbps": mbps, "retransmits": result["end"]["sum_sent"].get("retransmits")}


@contextlib.contextmanager
def _iperf_server(prefix: list[str], port: int) -> Iterator[None]:
    """iperf3's server for one test, from when it listens; LabError with its message when it does not."""
    words = [*prefix, "iperf3", "-s", "-1", "-p", str(port), "--forceflush"]
    listening = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert listening.stdout is not None
        said = ""
        while "listening" not in said:
            line = listening.stdout.readline()
            if not line:
                raise LabError(f"iperf3: {said.strip() or 'its server ended'}")
            said = line if line.strip() else said
        yield
    finally:
        listening.kill()
        listening.wait()
