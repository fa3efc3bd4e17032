"""Nodes without sockets or clocks on links in memory, driven by a virtual clock.

Links can lose, duplicate and reorder frames; nodes can fail, and links can be connected wrongly.  The same seed
gives the same run.
"""

from __future__ import annotations

import heapq
import itertools
import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from hostagent.state_machine import StateMachine
from topos.graph import Port

#: The CLOT paper's evaluation: 10 us of processing and 5 us of propagation.
LATENCY = 15e-6


@dataclass(frozen=True)
class Noise:
    """What links do to frames: the probabilities of loss and of a second copy, and the mean of an
    exponential extra delay in seconds, which reorders frames."""

    loss: float = 0.0
    duplicate: float = 0.0
    jitter: float = 0.0


M = TypeVar("M", bound=StateMachine)


@dataclass
class VirtualNetwork(ABC, Generic[M]):
    """Nodes by number and the links between their ports; both may be changed between steps."""

    seed: int = field(default=1, kw_only=True)
    noise: Noise = field(default_factory=Noise, kw_only=True)
    now: float = field(default=0.0, kw_only=True)
    #: Called with the end that sends and the bytes of every frame.
    tap: Callable[[Port, bytes], None] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        self.peers: dict[Port, Port] = {}
        self.machines: dict[int, M] = {}
        self._random = random.Random(self.seed)
        self._events: list[tuple[float, int, int, int, bytes]] = []
        self._tickets = itertools.count()
        self._armed: dict[int, float] = {}

    @abstractmethod
    def machine(self, node: int) -> M:
        """The state machine of a node that has just started."""

    def drain_events(self, node: int) -> None:
        """Handle the events of a node that has done something."""
        return

    # --- links and nodes ----------------------------------------------------------

    def connect(self, a: Port, b: Port) -> None:
        """Connect two ports by a link."""
        self.peers[a], self.peers[b] = b, a

    def cut(self, a: Port) -> None:
        """Remove the link at a port, if there is one."""
        b = self.peers.pop(a, None)
        if b is not None:
            del self.peers[b]

    def swap(self, a: Port, b: Port) -> None:
        """Exchange the links at two ports, as if their cables were swapped."""
        far_a, far_b = self.peers[a], self.peers[b]
        if far_a != b:
            self.connect(a, far_b)
            self.connect(b, far_a)

    def stop_node(self, node: int) -> None:
        """A node fails; its links stay."""
        self.machines.pop(node, None)

    def restart_node(self, node: int) -> None:
        """A node restarts with a new state machine."""
        self.machines[node] = self.machine(node)
        self._armed.pop(node, None)

    # --- running ------------------------------------------------------------------

    def inject(self, end: Port, data: bytes) -> None:
        """Let bytes arrive at a port now, as if somebody had forged them."""
        self.machines[end.node].receive_frame(data, end.number, self.now)
        self.flush(end.node)

    @property
    def busy(self) -> bool:
        """Whether frames are under way or timers are armed."""
        return bool(self._events)

    def step(self) -> None:
        """Process the next event: a frame arrives, or a timer is due."""
        self.now, _, node, port, data = heapq.heappop(self._events)
        machine = self.machines.get(node)
        if machine is None:
            return
        if port:
            machine.receive_frame(data, port, self.now)
        else:
            self._armed.pop(node, None)
            machine.handle_timer(self.now)
        self.flush(node)

    def flush(self, node: int) -> None:
        """Send the frames of a node, handle its events, arm its timer."""
        machine = self.machines[node]
        for port, data in machine.frames_to_send():
            self._transmit(Port(node, port), data)
        self.drain_events(node)
        timer = machine.next_timer()
        if timer is not None and timer < self._armed.get(node, float("inf")):
            self._armed[node] = timer
            self._push(max(timer, self.now), node, 0, b"")

    def _transmit(self, end: Port, data: bytes) -> None:
        far = self.peers.get(end)
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
