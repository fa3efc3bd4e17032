"""More than the network takes: UDP from many servers at once, and what became of every packet.

A source sends as fast as its host lets it, which is what a program does whose socket blocks
while the interface's queue is full.  A TUN device never makes a socket block, it drops; so
the source itself looks at how much the device has handed on, and keeps a few dozen packets
in its queue.  What counts as lost so has entered the network and come out nowhere.
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
from typing import Any

from addressing.scheme import Scheme
from dcnlab.lab.config import LabConfig
from dcnlab.lab.emulation import netns
from dcnlab.lab.emulation.launch import Running
from dcnlab.lab.emulation.openvswitch import Shard
from dcnlab.lab.instruments.sockets import enlarge_receive_buffer
from dcnlab.lab.running.endpoint import Endpoint
from dcnlab.lab.running.lab import RunningLab
from hostagent.flowcontrol.simulation import SaturationSimulation
from hostagent.runtime.devices import TUN_NAME

Flow = tuple[Endpoint, Endpoint]
Progress = Callable[[int, int], None]

#: UDP payload of a full frame.
PAYLOAD = 1472
#: Packets that a source keeps in its host's queue.
_MAX_QUEUED = 32
#: Seconds without an arrival after which what is missing counts as lost, and while packets wait.
_IDLE_TIMEOUT, _STALL_TIMEOUT = 1.5, 15.0
_NUMBER = struct.Struct(">II")
_SO_MEMINFO, _DROPS, _IP_RECVERR = 55, 8, 11


def flows(pattern: str, ends: Sequence[Endpoint], target: int = 0) -> list[Flow]:
    """``incast``: everybody to one; ``all-to-all``: everybody to all, one after the other and all in
    the same order, as a shuffle does that nobody has staggered."""
    receivers = [ends[target]] if pattern == "incast" else ends
    return [(source, receiver) for receiver in receivers for source in ends if source is not receiver]


class _Source:
    """A server that sends its packets, one flow after the other."""

    def __init__(self, end: Endpoint, turns: list[tuple[int, tuple[str, int]]], frames: int) -> None:
        self._socket = netns.inside(end.netns, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self._device = netns.inside(end.netns, lambda: os.open("/proc/thread-self/net/dev", os.O_RDONLY))
        self._socket.setsockopt(socket.SOL_IP, _IP_RECVERR, 1)  # a kernel without room says so
        self._left = deque((flow, number, to) for flow, to in turns for number in range(frames))
        self._begun = self._dequeued()
        self.sent = 0

    def send(self) -> None:
        """As much as the host's queue is to hold."""
        room = _MAX_QUEUED - (self.sent - (self._dequeued() - self._begun))
        with contextlib.suppress(OSError):  # the kernel's neighbour table is full: the next time
            while room > 0 and self._left:
                flow, number, to = self._left[0]
                self._socket.sendto(_NUMBER.pack(flow, number).ljust(PAYLOAD, b"\0"), to)
                self._left.popleft()
                self.sent += 1
                room -= 1

    @property
    def done(self) -> bool:
        """Whether all is sent."""
        return not self._left

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
        """(flow, number) of what has arrived."""
        while True:
            try:
                yield _NUMBER.unpack(self.socket.recv(_NUMBER.size))
            except BlockingIOError:
                return

    @property
    def dropped(self) -> int:
        """Packets that came to the host but not into the socket."""
        info = self.socket.getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, 64)
        return int(struct.unpack_from("I", info, 4 * _DROPS)[0])


@dataclass
class Overload:
    """``frames`` full frames of each flow, all as fast as they can be had."""

    flows: Sequence[Flow]
    frames: int
    #: How many packets wait in servers' buffers.
    waiting: Callable[[], int]

    def run(self, progress: Progress | None = None) -> dict[str, Any]:
        """Until everything has arrived or nothing does any more: packets ``sent``, ``received``,
        ``lost``, ``duplicated``, ``refused`` by receivers' sockets; ``seconds`` and ``mbps``."""
        sinks = {name: _Sink(end) for name, end in {b.name: b for _, b in self.flows}.items()}
        sources = list(self._sources(sinks))
        total = len(self.flows) * self.frames
        seen = bytearray(total)
        received = duplicated = 0
        begun = last = time.monotonic()
        with select.epoll() as poll:
            by_descriptor = {sink.socket.fileno(): sink for sink in sinks.values()}
            for descriptor in by_descriptor:
                poll.register(descriptor, select.EPOLLIN)
            while received < total and not self._over(time.monotonic() - last):
                waiting = [source for source in sources if not source.done]
                for source in waiting:
                    source.send()
                for descriptor, _ in poll.poll(0.002 if waiting else 0.05):
                    for flow, number in by_descriptor[descriptor].packets():
                        place = flow * self.frames + number
                        duplicated += seen[place]
                        received += not seen[place]
                        seen[place] = 1
                        last = time.monotonic()
                if progress is not None:
                    progress(received, total)
        sent = sum(source.sent for source in sources)
        refused = sum(sink.dropped for sink in sinks.values())
        for source in sources:
            source.close()
        for sink in sinks.values():
            sink.socket.close()
        seconds = max(1e-9, last - begun)
        return {
            "sent": sent,
            "received": received,
            "lost": sent - received,
            "unsent": total - sent,
            "duplicated": duplicated,
            "refused": refused,
            "seconds": round(seconds, 2),
            "mbps": round(received * PAYLOAD * 8 / seconds / 1e6, 2),
        }

    def _over(self, quiet: float) -> bool:
        """Whether nothing will arrive any more, after so many seconds in which nothing has."""
        return quiet > _IDLE_TIMEOUT and (quiet > _STALL_TIMEOUT or not self.waiting())

    def _sources(self, sinks: dict[str, _Sink]) -> Iterator[_Source]:
        by_source: dict[str, list[int]] = {}
        for flow, (a, _) in enumerate(self.flows):
            by_source.setdefault(a.name, []).append(flow)
        for numbers in by_source.values():
            turns = [(flow, sinks[self.flows[flow][1].name].socket.getsockname()) for flow in numbers]
            yield _Source(self.flows[numbers[0]][0], turns, self.frames)


def measure(session: RunningLab, request: dict[str, Any], notify: Callable[[Any], None]) -> dict[str, Any]:
    """An overload of a running lab by ``pattern``, with ``frames`` per flow and the ``target`` of an
    incast: what :meth:`Overload.run` finds, and how far each counter of :func:`congestion` went."""
    ends = [session.endpoint(server) for server in range(session.fabric.servers)]
    chosen = flows(request["pattern"], ends, session.server(request.get("target", "h0")))
    before = congestion(session.running)
    full = Overload(chosen, int(request["frames"]), lambda: congestion(session.running)["buffered"])
    found = full.run(_every_5_percent(notify))
    after = congestion(session.running)
    moved = {name: count - before[name] for name, count in after.items()}
    return found | moved | {name: after[name] for name in ("buffered", "fullest")}


def offline(scheme: Scheme, pattern: str, frames: int, target: int, config: LabConfig) -> dict[str, Any]:
    """The same overload of the same relays with a virtual clock, on links of 1 Gb/s."""
    credits = config.flow_control == "credits"
    network = SaturationSimulation(scheme, config.frames, credits, load_balance=config.load_balance)
    servers = range(scheme.fabric.servers)
    receivers = [target] if pattern == "incast" else servers
    network.send(((a, b) for b in receivers for a in servers if a != b), frames)
    network.run()
    counts, sent = network.counts(), sum(network.sent.values())
    seconds = max(host.last for host in network.hosts.values())
    return {
        "sent": counts["originated"],
        "received": network.received,
        "lost": counts["originated"] - network.received,
        "unsent": sent - counts["originated"],
        "seconds": round(seconds, 6),
        "mbps": round(network.received * PAYLOAD * 8 / seconds / 1e6, 2),
        "dropped_by_relays": counts["dropped: no buffer"],
        "dropped_by_switches": sum(switch.dropped for switch in network.switches),
        "fullest": max(host.relay.counts()["fullest"] for host in network.hosts.values()),
        **{name: counts[name] for name in ("relayed", "escaped", "buffered")},
    }


def congestion(running: Running) -> dict[str, int]:
    """Counters of relays and of switches' queues that tell of congestion."""
    assert running.agents is not None
    counters = list(running.agents.stats().values())
    names = {"relayed", "escaped", "credit frames", "lost on links", "buffered"}
    total = {name.replace(" ", "_"): sum(found.get(name, 0) for found in counters) for name in names}
    return {
        "dropped_by_relays": sum(found.get("dropped: no buffer", 0) for found in counters),
        "dropped_by_switches": sum(map(_dropped_by_queues, running.shards)),
        "fullest": max((found.get("fullest", 0) for found in counters), default=0),
        **total,
    }


def _dropped_by_queues(shard: Shard) -> int:
    """Packets that the queues of switches' ports had no room for."""
    words = ["tc", "-n", shard.netns, "-s", "-j", "qdisc", "show"]
    found = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout or "[]")
    ports = {name for bridge in shard.bridges for name, _ in bridge.ports}
    return sum(int(row.get("drops", 0)) for row in found if row.get("dev") in ports and "root" not in row)


def _every_5_percent(notify: Callable[[Any], None]) -> Progress:
    """Tells each time that another twentieth has arrived."""
    told = 0

    def progress(done: int, of: int) -> None:
        nonlocal told
        if done * 20 >= (told + 1) * of:
            told = done * 20 // of
            notify({"done": done, "of": of})

    return progress
