"""A relay with finite buffers: packets wait until the next node has room for them.

:class:`Relay` wraps an :class:`~hostagent.forwarding.agent.Agent`, which still decides on next hops.  Frames
wait in the buffer of the channel by which they came, in order.  They leave by a next hop that has a credit and
an interface that accepts frames.  With credits no packet is dropped for a full buffer: a packet that has no
credit for any next hop takes the escape channel (:mod:`hostagent.flowcontrol.escape`) and stays there.  With
other virtual channels (:mod:`hostagent.flowcontrol.virtual_channels`) it waits.  Without credits, packets that
find a buffer full are dropped; the memory is the same, so that both can be compared.

Like the agent it has neither sockets nor clocks.  It is no :class:`hostagent.state_machine.StateMachine`: it
works on packets in slots, so that they are not copied on arrival.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass

from addressing.scheme import Scheme
from hostagent.flowcontrol.credit import ADAPTIVE, CONTROL, ESCAPE, MAX_WINDOW, CreditTag, ReceiveBuffer
from hostagent.flowcontrol.credit_state import CreditState, Queue, QueuedPacket
from hostagent.flowcontrol.escape import Escape, Leg
from hostagent.flowcontrol.virtual_channels import FlowControlError, read
from hostagent.forwarding import packet
from hostagent.forwarding.agent import Agent
from hostagent.forwarding.decisions import CONSUMED, TO_HOST, ForwardingDecision, NextHop
from topos.graph import LinkState

__all__ = ["FlowControlError", "Relay", "check"]

_IP = tuple(kind.to_bytes(2, "big") for kind in (packet.IPV4, packet.IPV6))


def check(scheme: Scheme, buffers: int, credits: bool, virtual_channels: str = "escape") -> None:
    """Raise FlowControlError if relays cannot have such buffers."""
    fabric, channels = scheme.fabric, read(virtual_channels, scheme.fabric)
    if not fabric.relaying:
        raise FlowControlError(f"{fabric.spec}: its servers do not relay packets, so they have no buffers")
    if not 1 <= buffers <= MAX_WINDOW:
        raise FlowControlError(f"buffers hold 1 to {MAX_WINDOW} frames, not {buffers}")
    if scheme.tag_bits:
        raise FlowControlError(
            f"{scheme.name} needs the header field of frames in buffers for source routes:"
            " use pow, dor, wmgr or shortest"
        )
    if not credits:
        return
    widest = max((fabric.port_count(node) for node in range(fabric.servers, fabric.size)), default=0)
    if widest > buffers + 1:
        raise FlowControlError(
            f"{fabric.spec}: a switch of {widest} ports needs buffers of {widest - 1} frames or more"
        )
    escape, label = Escape(scheme), scheme.label(fabric.servers - 1)
    if any(escape.leg(0, port, label) is None for port, _ in fabric.ports(0)):
        raise FlowControlError(
            f"{scheme.name}: switches choose among next hops, so a sender does not know whose buffer it uses"
        )
    missing = escape.unreached() if channels.escape else []
    if missing:
        a, b = map(fabric.name, missing[0])
        raise FlowControlError(f"{fabric.spec}: no up*/down* route from {a} to {b}, so credits could deadlock")


@dataclass(frozen=True, slots=True)
class VirtualChannelHop:
    """A next hop for a packet: its channel, and the MAC addresses without the credit tag."""

    port: int
    server: int
    channel: int
    addresses: bytes


class Relay:
    """The buffers of one server, and which packet may leave when."""

    def __init__(
        self, agent: Agent, buffers: int, credits: bool, escape: Escape | None = None, generation: int = 0,
        virtual_channels: str = "escape",
    ) -> None:  # fmt: skip
        """``escape``: the escape routes under the agent's scheme, if they are computed already; ``generation``:
        how often the agent was started again."""
        self.agent = agent
        self._channels = read(virtual_channels, agent.scheme.fabric)
        self.credit_state = CreditState(agent, buffers, credits, generation, self._channels.count)
        #: Ports whose interface accepts nothing at the moment; the driver maintains this.
        self.blocked: set[int] = set()
        self.counters: Counter[str] = Counter()
        self._host_queue = Queue(0, agent.node, ADAPTIVE, ReceiveBuffer(buffers))
        self._round_robin: deque[Queue] = deque()
        self._escape_routes = escape or Escape(agent.current_scheme)
        self._next_servers: dict[tuple[int, bytes], int | None] = {}

    # --- arrivals ---------------------------------------------------------------

    @property
    def room(self) -> bool:
        """Whether there is room for another packet of the host."""
        return not self._host_queue.buffer.full

    def receive_packet(self, slot: memoryview, end: int, now: float) -> int:
        """Handle a packet from the host, which fills ``slot[HOST_OFFSET:end]``; needs :attr:`room`.

        Returns TO_HOST if it is for the host itself, otherwise CONSUMED.
        """
        if not _forwards(self.agent.decision(slot, end, 0)):
            return self._requeue_outbox(self.agent.receive_packet(slot, end, now))
        packet.to_nic(slot)
        packet.ETHERNET.pack_into(slot, packet.FRAME_OFFSET, bytes(12), packet.ethertype(slot))
        self.agent.originated += 1
        self._enqueue(self._host_queue, slot, end)
        return CONSUMED

    def receive_frame(self, slot: memoryview, end: int, port: int, now: float) -> int:
        """Handle a frame from the interface of ``port``, which fills ``slot[:end]``.

        Returns TO_HOST if ``slot[HOST_OFFSET:end]`` is for the host, otherwise CONSUMED.
        """
        decision = self.agent.decision(slot, end, port)
        if decision is None:
            return self._requeue_outbox(self.agent.receive_frame(slot, end, port, now))
        mark = CreditTag.decode(slot[16:22])
        if self.credit_state.credits and not self.credit_state.meant(port, mark):
            return self._count("dropped: sent to another server")
        if mark.channel == CONTROL:
            known = self.credit_state.handle_credits(slot, end, port, mark.server, now)
            return CONSUMED if known else self._count("malformed")
        if not self.credit_state.agreed(port, mark.server):
            return self._count("dropped: neighbour does not know of the restart")
        queue = self.credit_state.queue(port, mark)
        if queue is None or not self.credit_state.accept(queue, mark):
            return self._count("malformed")
        if not _forwards(decision) or packet.hops_left(slot) <= 1:
            self.credit_state.free(queue)
            return self._requeue_outbox(self.agent.receive_frame(slot, end, port, now))
        if queue.buffer.full:
            self.credit_state.free(queue)
            return self._count("dropped: no buffer")
        packet.count_hop(slot)
        self._enqueue(queue, slot, end)
        return CONSUMED

    def _requeue_outbox(self, out: int) -> int:
        """The agent has handled something itself; packets that it sends wait like others."""
        outbox, self.agent.outbox[:] = list(self.agent.outbox), []
        for port, data in outbox:
            if port == TO_HOST or data[packet.IP_OFFSET - 2 : packet.IP_OFFSET] not in _IP:
                self.agent.outbox.append((port, data))
            elif self.room:
                self._enqueue(self._host_queue, memoryview(data), len(data))
            else:
                self._count("ICMP errors suppressed")
        return out

    def _enqueue(self, queue: Queue, slot: memoryview, end: int) -> None:
        target = packet.addressed(slot, end) or bytes(4)
        queue.buffer.put(QueuedPacket(bytearray(slot[:end]), target))
        if not queue.scheduled:
            queue.scheduled = True
            self._round_robin.append(queue)

    # --- departures -------------------------------------------------------------

    def frames_to_send(self, now: float) -> Iterator[tuple[int, bytes]]:
        """(port, frame with its virtio-net header) pairs that leave now, from the buffers in turn.

        The driver may block ports while it iterates; frames that it has got are not taken back.
        """
        yield from self.credit_state.control_frames(self.blocked)
        stuck = 0
        while stuck < len(self._round_robin):
            queue = self._round_robin.popleft()
            queue.scheduled = bool(queue.buffer.queue)
            if not queue.scheduled:
                continue
            self._round_robin.append(queue)
            first = queue.buffer.queue[0]
            leaving = self._advance(queue, now)
            stays = bool(queue.buffer.queue) and queue.buffer.queue[0] is first
            stuck = stuck + 1 if stays else 0
            if leaving is not None:
                yield leaving
        yield from self.credit_state.control_frames(self.blocked)

    def _advance(self, queue: Queue, now: float) -> tuple[int, bytes] | None:
        """Let the first packet of a buffer leave, if it can."""
        waiting = queue.buffer.queue[0]
        slot = memoryview(waiting.data)
        decision = self.agent.decision(slot, len(slot), queue.port)
        if decision is None or not _forwards(decision):  # links have changed since it arrived
            self._remove(queue)
            self._drop_with_icmp(queue, slot, now)
            return None
        if self._escapes(queue) and not self._escape_legs(queue, waiting):
            self._remove(queue)
            self._count("dropped: no escape route")
            return None
        hop = self._choose(queue, waiting, decision)
        if hop is None:
            return None
        self._remove(queue)
        self.agent.relayed += queue.port > 0
        return hop.port, self._with_addresses(hop, waiting.data, now)

    def _remove(self, queue: Queue) -> None:
        queue.buffer.queue.popleft()
        self.credit_state.free(queue)

    def _drop_with_icmp(self, queue: Queue, slot: memoryview, now: float) -> None:
        """Have the agent drop a packet that has no path any more."""
        if queue.port:
            self._requeue_outbox(self.agent.receive_frame(slot, len(slot), queue.port, now))
        else:
            self._requeue_outbox(self.agent.receive_packet(slot, len(slot), now))

    def _with_addresses(self, hop: VirtualChannelHop, data: bytearray, now: float) -> bytes:
        data[10:22] = hop.addresses
        if self.credit_state.credits:
            number = self.credit_state.send_window(hop.port, hop.server, hop.channel).take(now)
            data[16:22] = self.credit_state.tag(hop.port, hop.server, hop.channel, number).encode()
            self.counters["escaped"] += self._channels.escape and hop.channel == ESCAPE
        return bytes(data)

    def _choose(
        self, queue: Queue, waiting: QueuedPacket, decision: ForwardingDecision
    ) -> VirtualChannelHop | None:
        """The next hop that a packet takes now; None while it has to wait."""
        if self._escapes(queue):
            return self._escape_hop(queue, waiting, decision)
        next_hops = decision.weighted()
        if len(next_hops) > 1 and self.agent.load_balance == "flow":
            next_hops = ((self.agent.pick(decision, memoryview(waiting.data), len(waiting.data)), 1.0),)
        granted = [
            (hop, weight)
            for next_hop, weight in next_hops
            if (hop := self._adaptive_hop(next_hop, waiting)) is not None
        ]
        if not granted:
            return self._escape_hop(queue, waiting, decision)
        return self._choose_weighted([(hop, weight) for hop, weight in granted if hop.port not in self.blocked])

    def _choose_weighted(self, hops: list[tuple[VirtualChannelHop, float]]) -> VirtualChannelHop | None:
        """One of several next hops by their weights: as in Eq. 12 when all of them are free."""
        if len(hops) < 2:
            return hops[0][0] if hops else None
        point = self.agent.rng.random() * sum(weight for _, weight in hops)
        for hop, weight in hops:
            point -= weight
            if point < 0:
                return hop
        return hops[-1][0]

    def _adaptive_hop(self, exit_: NextHop, waiting: QueuedPacket) -> VirtualChannelHop | None:
        """A next hop of the scheme's, on its virtual channel, if there is a credit for it."""
        if not self.credit_state.credits:
            return VirtualChannelHop(exit_.port, 0, ADAPTIVE, exit_.addresses)
        server = self._next_server(exit_.port, waiting.target, exit_.addresses)
        if server is None:
            return None
        channel = self._channels.choose(self.agent.node, server, self.agent.nodes.get(waiting.target, server))
        if not self.credit_state.room(exit_.port, server, channel):
            return None
        return VirtualChannelHop(exit_.port, server, channel, exit_.addresses)

    def _escapes(self, queue: Queue) -> bool:
        """Whether the packets of a buffer are on the escape channel."""
        return self._channels.escape and queue.channel == ESCAPE

    def _escape_hop(
        self, queue: Queue, waiting: QueuedPacket, decision: ForwardingDecision
    ) -> VirtualChannelHop | None:
        """A next hop on the escape channel that has a credit and an interface that accepts frames."""
        if not (self.credit_state.credits and self._channels.escape):
            return None
        here, failed = self.agent.node, self.agent.links.down
        for leg in self._escape_legs(queue, waiting):
            up = not failed or self.agent.scheme.fabric.link_at(here, leg.port) not in failed
            if up and leg.port not in self.blocked and self.credit_state.room(leg.port, leg.server, ESCAPE):
                return VirtualChannelHop(leg.port, leg.server, ESCAPE, decision.weighted()[0][0].addresses)
        return None

    def _escape_legs(self, queue: Queue, waiting: QueuedPacket) -> tuple[Leg, ...]:
        """The next legs of a packet by escape routes.

        A packet in the escape channel has none only if servers knew of different failures when it was sent.
        """
        destination = self.agent.nodes.get(waiting.target)
        if destination is None:
            return ()
        here = self.agent.node
        descending = self._escapes(queue) and self._escape.down(queue.sender, here)
        # While servers learn of failures, a packet that came down by old ranks may have to go up by new ones.
        return self._escape.routes(here, destination, descending) or self._escape.routes(
            here, destination, False
        )

    def _next_server(self, port: int, target: bytes, addresses: bytes) -> int | None:
        """The server that next handles a frame which leaves like this."""
        framing = self.agent.framing
        escape, key = self._escape, (port, target if framing.by_address else addresses[:6])
        if key not in self._next_servers:
            end = escape.leg(self.agent.node, port, framing.label(key[1]))
            self._next_servers[key] = None if end is None else end.node
        return self._next_servers[key]

    # --- timers, links, counters --------------------------------------------------

    def next_timer(self) -> float | None:
        """When :meth:`handle_timer` is due: when a receiver has been silent for too long."""
        return self.credit_state.next_timer()

    def handle_timer(self, now: float) -> None:
        """Query silent receivers about outstanding frames."""
        self.credit_state.handle_timer(now)

    def apply_link_state(self, links: LinkState) -> None:
        """The lab reports that ``links`` are down."""
        self.agent.apply_link_state(links)

    @property
    def _escape(self) -> Escape:
        """The escape routes under the agent's present scheme."""
        if self._escape_routes.scheme is not self.agent.current_scheme:
            self._escape_routes = Escape(self.agent.current_scheme)
            self._next_servers = {}
        return self._escape_routes

    def _count(self, what: str) -> int:
        self.counters[what] += 1
        return CONSUMED

    def buffered(self) -> int:
        """The number of packets that wait here."""
        return len(self._host_queue.buffer.queue) + sum(
            len(q.buffer.queue) for q in self.credit_state.queues.values()
        )

    def levels(self) -> list[tuple[int, int, int, int, int, int]]:
        """How full buffers are and how many credits are used: rows (port, neighbour, virtual channel, packets
        that wait here from there, frames sent there whose buffers are not known to be free, limit of both).

        Without credits a port has one buffer for all neighbours; the neighbour is then -1.
        """
        state = self.credit_state
        used = state.outstanding()
        rows = []
        for key in sorted(used.keys() | state.queues.keys()):
            port, neighbour, channel = key
            queue = state.queues.get(key)
            limit = queue.buffer.limit if queue else state.send_window(port, neighbour, channel).limit
            waiting = len(queue.buffer.queue) if queue else 0
            rows.append((port, neighbour if state.credits else -1, channel, waiting, used.get(key, 0), limit))
        return rows

    def counts(self) -> dict[str, int]:
        """Packets that wait, took the escape channel, found no buffer or were lost on a link.

        ``fullest`` is the most frames that a buffer has held; ``credit frames`` are control frames sent.
        """
        buffers = [queue.buffer for queue in self.credit_state.queues.values()]
        return {
            "buffered": self.buffered(),
            "fullest": max((buffer.fullest for buffer in buffers), default=0),
            "lost on links": sum(buffer.lost for buffer in buffers),
            **self.counters,
            **self.credit_state.counters,
        }


def _forwards(decision: ForwardingDecision | None) -> bool:
    return decision is not None and (decision.only is None or decision.only.port > 0)
