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
from hostagent.flowcontrol.credit import ADAPTIVE, CONTROL, ESCAPE, LARGEST, Inlet, Mark
from hostagent.flowcontrol.credit_state import CHANNELS, Ledger, Parcel, Queue
from hostagent.flowcontrol.escape import Escape
from hostagent.forwarding import packet
from hostagent.forwarding.agent import Agent
from hostagent.forwarding.decisions import CONSUMED, TO_HOST, Exit, Plan
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
    if not 1 <= buffers <= LARGEST:
        raise FlowControlError(f"buffers hold 1 to {LARGEST} frames, not {buffers}")
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
class Way:
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
        self.ledger = Ledger(agent, buffers, credits)
        #: Ports whose card takes nothing for the moment; whoever drives the relay keeps this.
        self.blocked: set[int] = set()
        self.counted: Counter[str] = Counter()
        self._own = Queue(0, agent.node, ADAPTIVE, Inlet(buffers))
        self._turns: deque[Queue] = deque()
        self._follow(escape or Escape(agent.current))

    # --- what arrives -----------------------------------------------------------

    @property
    def room(self) -> bool:
        """Whether another packet of the host is wanted."""
        return not self._own.inlet.full

    def receive_packet(self, slot: memoryview, end: int, now: float) -> int:
        """A packet from the host fills ``slot[HOST_AT:end]``: TO_HOST when it is for the host itself,
        otherwise CONSUMED; to be called while there is :attr:`room`."""
        if not _forwards(self.agent.plan(slot, end, 0)):
            return self._settled(self.agent.receive_packet(slot, end, now))
        packet.to_card(slot)
        packet.ETHERNET.pack_into(slot, packet.FRAME_AT, bytes(12), packet.IPV4)
        self.agent.originated += 1
        self._wait(self._own, slot, end)
        return CONSUMED

    def receive_frame(self, slot: memoryview, end: int, port: int, now: float) -> int:
        """A frame from the card of ``port`` fills ``slot[:end]``: TO_HOST when the host is given
        ``slot[HOST_AT:end]``, otherwise CONSUMED."""
        plan = self.agent.plan(slot, end, port)
        if plan is None:
            return self._settled(self.agent.receive_frame(slot, end, port, now))
        mark = Mark.decode(slot[16:22])
        if mark.channel == CONTROL:
            known = self.ledger.hear(slot, end, port, mark.server, now)
            return CONSUMED if known else self._count("malformed")
        queue = self.ledger.queue(port, mark)
        if queue is None or not self.ledger.accept(queue, mark):
            return self._count("malformed")
        if not _forwards(plan) or slot[packet.TTL_AT] <= 1:
            self.ledger.free(queue)
            return self._settled(self.agent.receive_frame(slot, end, port, now))
        if queue.inlet.full:
            self.ledger.free(queue)
            return self._count("dropped: no buffer")
        ttl, protocol, total = packet.TTL.unpack_from(slot, packet.TTL_AT)
        packet.TTL.pack_into(slot, packet.TTL_AT, ttl - 1, protocol, packet.decremented(total))
        self._wait(queue, slot, end)
        return CONSUMED

    def _settled(self, out: int) -> int:
        """The agent has dealt with something itself; packets that it sends of its own wait like others."""
        outbox, self.agent.outbox[:] = list(self.agent.outbox), []
        for port, data in outbox:
            if port == TO_HOST or data[packet.IP_AT - 2 : packet.IP_AT] != _IPV4:
                self.agent.outbox.append((port, data))
            elif self.room:
                self._wait(self._own, memoryview(data), len(data))
            else:
                self._count("ICMP errors withheld")
        return out

    def _wait(self, queue: Queue, slot: memoryview, end: int) -> None:
        target = bytes(slot[packet.IP_AT + 16 : packet.IP_AT + 20])
        queue.inlet.put(Parcel(bytearray(slot[:end]), target))
        if not queue.listed:
            queue.listed = True
            self._turns.append(queue)

    # --- what leaves ------------------------------------------------------------

    def departures(self, now: float) -> Iterator[tuple[int, bytes]]:
        """(port, frame with its virtio-net header) that leave now, buffers in turn.

        Ports may be blocked while this is iterated; what has been handed out is not taken back.
        """
        yield from self.ledger.frames(self.blocked)
        stuck = 0
        while stuck < len(self._turns):
            queue = self._turns.popleft()
            queue.listed = bool(queue.inlet.queue)
            if not queue.listed:
                continue
            self._turns.append(queue)
            stuck += 1
            leaving = self._advance(queue, now)
            if leaving is not None:
                stuck = 0
                yield leaving
        yield from self.ledger.frames(self.blocked)

    def _advance(self, queue: Queue, now: float) -> tuple[int, bytes] | None:
        """Let the first packet of a buffer leave, if it can."""
        parcel = queue.inlet.queue[0]
        slot = memoryview(parcel.data)
        plan = self.agent.plan(slot, len(slot), queue.port)
        if plan is None or not _forwards(plan):  # links have changed since it came
            self._remove(queue)
            self._refuse(queue, slot, now)
            return None
        way = self._choose(queue, parcel, plan)
        if way is None:
            return None
        self._remove(queue)
        self.agent.relayed += queue.port > 0
        return way.port, self._addressed(way, parcel.data, now)

    def _remove(self, queue: Queue) -> None:
        queue.inlet.queue.popleft()
        self.ledger.free(queue)

    def _refuse(self, queue: Queue, slot: memoryview, now: float) -> None:
        """Have the agent say that there is no way any more."""
        if queue.port:
            self._settled(self.agent.receive_frame(slot, len(slot), queue.port, now))
        else:
            self._settled(self.agent.receive_packet(slot, len(slot), now))

    def _addressed(self, way: Way, data: bytearray, now: float) -> bytes:
        data[10:22] = way.addresses
        if self.ledger.credits:
            number = self.ledger.grant(way.port, way.server, way.channel).take(now)
            data[16:22] = Mark(way.channel, number, self.agent.node).encode(way.port)
            self.counted["escaped"] += way.channel == ESCAPE
        return bytes(data)

    def _choose(self, queue: Queue, parcel: Parcel, plan: Plan) -> Way | None:
        """The way that a packet takes now; None while it has to wait."""
        if queue.channel == ESCAPE:
            return self._way_out(queue, parcel, plan)
        exits = plan.weighted()
        if len(exits) > 1 and self.agent.spread == "flow":
            exits = ((self.agent.pick(plan, memoryview(parcel.data), len(parcel.data)), 1.0),)
        granted = [(way, weight) for exit_, weight in exits if (way := self._way(exit_, parcel)) is not None]
        if not granted:
            return self._way_out(queue, parcel, plan)
        return self._drawn([(way, weight) for way, weight in granted if way.port not in self.blocked])

    def _drawn(self, ways: list[tuple[Way, float]]) -> Way | None:
        """One of several ways by their weights, as in Eq. 12 when all of them are free."""
        if len(ways) < 2:
            return ways[0][0] if ways else None
        point = self.agent.draw.random() * sum(weight for _, weight in ways)
        for way, weight in ways:
            point -= weight
            if point < 0:
                return way
        return ways[-1][0]

    def _way(self, exit_: Exit, parcel: Parcel) -> Way | None:
        """An exit as a way, if it has a credit."""
        if not self.ledger.credits:
            return Way(exit_.port, 0, ADAPTIVE, exit_.addresses)
        server = self._reached(exit_.port, parcel.target, exit_.addresses)
        if server is None or not self.ledger.grant(exit_.port, server, ADAPTIVE).room:
            return None
        return Way(exit_.port, server, ADAPTIVE, exit_.addresses)

    def _way_out(self, queue: Queue, parcel: Parcel, plan: Plan) -> Way | None:
        """A way by the escape channel that has a credit and a card that takes it."""
        destination = self.agent.nodes.get(parcel.target)
        if not self.ledger.credits or destination is None:
            return None
        here, held = self.agent.node, self.agent.links.down
        descending = queue.channel == ESCAPE and self._escape.down(queue.sender, here)
        # While servers learn of failures, one that came down by old ranks may have to go up by new ones.
        legs = self._escape.routes(here, destination, descending) or self._escape.routes(
            here, destination, False
        )
        for leg in legs:
            up = self.agent.scheme.fabric.link_at(here, leg.port) not in held
            if up and leg.port not in self.blocked and self.ledger.grant(leg.port, leg.server, ESCAPE).room:
                return Way(leg.port, leg.server, ESCAPE, plan.weighted()[0][0].addresses)
        return None

    def _reached(self, port: int, target: bytes, addresses: bytes) -> int | None:
        """The server that next reads a frame which leaves so."""
        framing = self.agent.framing
        key = (port, target if framing.by_address else addresses[:6])
        if key not in self._ends:
            end = self._escape.leg(self.agent.node, port, framing.label(key[1]))
            self._ends[key] = None if end is None else end.node
        return self._ends[key]

    # --- what the relay knows -----------------------------------------------------

    def announce(self, links: LinkState) -> None:
        """The lab says that ``links`` are down."""
        self.agent.announce(links)
        self._follow(Escape(self.agent.current))

    def _follow(self, escape: Escape) -> None:
        self._escape = escape
        self._ends: dict[tuple[int, bytes], int | None] = {}

    def _count(self, what: str) -> int:
        self.counted[what] += 1
        return CONSUMED

    def buffered(self) -> int:
        """Packets that wait here."""
        return len(self._own.inlet.queue) + sum(len(q.inlet.queue) for q in self.ledger.queues.values())

    def counts(self) -> dict[str, int]:
        """Packets that wait, that took the escape channel, that found no buffer or were lost on a
        cable; the fullest that a buffer has been; frames sent about credits."""
        inlets = [queue.inlet for queue in self.ledger.queues.values()]
        return {
            "buffered": self.buffered(),
            "fullest": max((inlet.fullest for inlet in inlets), default=0),
            "lost on cables": sum(inlet.lost for inlet in inlets),
            **self.counted,
            **self.ledger.counted,
        }


def _forwards(plan: Plan | None) -> bool:
    return plan is not None and (plan.sole is None or plan.sole.port > 0)
