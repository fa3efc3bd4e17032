"""A relay with finite buffers: what an agent decided waits until the next node has room for it.

:class:`Relay` stands around an :class:`~hostagent.forwarding.agent.Agent`, which still says where packets
may go.  Frames wait in the buffer of the channel that they came by, in order, and leave by
whichever of their ways has a credit and a card that takes them.  With credits nothing is
dropped for want of a buffer: a packet none of whose ways has a credit takes the escape
channel (:mod:`hostagent.flowcontrol.escape`) and stays there.  Without them what finds a buffer full is
dropped: the network that credits are compared with, with as much memory.

Like the agent it knows neither sockets nor clocks.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass

from addressing.scheme import Scheme
from hostagent.flowcontrol.credit import ADAPTIVE, CONTROL, ESCAPE, MAX_WINDOW, CreditTag, ReceiveBuffer
from hostagent.flowcontrol.credit_state import CHANNELS, CreditState, Queue, QueuedPacket
from hostagent.flowcontrol.escape import Escape
from hostagent.forwarding import packet
from hostagent.forwarding.agent import Agent
from hostagent.forwarding.decisions import CONSUMED, TO_HOST, ForwardingDecision, NextHop
from topos.graph import LinkState

__all__ = ["CHANNELS", "FlowControlError", "Relay", "check"]

_IPV4 = packet.IPV4.to_bytes(2, "big")


class FlowControlError(ValueError):
    """Relays cannot have such buffers there; one line for the user."""


def check(scheme: Scheme, buffers: int, credits: bool) -> None:
    """Raise FlowControlError where relays cannot have such buffers."""
    fabric = scheme.fabric
    if not fabric.relaying:
        raise FlowControlError(f"{fabric.spec}: its servers do not relay, so they have no buffers to control")
    if not 1 <= buffers <= MAX_WINDOW:
        raise FlowControlError(f"buffers hold 1 to {MAX_WINDOW} frames, not {buffers}")
    if not credits:
        return
    if scheme.tag_bits:
        raise FlowControlError(
            f"{scheme.name} writes source routes where credits are counted: take pow, dor, wmgr or shortest"
        )
    widest = max((fabric.port_count(node) for node in range(fabric.servers, fabric.size)), default=0)
    if widest > buffers + 1:
        raise FlowControlError(
            f"{fabric.spec}: a switch of {widest} ports needs buffers of {widest - 1} frames or more"
        )
    escape, label = Escape(scheme), scheme.label(fabric.servers - 1)
    if any(escape.leg(0, port, label) is None for port, _ in fabric.ports(0)):
        raise FlowControlError(
            f"{scheme.name}: its switches choose among ways, so none knows whose buffer it is"
        )
    missing = escape.unreached()
    if missing:
        a, b = map(fabric.name, missing[0])
        raise FlowControlError(f"{fabric.spec}: no up*/down* route from {a} to {b}, so credits could lock up")


@dataclass(frozen=True, slots=True)
class VirtualChannelHop:
    """One way on for a packet: its channel, and the new addresses before they are marked."""

    port: int
    server: int
    channel: int
    addresses: bytes


class Relay:
    """The buffers of one server, and which packet may leave when."""

    def __init__(self, agent: Agent, buffers: int, credits: bool, escape: Escape | None = None) -> None:
        """``escape`` are the escape routes under the agent's scheme where somebody has them already."""
        self.agent = agent
        self.credit_state = CreditState(agent, buffers, credits)
        #: Ports whose card takes nothing for the moment; whoever drives the relay keeps this.
        self.blocked: set[int] = set()
        self.counters: Counter[str] = Counter()
        self._host_queue = Queue(0, agent.node, ADAPTIVE, ReceiveBuffer(buffers))
        self._round_robin: deque[Queue] = deque()
        self._use_escape(escape or Escape(agent.current_scheme))

    # --- what arrives -----------------------------------------------------------

    @property
    def room(self) -> bool:
        """Whether another packet of the host is wanted."""
        return not self._host_queue.buffer.full

    def receive_packet(self, slot: memoryview, end: int, now: float) -> int:
        """A packet from the host fills ``slot[HOST_AT:end]``: TO_HOST when it is for the host itself,
        otherwise CONSUMED; to be called while there is :attr:`room`."""
        if not _forwards(self.agent.decision(slot, end, 0)):
            return self._requeue_outbox(self.agent.receive_packet(slot, end, now))
        packet.to_nic(slot)
        packet.ETHERNET.pack_into(slot, packet.FRAME_OFFSET, bytes(12), packet.IPV4)
        self.agent.originated += 1
        self._enqueue(self._host_queue, slot, end)
        return CONSUMED

    def receive_frame(self, slot: memoryview, end: int, port: int, now: float) -> int:
        """A frame from the card of ``port`` fills ``slot[:end]``: TO_HOST when the host is given
        ``slot[HOST_AT:end]``, otherwise CONSUMED."""
        decision = self.agent.decision(slot, end, port)
        if decision is None:
            return self._requeue_outbox(self.agent.receive_frame(slot, end, port, now))
        mark = CreditTag.decode(slot[16:22])
        if mark.channel == CONTROL:
            known = self.credit_state.handle_credits(slot, end, port, mark.server, now)
            return CONSUMED if known else self._count("malformed")
        queue = self.credit_state.queue(port, mark)
        if queue is None or not self.credit_state.accept(queue, mark):
            return self._count("malformed")
        if not _forwards(decision) or slot[packet.TTL_OFFSET] <= 1:
            self.credit_state.free(queue)
            return self._requeue_outbox(self.agent.receive_frame(slot, end, port, now))
        if queue.buffer.full:
            self.credit_state.free(queue)
            return self._count("dropped: no buffer")
        ttl, protocol, total = packet.TTL.unpack_from(slot, packet.TTL_OFFSET)
        packet.TTL.pack_into(slot, packet.TTL_OFFSET, ttl - 1, protocol, packet.ttl_decremented_checksum(total))
        self._enqueue(queue, slot, end)
        return CONSUMED

    def _requeue_outbox(self, out: int) -> int:
        """The agent has dealt with something itself; packets that it sends of its own wait like others."""
        outbox, self.agent.outbox[:] = list(self.agent.outbox), []
        for port, data in outbox:
            if port == TO_HOST or data[packet.IP_OFFSET - 2 : packet.IP_OFFSET] != _IPV4:
                self.agent.outbox.append((port, data))
            elif self.room:
                self._enqueue(self._host_queue, memoryview(data), len(data))
            else:
                self._count("ICMP errors withheld")
        return out

    def _enqueue(self, queue: Queue, slot: memoryview, end: int) -> None:
        target = bytes(slot[packet.IP_OFFSET + 16 : packet.IP_OFFSET + 20])
        queue.buffer.put(QueuedPacket(bytearray(slot[:end]), target))
        if not queue.scheduled:
            queue.scheduled = True
            self._round_robin.append(queue)

    # --- what leaves ------------------------------------------------------------

    def departures(self, now: float) -> Iterator[tuple[int, bytes]]:
        """(port, frame with its virtio-net header) that leave now, buffers in turn.

        Ports may be blocked while this is iterated; what has been handed out is not taken back.
        """
        yield from self.credit_state.control_frames(self.blocked)
        stuck = 0
        while stuck < len(self._round_robin):
            queue = self._round_robin.popleft()
            queue.scheduled = bool(queue.buffer.queue)
            if not queue.scheduled:
                continue
            self._round_robin.append(queue)
            stuck += 1
            leaving = self._advance(queue, now)
            if leaving is not None:
                stuck = 0
                yield leaving
        yield from self.credit_state.control_frames(self.blocked)

    def _advance(self, queue: Queue, now: float) -> tuple[int, bytes] | None:
        """Let the first packet of a buffer leave, if it can."""
        parcel = queue.buffer.queue[0]
        slot = memoryview(parcel.data)
        decision = self.agent.decision(slot, len(slot), queue.port)
        if decision is None or not _forwards(decision):  # links have changed since it came
            self._remove(queue)
            self._drop_with_icmp(queue, slot, now)
            return None
        way = self._choose(queue, parcel, decision)
        if way is None:
            return None
        self._remove(queue)
        self.agent.relayed += queue.port > 0
        return way.port, self._with_addresses(way, parcel.data, now)

    def _remove(self, queue: Queue) -> None:
        queue.buffer.queue.popleft()
        self.credit_state.free(queue)

    def _drop_with_icmp(self, queue: Queue, slot: memoryview, now: float) -> None:
        """Have the agent say that there is no way any more."""
        if queue.port:
            self._requeue_outbox(self.agent.receive_frame(slot, len(slot), queue.port, now))
        else:
            self._requeue_outbox(self.agent.receive_packet(slot, len(slot), now))

    def _with_addresses(self, way: VirtualChannelHop, data: bytearray, now: float) -> bytes:
        data[10:22] = way.addresses
        if self.credit_state.credits:
            number = self.credit_state.send_window(way.port, way.server, way.channel).take(now)
            data[16:22] = CreditTag(way.channel, number, self.agent.node).encode(way.port)
            self.counters["escaped"] += way.channel == ESCAPE
        return bytes(data)

    def _choose(
        self, queue: Queue, parcel: QueuedPacket, decision: ForwardingDecision
    ) -> VirtualChannelHop | None:
        """The way that a packet takes now; None while it has to wait."""
        if queue.channel == ESCAPE:
            return self._escape_hop(queue, parcel, decision)
        next_hops = decision.weighted()
        if len(next_hops) > 1 and self.agent.load_balance == "flow":
            next_hops = ((self.agent.pick(decision, memoryview(parcel.data), len(parcel.data)), 1.0),)
        granted = [
            (way, weight)
            for exit_, weight in next_hops
            if (way := self._adaptive_hop(exit_, parcel)) is not None
        ]
        if not granted:
            return self._escape_hop(queue, parcel, decision)
        return self._choose_weighted([(way, weight) for way, weight in granted if way.port not in self.blocked])

    def _choose_weighted(self, ways: list[tuple[VirtualChannelHop, float]]) -> VirtualChannelHop | None:
        """One of several ways by their weights, as in Eq. 12 when all of them are free."""
        if len(ways) < 2:
            return ways[0][0] if ways else None
        point = self.agent.rng.random() * sum(weight for _, weight in ways)
        for way, weight in ways:
            point -= weight
            if point < 0:
                return way
        return ways[-1][0]

    def _adaptive_hop(self, exit_: NextHop, parcel: QueuedPacket) -> VirtualChannelHop | None:
        """An exit as a way, if it has a credit."""
        if not self.credit_state.credits:
            return VirtualChannelHop(exit_.port, 0, ADAPTIVE, exit_.addresses)
        server = self._next_server(exit_.port, parcel.target, exit_.addresses)
        if server is None or not self.credit_state.send_window(exit_.port, server, ADAPTIVE).room:
            return None
        return VirtualChannelHop(exit_.port, server, ADAPTIVE, exit_.addresses)

    def _escape_hop(
        self, queue: Queue, parcel: QueuedPacket, decision: ForwardingDecision
    ) -> VirtualChannelHop | None:
        """A way by the escape channel that has a credit and a card that takes it."""
        destination = self.agent.nodes.get(parcel.target)
        if not self.credit_state.credits or destination is None:
            return None
        here, held = self.agent.node, self.agent.links.down
        descending = queue.channel == ESCAPE and self._escape.down(queue.sender, here)
        # While servers learn of failures, one that came down by old ranks may have to go up by new ones.
        legs = self._escape.routes(here, destination, descending) or self._escape.routes(
            here, destination, False
        )
        for leg in legs:
            up = self.agent.scheme.fabric.link_at(here, leg.port) not in held
            if (
                up
                and leg.port not in self.blocked
                and self.credit_state.send_window(leg.port, leg.server, ESCAPE).room
            ):
                return VirtualChannelHop(leg.port, leg.server, ESCAPE, decision.weighted()[0][0].addresses)
        return None

    def _next_server(self, port: int, target: bytes, addresses: bytes) -> int | None:
        """The server that next reads a frame which leaves so."""
        framing = self.agent.framing
        key = (port, target if framing.by_address else addresses[:6])
        if key not in self._next_servers:
            end = self._escape.leg(self.agent.node, port, framing.label(key[1]))
            self._next_servers[key] = None if end is None else end.node
        return self._next_servers[key]

    # --- what the relay knows -----------------------------------------------------

    def apply_link_state(self, links: LinkState) -> None:
        """The lab says that ``links`` are down."""
        self.agent.apply_link_state(links)
        self._use_escape(Escape(self.agent.current_scheme))

    def _use_escape(self, escape: Escape) -> None:
        self._escape = escape
        self._next_servers: dict[tuple[int, bytes], int | None] = {}

    def _count(self, what: str) -> int:
        self.counters[what] += 1
        return CONSUMED

    def buffered(self) -> int:
        """Packets that wait here."""
        return len(self._host_queue.buffer.queue) + sum(
            len(q.buffer.queue) for q in self.credit_state.queues.values()
        )

    def counts(self) -> dict[str, int]:
        """Packets that wait, that took the escape channel, that found no buffer or were lost on a
        cable; the fullest that a buffer has been; frames sent about credits."""
        inlets = [queue.buffer for queue in self.credit_state.queues.values()]
        return {
            "buffered": self.buffered(),
            "fullest": max((buffer.fullest for buffer in inlets), default=0),
            "lost on cables": sum(buffer.lost for buffer in inlets),
            **self.counters,
            **self.credit_state.counters,
        }


def _forwards(decision: ForwardingDecision | None) -> bool:
    return decision is not None and (decision.only is None or decision.only.port > 0)
