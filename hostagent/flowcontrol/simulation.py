"""A whole fabric of relays with finite buffers, offline.

Links have a bandwidth, switches only queue, and hosts have more to send than the network can carry.  The relays
are those of the labs; the same seed gives the same run.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property

from addressing.fields.checksum import checksum
from addressing.header import Forward, Header
from addressing.scheme import Scheme
from hostagent.flowcontrol.escape import Escape
from hostagent.flowcontrol.relay import Relay
from hostagent.forwarding import packet
from hostagent.forwarding.agent import Agent, addresses_of
from hostagent.forwarding.decisions import TO_HOST
from hostagent.forwarding.framing import Framing
from hostagent.options import LoadBalance
from hostagent.virtual import VirtualNetwork
from topos.graph import ALL_UP, LinkState

#: Seconds that a full frame occupies a link: 1514 bytes at 1 Gb/s, as in the paper's evaluation.
FRAME_TIME = 12e-6
_TTL = 64
#: Steps between two checks for a deadlock.
_CHECK_INTERVAL = 256


class _BusyPorts:
    """The busy ports of a node: each is busy for the transmission time of a frame."""

    def __init__(self) -> None:
        self.until: dict[int, float] = {}

    def occupy(self, port: int, now: float) -> None:
        self.until[port] = now + FRAME_TIME

    def release(self, now: float) -> list[int]:
        """The ports that have become free."""
        free = [port for port, until in self.until.items() if until <= now]
        for port in free:
            del self.until[port]
        return free

    def next_timer(self) -> float | None:
        return min(self.until.values(), default=None)


class Host:
    """A server: its relay, its interfaces, and the IPv4 packets that its programs want to send."""

    def __init__(self, relay: Relay) -> None:
        self.relay = relay
        self.backlog: deque[bytes] = deque()
        self.arrived: list[bytes] = []
        #: When the last of them arrived, in seconds.
        self.last = 0.0
        self._busy_ports = _BusyPorts()
        self._now = 0.0

    def receive_frame(self, data: bytes, port: int, now: float) -> None:
        """A frame with its virtio-net header arrives."""
        self._now = now
        slot = memoryview(bytearray(data))
        if self.relay.receive_frame(slot, len(slot), port, now) == TO_HOST:
            self.arrived.append(bytes(slot[packet.IP_OFFSET :]))
            self.last = now

    def frames_to_send(self) -> list[tuple[int, bytes]]:
        """(port, frame) pairs to send now; each interface takes one frame at a time."""
        leaving = []
        while True:
            self._inject()
            for port, data in self.relay.frames_to_send(self._now):
                leaving.append((port, data))
                if not _is_control(data):
                    self._busy_ports.occupy(port, self._now)
                    self.relay.blocked.add(port)
            if not (self.backlog and self.relay.room):
                return leaving

    def next_timer(self) -> float | None:
        """When an interface becomes free, or a receiver has been silent for too long."""
        timers = (self._busy_ports.next_timer(), self.relay.next_timer())
        return min((timer for timer in timers if timer is not None), default=None)

    def handle_timer(self, now: float) -> None:
        """Interfaces have become free, or receivers are to be queried."""
        self._now = now
        self.relay.blocked.difference_update(self._busy_ports.release(now))
        self.relay.handle_timer(now)

    def _inject(self) -> None:
        """Give the relay the host's packets while there is room."""
        while self.backlog and self.relay.room:
            data = self.backlog.popleft()
            slot = memoryview(bytearray(packet.IP_OFFSET) + data)
            self.relay.receive_packet(slot, len(slot), self._now)


class Switch:
    """A switch without credits: a queue per port, with its greatest length.

    With ``room``, a queue holds so many frames; the others are dropped, and those without a next hop.
    """

    def __init__(self, forward: Callable[[bytes, int], int | None], room: int | None) -> None:
        self.fullest = self.dropped = 0
        self._forward, self._room = forward, room
        self._queues: dict[int, deque[bytes]] = {}
        self._busy_ports = _BusyPorts()
        self._now = 0.0

    def receive_frame(self, data: bytes, port: int, now: float) -> None:
        """A frame arrives and joins a queue."""
        self._now = now
        to = self._forward(data, port)
        if to is None:
            self.dropped += 1
            return
        queue = self._queues.setdefault(to, deque())
        waiting = sum(not _is_control(frame) for frame in queue)
        if self._room is not None and waiting >= self._room and not _is_control(data):
            self.dropped += 1
            return
        queue.append(data)
        self.fullest = max(self.fullest, waiting + (not _is_control(data)))

    def frames_to_send(self) -> list[tuple[int, bytes]]:
        """The first frames of all queues whose interface is free."""
        leaving = []
        for port, queue in self._queues.items():
            while queue and port not in self._busy_ports.until:
                data = queue.popleft()
                leaving.append((port, data))
                if not _is_control(data):
                    self._busy_ports.occupy(port, self._now)
        return leaving

    def next_timer(self) -> float | None:
        """When an interface becomes free."""
        return self._busy_ports.next_timer()

    def handle_timer(self, now: float) -> None:
        """Interfaces have become free."""
        self._now = now
        self._busy_ports.release(now)


@dataclass
class SaturationSimulation(VirtualNetwork[Host | Switch]):
    """All servers and switches of a scheme's fabric; ``links`` are down from the start."""

    scheme: Scheme
    buffers: int = 10
    credits: bool = True
    links: LinkState = ALL_UP
    load_balance: LoadBalance = "packet"
    virtual_channels: str = "escape"
    sent: Counter[tuple[int, int]] = field(default_factory=Counter)
    #: Packets received and waiting when something last moved, and when that was.
    _last: tuple[int, int] = field(default=(0, 0), init=False)
    _since: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        fabric = self.scheme.fabric
        for link in fabric.links():
            if link.index not in self.links.down:
                self.connect(link.a, link.b)
        self.machines = {node: self.machine(node) for node in range(fabric.size)}

    def machine(self, node: int) -> Host | Switch:
        if not self.scheme.fabric.is_server(node):
            room = None if self.credits else 2 * self.buffers
            return Switch(lambda data, port: self._output_port(node, data, port), room)
        agent = Agent(
            self.scheme, node, self._addresses, random.Random(f"{self.seed}:{node}"), self.load_balance
        )
        escape = None if self.links else self._escape
        relay = Relay(agent, self.buffers, self.credits, escape, virtual_channels=self.virtual_channels)
        if self.links:
            relay.apply_link_state(self.links)
        return Host(relay)

    @property
    def hosts(self) -> dict[int, Host]:
        """The servers."""
        return {node: machine for node, machine in self.machines.items() if isinstance(machine, Host)}

    @property
    def switches(self) -> list[Switch]:
        """The switches."""
        return [machine for machine in self.machines.values() if isinstance(machine, Switch)]

    def send(self, pairs: Iterable[tuple[int, int]], frames: int) -> None:
        """Have the first server of each pair send so many full frames to the second."""
        for source, destination in pairs:
            data = _datagram(self.scheme.ipv4(source), self.scheme.ipv4(destination))
            self.hosts[source].backlog += [data] * frames
            self.sent[source, destination] += frames
            self.flush(source)

    def set_links(self, links: LinkState) -> None:
        """From now on these links, and no others, lose all frames; no node knows of that yet."""
        for link in self.scheme.fabric.links():
            if link.index in links.down:
                self.cut(link.a)
            else:
                self.connect(link.a, link.b)

    def inform_server(self, node: int, links: LinkState) -> None:
        """A server learns which links are down."""
        self.hosts[node].relay.apply_link_state(links)
        self.flush(node)

    def inform_switches(self, links: LinkState) -> None:
        """All switches get the entries for these failures."""
        self.links = links
        self.__dict__.pop("_framing", None)

    def run(self, steps: int = 10_000_000) -> bool:
        """Run until no packet waits; False if packets wait and none moves."""
        for number in range(steps):
            if not self.busy:
                return not self.waiting
            if number % _CHECK_INTERVAL == 0 and self._deadlocked():
                return False
            self.step()
        return False

    @property
    def waiting(self) -> int:
        """Packets that wait in servers, in buffers or before them."""
        return sum(len(host.backlog) + host.relay.buffered() for host in self.hosts.values())

    @property
    def received(self) -> int:
        """Packets that have arrived at their hosts."""
        return sum(len(host.arrived) for host in self.hosts.values())

    def counts(self) -> Counter[str]:
        """The sum of all servers' counters."""
        total: Counter[str] = Counter()
        for host in self.hosts.values():
            total.update(host.relay.agent.counts())
            total.update({k: v for k, v in host.relay.counts().items() if k != "fullest"})
        return total

    def _deadlocked(self) -> bool:
        """Whether only queries about credits have been sent for a second."""
        moved = self.received, self.waiting
        if moved != self._last:
            self._last, self._since = moved, self.now
        return self.now - self._since > 1.0

    def _output_port(self, node: int, data: bytes, port: int) -> int | None:
        """The port by which a switch's rule sends a frame on, if there is one."""
        framing = self._framing
        at, size = (packet.IP_OFFSET + 16, 4) if framing.by_address else (packet.FRAME_OFFSET, 6)
        header = Header(framing.label(data[at : at + size]), 0, port)
        ((action, _),) = framing.scheme.next_hops(node, header, self.links)
        return action.port if isinstance(action, Forward) else None

    @cached_property
    def _framing(self) -> Framing:
        """The framing of the scheme with the failures known."""
        return Framing(self.scheme.with_failures(self.links) if self.links else self.scheme)

    @cached_property
    def _escape(self) -> Escape:
        return Escape(self.scheme)

    @cached_property
    def _addresses(self) -> dict[bytes, int]:
        return addresses_of(self.scheme)


def _is_control(data: bytes) -> bool:
    """Whether a frame is a control frame (at most four entries), which takes no time here."""
    return len(data) <= packet.MIN_END + 8


def _datagram(source: int, target: int) -> bytes:
    """A short IPv4 packet that stands for a full frame."""
    header = bytearray(28)
    header[0], header[3], header[8], header[9] = 0x45, 60, _TTL, 17
    header[12:16], header[16:20] = source.to_bytes(4, "big"), target.to_bytes(4, "big")
    header[10:12] = checksum(bytes(header[:20])).to_bytes(2, "big")
    return bytes(header) + bytes(32)
