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
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.emulation.running import Running
from dcnlab.lab.emulation.switches.shards import Shard
from dcnlab.lab.instruments.packets.sockets import enlarge_receive_buffer
from dcnlab.lab.instruments.probe import Context, Probe, at_once
from dcnlab.lab.network.endpoint import Endpoint
from hostagent.runtime.devices import TUN_NAME

if TYPE_CHECKING:
    from dcnlab.lab.running.local_machine import LocalMachine

Progress = Callable[[int, int], None]

#: UDP payload of a full frame.
PAYLOAD = 1472
#: Packets that a source keeps in its host's queue.
_MAX_QUEUED = 32
#: Seconds without an arrival after which missing packets count as lost; the longer one while buffers are
#: not empty, or not all packets are sent.
_IDLE_TIMEOUT, _STALL_TIMEOUT = 1.5, 15.0
#: Seconds between two looks at how much has arrived.
_LOOK = 0.02
_NUMBER = struct.Struct(">II")
_SO_MEMINFO, _DROPS, _IP_RECVERR = 55, 8, 11


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
class Progressed:
    """Packets that a machine has sent and received so far, those received twice and refused; ``idle``: the
    seconds since the last one came, ``last``: when that was, in its monotonic seconds."""

    sent: int
    received: int
    duplicated: int
    refused: int
    idle: float
    last: float


class OverloadProbe(Probe):
    """The servers of one machine that send and receive; they work in a thread of their own."""

    def __init__(self, lab: LocalMachine, context: Context) -> None:
        super().__init__(lab, context)
        self._sinks: list[_Sink] = []
        self._sources: list[_Source] = []
        self._seen: set[tuple[int, int]] = set()
        self._duplicated, self._last = 0, time.monotonic()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def listen(self, servers: Sequence[int]) -> list[int]:
        """Receive at servers: their ports."""
        self._sinks += [_Sink(self.lab.endpoint(server)) for server in servers]
        return [sink.socket.getsockname()[1] for sink in self._sinks]

    def begin(self, flows: Sequence[Sequence[Any]], frames: int) -> None:
        """Send so many frames of each flow, and receive; returns at once."""
        by_source: dict[int, list[tuple[int, tuple[str, int]]]] = {}
        for number, source, address, port in flows:
            by_source.setdefault(source, []).append((number, (address, port)))
        self._sources = [_Source(self.lab.endpoint(one), to, frames) for one, to in by_source.items()]
        self._last = time.monotonic()
        self._thread = threading.Thread(target=self._transfer, daemon=True)
        self._thread.start()

    def state(self) -> Progressed:
        """What has been sent and received so far."""
        return Progressed(
            sent=sum(source.sent for source in self._sources),
            received=len(self._seen),
            duplicated=self._duplicated,
            refused=sum(sink.dropped for sink in self._sinks),
            idle=time.monotonic() - self._last,
            last=self._last,
        )

    def congestion(self) -> dict[str, int]:
        """The counters of this machine that show congestion."""
        return congestion(self.lab.running)

    def close(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        for source in self._sources:
            source.close()
        for sink in self._sinks:
            sink.close()

    def _transfer(self) -> None:
        with select.epoll() as poll:
            by_descriptor = {sink.socket.fileno(): sink for sink in self._sinks}
            for descriptor in by_descriptor:
                poll.register(descriptor, select.EPOLLIN)
            while not self._ended.is_set():
                sending = [source for source in self._sources if not source.done]
                for source in sending:
                    source.send()
                for descriptor, _ in poll.poll(0.002 if sending else 0.05):
                    for packet in by_descriptor[descriptor].packets():
                        self._duplicated += packet in self._seen
                        self._seen.add(packet)
                        self._last = time.monotonic()


def flows(pattern: str, servers: Sequence[int], target: int = 0) -> list[tuple[int, int]]:
    """The flows of a pattern.  ``incast``: all servers to one.  ``all-to-all``: all to all, where every source
    serves the receivers in the same order, like a shuffle that is not staggered."""
    receivers = [target] if pattern == "incast" else servers
    return [(source, receiver) for receiver in receivers for source in servers if source != receiver]


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
    """``frames`` full frames of each flow, all sent as fast as possible, between servers of all machines."""

    probes: Sequence[OverloadProbe]
    addresses: Callable[[int], str]
    flows: Sequence[tuple[int, int]]
    frames: int

    def run(self, progress: Progress) -> Delivery:
        """Send until every packet has arrived or no more arrive."""
        total, ports = len(self.flows) * self.frames, self._listen()
        begun = time.monotonic()
        for probe in self.probes:
            flows = [
                (number, source, self.addresses(target), ports[target])
                for number, (source, target) in enumerate(self.flows)
                if probe.runs(source)
            ]
            probe.begin(flows, self.frames)
        while True:
            states = at_once(self.probes, lambda probe: probe.state())
            received = sum(one.received for one in states)
            progress(received, total)
            unsent = total - sum(one.sent for one in states)
            if received >= total or self._over(min(one.idle for one in states), unsent):
                break
            time.sleep(_LOOK)
        last = max(one.last - probe.ahead for one, probe in zip(states, self.probes, strict=True))
        seconds, sent = max(1e-9, last - begun), sum(one.sent for one in states)
        return Delivery(
            sent, received, total - sent, sum(one.duplicated for one in states),
            sum(one.refused for one in states), round(seconds, 2),
            round(received * PAYLOAD * 8 / seconds / 1e6, 2),
        )  # fmt: skip

    def _listen(self) -> dict[int, int]:
        """The port of each receiver."""
        receivers = sorted({target for _, target in self.flows})
        ports: dict[int, int] = {}
        for probe in self.probes:
            some = [server for server in receivers if probe.runs(server)]
            ports |= zip(some, probe.listen(some), strict=True)
        return ports

    def _over(self, idle: float, unsent: int) -> bool:
        """Whether no packet will arrive any more, after ``idle`` seconds without one."""
        return idle > _IDLE_TIMEOUT and (idle > _STALL_TIMEOUT or not (unsent or self._waiting()))

    def _waiting(self) -> int:
        """Packets that wait in servers' buffers."""
        return sum(one["buffered"] for one in at_once(self.probes, lambda probe: probe.congestion()))


def total(counters: Sequence[dict[str, int]]) -> dict[str, int]:
    """The counters of all machines: sums, and the fullest buffer."""
    sums = {name: sum(one[name] for one in counters) for name in counters[0]}
    return sums | {"fullest": max(one["fullest"] for one in counters)}


def congestion(running: Running) -> dict[str, int]:
    """Counters of relays, and of the queues of switches, that show congestion."""
    counters = list(running.agents.stats().values()) if running.agents is not None else []
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
    argv = ["tc", "-n", shard.netns, "-s", "-j", "qdisc", "show"]
    queues = json.loads(subprocess.run(argv, capture_output=True, text=True, check=True).stdout or "[]")
    ports = {name for bridge in shard.bridges for name, _ in bridge.ports}
    return sum(int(row.get("drops", 0)) for row in queues if row.get("dev") in ports and "root" not in row)
