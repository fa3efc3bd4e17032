"""Overload: UDP from many servers at once, more than the network takes, and what became of every packet.

A source sends as fast as its host allows, like a program whose socket blocks while the queue of the
interface is full.  A TUN device drops packets instead of blocking the socket.  So the source watches how
many packets the device has passed on, and keeps a few dozen in its queue.  A packet that counts as lost
has therefore entered the network and has not left it.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import struct
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from dcnlab.lab.emulation import netns
from dcnlab.lab.emulation.running import Running
from dcnlab.lab.emulation.switches.openvswitch import Shard
from dcnlab.lab.instruments.sockets import enlarge_receive_buffer
from dcnlab.lab.running.endpoint import Endpoint
from hostagent.runtime.devices import TUN_NAME

Flow = tuple[Endpoint, Endpoint]
Progress = Callable[[int, int], None]

#: UDP payload of a full frame.
PAYLOAD = 1472
#: Packets that a source keeps in its host's queue.
_MAX_QUEUED = 32
#: Seconds without an arrival after which missing packets count as lost; the longer one while buffers are
#: not empty.
_IDLE_TIMEOUT, _STALL_TIMEOUT = 1.5, 15.0
_NUMBER = struct.Struct(">II")
_SO_MEMINFO, _DROPS, _IP_RECVERR = 55, 8, 11


def flows(pattern: str, ends: Sequence[Endpoint], target: int = 0) -> list[Flow]:
    """The flows of a pattern.  ``incast``: all servers to one.  ``all-to-all``: all to all, where every source
    serves the receivers in the same order, like a shuffle that is not staggered."""
    receivers = [ends[target]] if pattern == "incast" else ends
    return [(source, receiver) for receiver in receivers for source in ends if source is not receiver]


class _Source:
    """A server that sends its packets, one flow after the other."""

    def __init__(self, end: Endpoint, targets: list[tuple[int, tuple[str, int]]], frames: int) -> None:
        self._socket = netns.inside(end.netns, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self._device = netns.inside(end.netns, lambda: os.open("/proc/thread-self/net/dev", os.O_RDONLY))
        self._socket.setsockopt(socket.SOL_IP, _IP_RECVERR, 1)  # the kernel reports a full queue
        self._unsent = deque((flow, number, to) for flow, to in targets for number in range(frames))
        self._begun = self._dequeued()
        self.sent = 0

    def send(self) -> None:
        """Fill the host's queue up to its limit."""
        room = _MAX_QUEUED - (self.sent - (self._dequeued() - self._begun))
        with contextlib.suppress(OSError):  # the kernel's neighbour table is full: try again later
            while room > 0 and self._unsent:
                flow, number, to = self._unsent[0]
                self._socket.sendto(_NUMBER.pack(flow, number).ljust(PAYLOAD, b"\0"), to)
                self._unsent.popleft()
                self.sent += 1
                room -= 1

    @property
    def done(self) -> bool:
        """Whether all packets are sent."""
        return not self._unsent

    def close(self) -> None:
        self._socket.close()
        os.close(self._device)

    def _dequeued(self) -> int:
        """Packets that the agent has taken from the host's device."""
        text = os.pread(self._device, 1 << 14, 0).decode()
        line = next(line for line in text.splitlines() if line.lstrip().startswith(TUN_NAME))
        return int(line.split(":")[1].split()[9])


class _Sink:
    """A server that receives."""

    def __init__(self, end: Endpoint) -> None:
        self.socket = netns.inside(end.netns, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        enlarge_receive_buffer(self.socket)
        self.socket.setblocking(False)
        self.socket.bind((end.address, 0))

    def packets(self) -> Iterator[tuple[int, int]]:
        """(flow, number) of every packet that has arrived."""
        while True:
            try:
                yield _NUMBER.unpack(self.socket.recv(_NUMBER.size))
            except BlockingIOError:
                return

    def close(self) -> None:
        self.socket.close()

    @property
    def dropped(self) -> int:
        """Packets that reached the host but not the socket."""
        info = self.socket.getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, 64)
        return int(struct.unpack_from("I", info, 4 * _DROPS)[0])


@dataclass(frozen=True)
class Delivery:
    """What became of the packets, in seconds and Mb/s; ``refused``: dropped by receivers' sockets."""

    sent: int
    received: int
    unsent: int
    duplicated: int
    refused: int
    seconds: float
    mbps: float


@dataclass
class Traffic:
    """``frames`` full frames of each flow, all sent as fast as possible."""

    flows: Sequence[Flow]
    frames: int
    #: Returns how many packets wait in servers' buffers.
    waiting: Callable[[], int]

    def run(self, progress: Progress) -> Delivery:
        """Send until every packet has arrived or no more arrive."""
        sinks = {name: _Sink(end) for name, end in {b.name: b for _, b in self.flows}.items()}
        sources = list(self._sources(sinks))
        begun = time.monotonic()
        try:
            received, duplicated, last = self._transfer(sources, list(sinks.values()), progress)
            sent, refused = (
                sum(source.sent for source in sources),
                sum(sink.dropped for sink in sinks.values()),
            )
        finally:
            for source in sources:
                source.close()
            for sink in sinks.values():
                sink.close()
        seconds = max(1e-9, last - begun)
        mbps = round(received * PAYLOAD * 8 / seconds / 1e6, 2)
        unsent = len(self.flows) * self.frames - sent
        return Delivery(sent, received, unsent, duplicated, refused, round(seconds, 2), mbps)

    def _transfer(
        self, sources: Sequence[_Source], sinks: Sequence[_Sink], progress: Progress
    ) -> tuple[int, int, float]:
        """Packets received and duplicated, and when the last one arrived."""
        total = len(self.flows) * self.frames
        seen = bytearray(total)
        received = duplicated = 0
        last = time.monotonic()
        with select.epoll() as poll:
            by_descriptor = {sink.socket.fileno(): sink for sink in sinks}
            for descriptor in by_descriptor:
                poll.register(descriptor, select.EPOLLIN)
            while received < total and not self._over(time.monotonic() - last):
                sending = [source for source in sources if not source.done]
                for source in sending:
                    source.send()
                for descriptor, _ in poll.poll(0.002 if sending else 0.05):
                    for flow, number in by_descriptor[descriptor].packets():
                        place = flow * self.frames + number
                        duplicated += seen[place]
                        received += not seen[place]
                        seen[place] = 1
                        last = time.monotonic()
                progress(received, total)
        return received, duplicated, last

    def _over(self, idle: float) -> bool:
        """Whether no packet will arrive any more, after ``idle`` seconds without one."""
        return idle > _IDLE_TIMEOUT and (idle > _STALL_TIMEOUT or not self.waiting())

    def _sources(self, sinks: dict[str, _Sink]) -> Iterator[_Source]:
        by_source: dict[str, list[int]] = {}
        for flow, (a, _) in enumerate(self.flows):
            by_source.setdefault(a.name, []).append(flow)
        for numbers in by_source.values():
            targets = [(flow, sinks[self.flows[flow][1].name].socket.getsockname()) for flow in numbers]
            yield _Source(self.flows[numbers[0]][0], targets, self.frames)


def congestion(running: Running) -> dict[str, int]:
    """Counters of relays, and of the queues of switches, that show congestion."""
    assert running.agents is not None
    counters = list(running.agents.stats().values())
    names = {"relayed", "escaped", "credit frames", "lost on links", "buffered"}
    total = {name.replace(" ", "_"): sum(one.get(name, 0) for one in counters) for name in names}
    return {
        "dropped_by_relays": sum(one.get("dropped: no buffer", 0) for one in counters),
        "dropped_by_switches": sum(map(_dropped_by_queues, running.shards)),
        "fullest": max((one.get("fullest", 0) for one in counters), default=0),
        **total,
    }


def _dropped_by_queues(shard: Shard) -> int:
    """Packets that the full queues of switch ports dropped."""
    words = ["tc", "-n", shard.netns, "-s", "-j", "qdisc", "show"]
    queues = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout or "[]")
    ports = {name for bridge in shard.bridges for name, _ in bridge.ports}
    return sum(int(row.get("drops", 0)) for row in queues if row.get("dev") in ports and "root" not in row)
