"""An agent's decisions, without any socket: the scheme's rule applied to packets in place.

:class:`Agent` is told of frames from cards and packets from its host, each in a slot
(see :mod:`hostagent.forwarding.packet`), rewrites them there and says where they leave.  It draws
what to do from ``Scheme.choices`` and remembers it per leading bytes of the frame, so
that all further packets alike cost one dictionary look-up.  What it forgets when links
or the scheme change is exactly that memory.

ICMP errors and answers of control protocols, which are rare, are left in ``outbox``.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from addressing.fields import ipv4, mac
from addressing.header import Action, Deliver, Drop, Forward, Header
from addressing.scheme import Scheme
from addressing.source import SourceRouted, Way
from hostagent.forwarding import packet
from hostagent.forwarding.batch import Headers
from hostagent.forwarding.decisions import CONSUMED, MEMORY, TO_HOST, Allowance, Exit, Plan, remember
from hostagent.forwarding.framing import Framing
from hostagent.options import Spread
from topos.graph import ALL_UP, LinkState

#: What handles frames of an EtherType of its own: (frame, arrival port, now) to
#: (port, frame) pairs to send; times are in seconds.
Control = Callable[[bytes, int, float], Iterable[tuple[int, bytes]]]

#: The bytes of the IPv4 addresses in a slot whose upper three bits number a further address.
_SOURCE_ALIAS_AT, _TARGET_ALIAS_AT = packet.IP_AT + 13, packet.IP_AT + 17

#: What is known of frames that no plan has been made for yet.
_UNKNOWN = Plan(None)


def addresses_of(scheme: Scheme) -> dict[bytes, int]:
    """The server that each IPv4 address (four bytes) belongs to."""
    return {scheme.ipv4(node).to_bytes(4, "big"): node for node in range(scheme.fabric.servers)}


@dataclass(slots=True)
class Agent:
    """The relay of one server: ``scheme`` is that of the intact fabric, ``nodes`` its servers by address."""

    scheme: Scheme
    node: int
    nodes: Mapping[bytes, int]
    draw: random.Random
    spread: Spread = "flow"
    control: Mapping[int, Control] = field(default_factory=dict)
    allowance: Allowance = field(default_factory=Allowance)
    #: (port, frame) pairs and (TO_HOST, packet) pairs that the agent itself has to say,
    #: each with its virtio-net header; whoever drives the agent sends and empties them.
    outbox: list[tuple[int, bytes]] = field(default_factory=list)
    #: What became of packets; see :meth:`counts`.
    relayed: int = 0
    delivered: int = 0
    originated: int = 0
    other: Counter[str] = field(default_factory=Counter)

    #: Where ways are probed: the servers that the host has sent to since this was emptied.
    asked: set[int] = field(init=False, default_factory=set)

    own: bytes = field(init=False)
    #: How frames are written and read by :attr:`current`.
    framing: Framing = field(init=False)
    _links: LinkState = field(init=False, default=ALL_UP)
    _announced: LinkState = field(init=False, default=ALL_UP)
    _lost: frozenset[int] = field(init=False, default=frozenset())
    _heard: LinkState = field(init=False, default=ALL_UP)
    _suspected: LinkState = field(init=False, default=ALL_UP)
    _order: Mapping[tuple[int, int], float] = field(init=False, default_factory=dict)
    _flows: dict[float, Exit] = field(init=False, default_factory=dict)
    _pinned: dict[int, Way] = field(init=False, default_factory=dict)
    #: Servers have further addresses, each for one of several exits (see :func:`addressing.fields.ipv4.alias`).
    _aliases: bool = field(init=False)
    _now: Scheme = field(init=False)
    _by_address: bool = field(init=False)
    _tagged: bool = field(init=False)
    _frames: tuple[dict[bytes, Plan], ...] = field(init=False)
    _packets: dict[bytes, Plan] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.own = self.scheme.ipv4(self.node).to_bytes(4, "big")
        self._frames = tuple({} for _ in range(self.scheme.fabric.port_count(self.node) + 1))
        servers = self.scheme.fabric.servers
        self._aliases = servers <= ipv4.ALIASED_SERVERS and self.scheme.ipv4(self.node) == ipv4.numbered(
            self.node
        )
        self._bind(self.scheme)

    # --- packets --------------------------------------------------------------

    def receive_frame(self, slot: memoryview, end: int, port: int, now: float) -> int:
        """A frame from the card of ``port`` fills ``slot[:end]``.

        Returns the port that ``slot[:end]`` now leaves by, TO_HOST when the host is
        given ``slot[HOST_AT:end]``, or CONSUMED.
        """
        if end < packet.SHORTEST:
            return self._short(slot, end, port, now)
        to, by, kind, version, ttl, protocol, total, _, target = packet.FRAME.unpack_from(slot)
        if kind != packet.IPV4:
            return self._foreign(slot, end, port, now)
        if not 0x45 <= version <= 0x4F:
            return self._count("malformed")
        if to[0] & 3 != 2:
            return self._count("ignored: destination is no label")
        key = target if self._by_address else to
        if self._tagged:
            key += by
        plan = self._frames[port].get(key) or self._plan_frame(key, port)
        way = plan.sole or self.pick(plan, slot, end)
        if way.port > 0:
            if ttl <= 1:
                return self._refuse(packet.TIME_EXCEEDED, "TTL expired", slot, end, now)
            slot[10:22] = way.addresses
            packet.TTL.pack_into(slot, packet.TTL_AT, ttl - 1, protocol, packet.decremented(total))
            self.relayed += 1
            return way.port
        if way.port == TO_HOST:
            packet.to_host(slot)
            self.delivered += 1
            return TO_HOST
        return self._refuse(packet.HOST_UNREACHABLE, way.reason, slot, end, now)

    def receive_burst(self, headers: Headers, lengths: NDArray[np.uint32], port: int) -> list[int]:
        """Frames of ``lengths`` from the card of ``port``, one per slot: the ports that they now leave by,
        one for all or one each, as if each had been given to :meth:`receive_frame`.

        Nothing, and nothing is done, unless all are usual and are relayed by plans that are known.
        """
        count, known = len(lengths), self._frames[port].get
        if lengths.min() < packet.SHORTEST or not headers.usual(count):
            return []
        keys = headers.keys(count, self._by_address, self._tagged)
        ways = [way for key in keys if (way := known(key, _UNKNOWN).sole) is not None]
        ports = [way.port for way in ways]
        if len(ways) < len(keys) or min(ports) <= 0:
            return []
        headers.relay(count, ways)
        self.relayed += count
        return ports

    def receive_packet(self, slot: memoryview, end: int, now: float) -> int:
        """A packet from the host fills ``slot[HOST_AT:end]``; returns as :meth:`receive_frame` does."""
        if end < packet.SHORTEST or not 0x45 <= slot[packet.IP_AT] <= 0x4F:
            return self._count("ignored: not IPv4 from the host")
        target = bytes(slot[packet.IP_AT + 16 : packet.IP_AT + 20])
        plan = self._packets.get(target) or self._plan_packet(target)
        way = plan.sole or self.pick(plan, slot, end)
        if way.port > 0:
            packet.to_card(slot)
            packet.ETHERNET.pack_into(slot, packet.FRAME_AT, way.addresses, packet.IPV4)
            self.originated += 1
            return way.port
        if way.port == TO_HOST:
            self.delivered += 1
            return TO_HOST
        return self._refuse(packet.HOST_UNREACHABLE, way.reason, slot, end, now)

    def plan(self, slot: memoryview, end: int, port: int) -> Plan | None:
        """What is to be done with a frame from the card of ``port``, or with port 0 with a packet
        from the host; None when it is no IPv4 with a label.  Nothing is written or counted."""
        if end < packet.SHORTEST or not 0x45 <= slot[packet.IP_AT] <= 0x4F:
            return None
        if not port:
            target = bytes(slot[packet.IP_AT + 16 : packet.IP_AT + 20])
            return self._packets.get(target) or self._plan_packet(target)
        to, by, kind, _, _, _, _, _, target = packet.FRAME.unpack_from(slot)
        if kind != packet.IPV4 or to[0] & 3 != 2:
            return None
        key = (target if self._by_address else to) + (by if self._tagged else b"")
        return self._frames[port].get(key) or self._plan_frame(key, port)

    def counts(self) -> dict[str, int]:
        """How many packets were relayed, delivered, originated; malformed, ignored and dropped by reason."""
        return {
            "relayed": self.relayed,
            "delivered": self.delivered,
            "originated": self.originated,
            **self.other,
        }

    # --- what the agent knows -------------------------------------------------

    def announce(self, links: LinkState) -> None:
        """The lab says that ``links`` are down: labels and tables follow from now on."""
        self._announced = links
        self._bind(self.scheme.given(links) if links else self.scheme)

    def carrier(self, port: int, up: bool) -> bool:
        """The card of ``port`` has a carrier or not; True when that is news."""
        link = self.scheme.fabric.link_at(self.node, port)
        lost = self._lost - {link} if up else self._lost | {link}
        if lost == self._lost:
            return False
        self._lost = lost
        self._forget()
        return True

    def hear(self, links: LinkState) -> None:
        """Other agents say that ``links`` are down: known from now on, while labels and tables stay."""
        if links != self._heard:
            self._heard = links
            self._forget()

    def pin(self, ways: Iterable[Way]) -> None:
        """Send packets to each way's last server along it while its links are up; others as ever."""
        self._pinned = {way[-1]: way for way in ways}
        self._forget()

    @property
    def told(self) -> LinkState:
        """What is down by carriers and by what others say, suspicions aside."""
        return self._announced.fail(self._lost | self._heard.down)

    def follow_probes(self, suspected: LinkState, order: Mapping[tuple[int, int], float]) -> None:
        """Probes have found that ``suspected`` links are down, and the round trips of ways, by
        destination and tag; what was decided for the host's packets is decided anew."""
        self._order = order
        if suspected != self._suspected:
            self._suspected = suspected
            self._forget()
        self._packets.clear()

    def towards(self, server: int) -> Exit | None:
        """How frames for another server leave while nothing is down; None where no way is."""
        headers = self.scheme.headers(self.node, server)
        for header, _ in headers[:1]:
            way = self._exit(header, self.scheme.choices(self.node, header)[0][0])
            return way if way.port > 0 else None
        return None

    @property
    def current(self) -> Scheme:
        """The scheme as it is since the last :meth:`announce`."""
        return self._now

    @property
    def links(self) -> LinkState:
        """Everything that the agent knows to be down."""
        return self._links

    def _bind(self, scheme: Scheme) -> None:
        self._now = scheme
        self.framing = Framing(scheme)
        self._by_address, self._tagged = self.framing.by_address, self.framing.tagged
        self._forget()

    def _forget(self) -> None:
        self._links = self._announced.fail(self._lost | self._heard.down | self._suspected.down)
        self._packets.clear()
        for plans in self._frames:
            plans.clear()

    # --- decisions ------------------------------------------------------------

    def _plan_frame(self, key: bytes, port: int) -> Plan:
        """Decide on frames that arrive at ``port`` and begin with ``key``; remember it."""
        plan = self._plan(((self.framing.header(key, port), 1.0),))
        return remember(self._frames[port], key, plan)

    def _plan_packet(self, target: bytes) -> Plan:
        """Decide on packets of this host to the address ``target``; remember it."""
        destination = self.nodes.get(target)
        if destination is None and self._aliases:
            plain, _ = ipv4.without_alias(int.from_bytes(target, "big"))
            destination = self.nodes.get(plain.to_bytes(4, "big"))
        if destination is None:
            plan = Plan(Exit(CONSUMED, reason="no server has this address"))
        else:
            headers = self._headers(destination)
            plan = self._plan(headers) if headers else Plan(Exit(CONSUMED, reason="no way is known"))
        return remember(self._packets, target, plan)

    def _headers(self, destination: int) -> tuple[tuple[Header, float], ...]:
        """What this server writes into packets for another one."""
        scheme, way = self._now, self._pinned.get(destination)
        if way is not None and isinstance(scheme, SourceRouted) and scheme.alive(way, self._links):
            tag = scheme.tag_of(way)
            if tag is not None:
                return ((Header(scheme.label(self.node), tag), 1.0),)
        headers = scheme.headers(self.node, destination, self._links)
        if self.spread == "probe":
            self.asked.add(destination)
            return tuple(sorted(headers, key=lambda way: self._order.get((destination, way[0].tag), math.inf)))
        return headers

    def _plan(self, headers: tuple[tuple[Header, float], ...]) -> Plan:
        """The exits of weighted headers by the scheme's rule."""
        ways = [
            (self._exit(header, action), weight * share)
            for header, weight in headers
            for action, share in self._now.choices(self.node, header, self._links)
        ]
        exits = tuple(way for way, _ in ways)
        if len(exits) == 1:
            return Plan(exits[0])
        return Plan(None, exits, tuple(accumulate(weight for _, weight in ways))[:-1])

    def _exit(self, header: Header, action: Action) -> Exit:
        if isinstance(action, Deliver):
            return Exit(TO_HOST)
        if isinstance(action, Drop):
            return Exit(CONSUMED, reason=action.reason)
        return self._leave(action, header)

    def _leave(self, action: Forward, header: Header) -> Exit:
        after = action.apply(header, self._now.tag_bits)
        if self._by_address and after.label != header.label:
            return Exit(CONSUMED, reason="the rule rewrites an IPv4 address")
        return Exit(action.port, self.framing.addresses(after, mac.hardware(self.node, action.port)))

    def pick(self, plan: Plan, slot: memoryview, end: int) -> Exit:
        """One of several exits, by this packet's draw or its flow's."""
        if self._aliases:
            number = slot[_SOURCE_ALIAS_AT] >> 5 or slot[_TARGET_ALIAS_AT] >> 5
            if number:
                return plan.exits[(number - 1) % len(plan.exits)]
        if self.spread == "probe":
            return self._stay(plan, packet.flow_point(slot, end, self.node))
        by_packet = self.spread == "packet"
        point = self.draw.random() if by_packet else packet.flow_point(slot, end, self.node)
        return plan.exits[bisect_right(plan.bounds, point)]

    def _stay(self, plan: Plan, flow: float) -> Exit:
        """The exit that a flow took before, while it is there; for a new one the first."""
        way = self._flows.get(flow)
        if way is None or way not in plan.exits:
            if len(self._flows) >= MEMORY:
                self._flows.clear()
            way = self._flows[flow] = plan.exits[0]
        return way

    # --- what is rare ---------------------------------------------------------

    def _count(self, what: str) -> int:
        self.other[what] += 1
        return CONSUMED

    def _short(self, slot: memoryview, end: int, port: int, now: float) -> int:
        """A frame too short for IPv4: malformed, unless it is of another kind."""
        kind_at = packet.IP_AT - 2
        if end < packet.IP_AT or slot[kind_at] << 8 | slot[kind_at + 1] == packet.IPV4:
            return self._count("malformed")
        return self._foreign(slot, end, port, now)

    def _foreign(self, slot: memoryview, end: int, port: int, now: float) -> int:
        """A frame of another EtherType: for its control protocol, or nobody's."""
        kind = slot[packet.IP_AT - 2] << 8 | slot[packet.IP_AT - 1]
        handle = self.control.get(kind)
        if handle is None:
            return self._count("ignored: not IPv4")
        self.other["control"] += 1
        offload = bytes(packet.VNET_SIZE)
        for out, frame in handle(bytes(slot[packet.FRAME_AT : end]), port, now):
            self.outbox.append((out, offload + frame))
        return CONSUMED

    def _refuse(self, code: tuple[int, int], reason: str, slot: memoryview, end: int, now: float) -> int:
        """Drop a packet for ``reason`` and tell its source by ICMP."""
        self.other["dropped: " + reason] += 1
        error = packet.icmp_error(code, self.own, bytes(slot[packet.IP_AT : end]))
        if error is None:
            return CONSUMED
        if not self.allowance.take(now):
            return self._count("ICMP errors withheld")
        fresh = memoryview(bytearray(packet.IP_AT) + error)
        if fresh[packet.IP_AT + 16 :][:4] == self.own:
            self.outbox.append((TO_HOST, bytes(fresh[packet.HOST_AT :])))
            return CONSUMED
        port = self.receive_packet(fresh, len(fresh), now)
        if port > 0:
            self.outbox.append((port, bytes(fresh)))
        return CONSUMED
