"""AACM on a whole torus with a virtual clock: the agents' own state machine, cables that can lose,
duplicate and reorder frames, servers that can be dead and cables that can be swapped.

The same seed gives the same run.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from addressing import mac
from addressing.directions import Coordinates
from hostagent.aacm import Station, Taken
from hostagent.delivery import Timing
from hostagent.origin import Outcome
from topos.families.torus import Torus
from topos.graph import Port

#: The paper's evaluation: 10 us of processing and 5 us of propagation.
LATENCY = 15e-6
TIMING = Timing(hop=50e-6, attempts=12)


@dataclass(frozen=True)
class Noise:
    """What cables do to frames: probabilities of loss and of a second copy, and the mean of an
    exponential extra delay in seconds, which reorders."""

    loss: float = 0.0
    duplicate: float = 0.0
    jitter: float = 0.0


@dataclass
class Simulation:
    """Stations by server number, and the cables between their ports, both of which may be changed
    while nothing runs."""

    torus: Torus
    seed: int = 1
    noise: Noise = field(default_factory=Noise)
    key: bytes | None = None
    timing: Timing = TIMING
    now: float = 0.0
    epoch: int = 0
    outcomes: list[Outcome] = field(default_factory=list)
    #: (server, address) in the order in which addresses were taken.
    taken: list[tuple[int, Coordinates]] = field(default_factory=list)
    #: Called with the end that sends and the bytes of every frame.
    tap: Callable[[Port, bytes], None] | None = None

    def __post_init__(self) -> None:
        fabric = self.torus.build()
        self._random = random.Random(self.seed)
        self.wires: dict[Port, Port] = {}
        dimensions = len(self.torus.sizes)
        for link in fabric.links():
            if link.a.number <= 2 * dimensions and fabric.is_server(link.b.node):
                self.plug(link.a, link.b)
        self._ports = _ports_by_node(self.wires)
        self.stations = {node: self._station(node) for node in self._ports}
        self._events: list[tuple[float, int, int, int, bytes]] = []
        self._tickets = itertools.count()
        self._armed: dict[int, float] = {}

    # --- cables and servers -------------------------------------------------------

    def plug(self, a: Port, b: Port) -> None:
        """Put a cable between two ports."""
        self.wires[a], self.wires[b] = b, a

    def cut(self, a: Port) -> None:
        """Take the cable at a port out, if there is one."""
        b = self.wires.pop(a, None)
        if b is not None:
            del self.wires[b]

    def swap(self, a: Port, b: Port) -> None:
        """Exchange what is plugged in at two ports."""
        far_a, far_b = self.wires[a], self.wires[b]
        if far_a != b:
            self.plug(a, far_b)
            self.plug(b, far_a)

    def leave(self, node: int) -> None:
        """A server dies; its cables stay."""
        self.stations.pop(node, None)

    def join(self, node: int) -> None:
        """A server starts afresh, without address or memory."""
        self.stations[node] = self._station(node)
        self._armed.pop(node, None)

    def _station(self, node: int) -> Station:
        return Station(hardware(node), self._ports[node], self.key, self.timing)

    # --- running ------------------------------------------------------------------

    def configure(self, *, whole: bool = True) -> Outcome | None:
        """One configuration from server 0, until nothing happens any more, or with ``whole`` false
        until the origin knows how it went; its last outcome."""
        self.epoch += 1
        told = len(self.outcomes)
        self.stations[0].configure(self.torus.sizes, self.epoch, self.now)
        self._settle(0)
        while self._events and (whole or len(self.outcomes) == told):
            self._step()
        return self.outcomes[-1] if len(self.outcomes) > told else None

    def counts(self) -> Counter[str]:
        """What all stations counted together."""
        return sum((station.counts for station in self.stations.values()), Counter[str]())

    def inject(self, end: Port, data: bytes) -> None:
        """Let bytes arrive at a port now, wherever they come from."""
        self.stations[end.node].receive_frame(data, end.number, self.now)
        self._settle(end.node)

    def _step(self) -> None:
        self.now, _, node, port, data = heapq.heappop(self._events)
        station = self.stations.get(node)
        if station is None:
            return
        if port:
            station.receive_frame(data, port, self.now)
        else:
            self._armed.pop(node, None)
            station.handle_timer(self.now)
        self._settle(node)

    def _settle(self, node: int) -> None:
        """Send what a station has to say, note its news, arm its timer."""
        station = self.stations[node]
        for port, data in station.frames_to_send():
            self._transmit(Port(node, port), data)
        for item in station.news:
            if isinstance(item, Taken):
                self.taken.append((node, item.address))
            else:
                self.outcomes.append(item)
        station.news.clear()
        timer = station.next_timer()
        if timer is not None and timer < self._armed.get(node, float("inf")):
            self._armed[node] = timer
            self._push(max(timer, self.now), node, 0, b"")

    def _transmit(self, end: Port, data: bytes) -> None:
        far = self.wires.get(end)
        if far is None:
            return
        if self.tap is not None:
            self.tap(end, data)
        noise, draw = self.noise, self._random
        for _ in range(1 + (noise.duplicate > 0 and draw.random() < noise.duplicate)):
            if noise.loss and draw.random() < noise.loss:
                continue
            extra = draw.expovariate(1 / noise.jitter) if noise.jitter else 0.0
            self._push(self.now + LATENCY + extra, far.node, far.number, data)

    def _push(self, at: float, node: int, port: int, data: bytes) -> None:
        heapq.heappush(self._events, (at, next(self._tickets), node, port, data))


def hardware(node: int) -> int:
    """The hardware address of a server, which names it in reports."""
    return mac.hardware(node, 0)


def _ports_by_node(ends: Iterable[Port]) -> dict[int, list[int]]:
    """The ports in use at each server."""
    found: dict[int, list[int]] = {}
    for end in sorted(ends):
        found.setdefault(end.node, []).append(end.number)
    return found
