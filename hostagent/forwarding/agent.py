"""An agent's forwarding, without any socket: the scheme's rule applied to packets in place.

:class:`Agent` gets frames from interfaces and packets from its host, each in a slot (see
:mod:`hostagent.forwarding.packet`).  It rewrites them there and returns the port by which they leave.  It takes
its decision from ``Scheme.next_hops`` and caches it by the leading bytes of the frame, so that all further
packets of that kind cost one dictionary look-up.  The cache is cleared when links or the scheme change.

ICMP errors and frames of control protocols are rare; they are left in ``outbox``.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from addressing.fields import ipv4
from addressing.header import Header
from addressing.scheme import Scheme
from addressing.source import ServerPath, SourceRouted
from hostagent.forwarding import packet
from hostagent.forwarding.batch import Headers
from hostagent.forwarding.decisions import (
    CACHE_SIZE,
    CONSUMED,
    TO_HOST,
    DecisionSink,
    ForwardingDecision,
    NextHop,
    TokenBucket,
    cache_decision,
)
from hostagent.forwarding.failures import KnownFailures
from hostagent.forwarding.framing import Framing
from hostagent.forwarding.rule import ServerRule
from hostagent.options import LoadBalance
from hostagent.state_machine import StateMachine
from topos.graph import ALL_UP, LinkState

#: The bytes of the IPv4 addresses in a slot whose upper three bits are the number of an alias.
_SOURCE_ALIAS_OFFSET, _TARGET_ALIAS_OFFSET = packet.IP_OFFSET + 13, packet.IP_OFFSET + 17

#: Stands for a decision that is not cached yet.
_UNKNOWN = ForwardingDecision(None)


def addresses_of(scheme: Scheme) -> dict[bytes, int]:
    """The server that each IPv4 address (four bytes) belongs to."""
    return {scheme.ipv4(node).to_bytes(4, "big"): node for node in range(scheme.fabric.servers)}


@dataclass(slots=True)
class Agent:
    """The relay of one server: ``scheme`` is that of the intact fabric, ``nodes`` its servers by address."""

    scheme: Scheme
    node: int
    nodes: Mapping[bytes, int]
    rng: random.Random
    load_balance: LoadBalance = "flow"
    #: The control protocols by EtherType; they get frames with the Ethernet header.
    protocols: dict[int, StateMachine] = field(default_factory=dict)
    icmp_bucket: TokenBucket = field(default_factory=TokenBucket)
    #: (port, frame) and (TO_HOST, packet) pairs that the agent itself sends, each with its virtio-net
    #: header; the driver sends them and empties the list.
    outbox: list[tuple[int, bytes]] = field(default_factory=list)
    #: Carries out decisions in place of the agent, if there is a fast path.
    fast_path: DecisionSink | None = None
    #: Packets by what was done with them; see :meth:`counts`.
    relayed: int = 0
    delivered: int = 0
    originated: int = 0
    other: Counter[str] = field(default_factory=Counter)

    #: With path probing: the servers that the host has sent to since this was emptied.
    probe_destinations: set[int] = field(init=False, default_factory=set)

    own_address: bytes = field(init=False)
    _failures: KnownFailures = field(init=False, default_factory=KnownFailures)
    _links: LinkState = field(init=False, default=ALL_UP)
    #: The failures of :attr:`current_scheme`.
    _common_failures: LinkState = field(init=False, default=ALL_UP)
    _round_trips: Mapping[tuple[int, int], float] = field(init=False, default_factory=dict)
    _flows: dict[float, NextHop] = field(init=False, default_factory=dict)
    _pinned: dict[int, ServerPath] = field(init=False, default_factory=dict)
    #: Servers have alias addresses, each for one next hop (see :func:`addressing.fields.ipv4.alias`).
    has_aliases: bool = field(init=False)
    #: The rule of :attr:`current_scheme`.
    _rule: ServerRule = field(init=False)
    _by_address: bool = field(init=False)
    _tagged: bool = field(init=False)
    _frame_decisions: tuple[dict[bytes, ForwardingDecision], ...] = field(init=False)
    _packet_decisions: dict[bytes, ForwardingDecision] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.own_address = self.scheme.ipv4(self.node).to_bytes(4, "big")
        self._frame_decisions = tuple({} for _ in range(self.scheme.fabric.port_count(self.node) + 1))
        servers = self.scheme.fabric.servers
        self.has_aliases = servers <= ipv4.ALIASED_SERVERS and self.scheme.ipv4(self.node) == ipv4.host_address(
            self.node
        )
        self._bind(self.scheme)

    # --- packets --------------------------------------------------------------

    def receive_frame(self, slot: memoryview, end: int, port: int, now: float) -> int:
        """Handle a frame from the interface of ``port``, which fills ``slot[:end]``.

        Returns the port by which ``slot[:end]`` now leaves, TO_HOST if ``slot[HOST_OFFSET:end]`` is for the
        host, or CONSUMED.
        """
        if end < packet.MIN_END:
            return self._short_frame(slot, end, port, now)
        to, by, kind, version, ttl, protocol, total, _, target = packet.FRAME.unpack_from(slot)
        if kind != packet.IPV4:
            return self._other_ethertype(slot, end, port, now)
        if not 0x45 <= version <= 0x4F:
            return self._count("malformed")
        if to[0] & 3 != 2:
            return self._count("ignored: destination is not a label")
        key = target if self._by_address else to
        if self._tagged:
            key += by
        decision = self._frame_decisions[port].get(key) or self._decide_frame(key, port)
        hop = decision.only or self.pick(decision, slot, end)
        if hop.port > 0:
            if ttl <= 1:
                return self._drop_with_icmp(packet.TIME_EXCEEDED, "TTL expired", slot, end, now)
            slot[10:22] = hop.addresses
            packet.TTL.pack_into(
                slot, packet.TTL_OFFSET, ttl - 1, protocol, packet.ttl_decremented_checksum(total)
            )
            self.relayed += 1
            return hop.port
        if hop.port == TO_HOST:
            packet.to_host(slot)
            self.delivered += 1
            return TO_HOST
        return self._drop_with_icmp(packet.HOST_UNREACHABLE, hop.reason, slot, end, now)

    def receive_burst(self, headers: Headers, lengths: NDArray[np.uint32], port: int) -> list[int]:
        """Handle frames of ``lengths`` from the interface of ``port``, one per slot, as :meth:`receive_frame`.

        Returns the ports by which they now leave: one for all, or one each.  Returns nothing, and does
        nothing, unless all are plain IPv4 frames to be relayed by cached decisions.
        """
        count, known = len(lengths), self._frame_decisions[port].get
        if lengths.min() < packet.MIN_END or not headers.fast_path_eligible(count):
            return []
        keys = headers.keys(count, self._by_address, self._tagged)
        hops = [hop for key in keys if (hop := known(key, _UNKNOWN).only) is not None]
        ports = [hop.port for hop in hops]
        if len(hops) < len(keys) or min(ports) <= 0:
            return []
        headers.relay(count, hops)
        self.relayed += count
        return ports

    def receive_packet(self, slot: memoryview, end: int, now: float) -> int:
        """Handle a packet from the host in ``slot[HOST_OFFSET:end]``; returns as :meth:`receive_frame`."""
        if end < packet.MIN_END or not 0x45 <= slot[packet.IP_OFFSET] <= 0x4F:
            return self._count("ignored: not IPv4 from the host")
        target = bytes(slot[packet.IP_OFFSET + 16 : packet.IP_OFFSET + 20])
        decision = self._packet_decisions.get(target) or self._decide_packet(target)
        hop = decision.only or self.pick(decision, slot, end)
        if hop.port > 0:
            packet.to_nic(slot)
            packet.ETHERNET.pack_into(slot, packet.FRAME_OFFSET, hop.addresses, packet.IPV4)
            self.originated += 1
            return hop.port
        if hop.port == TO_HOST:
            self.delivered += 1
            return TO_HOST
        return self._drop_with_icmp(packet.HOST_UNREACHABLE, hop.reason, slot, end, now)

    def decision(self, slot: memoryview, end: int, port: int) -> ForwardingDecision | None:
        """The decision on a frame from the interface of ``port``; port 0: on a packet from the host.

        None for anything but IPv4 to a label.  Nothing is written or counted.
        """
        if end < packet.MIN_END or not 0x45 <= slot[packet.IP_OFFSET] <= 0x4F:
            return None
        if not port:
            target = bytes(slot[packet.IP_OFFSET + 16 : packet.IP_OFFSET + 20])
            return self._packet_decisions.get(target) or self._decide_packet(target)
        to, by, kind, _, _, _, _, _, target = packet.FRAME.unpack_from(slot)
        if kind != packet.IPV4 or to[0] & 3 != 2:
            return None
        key = (target if self._by_address else to) + (by if self._tagged else b"")
        return self._frame_decisions[port].get(key) or self._decide_frame(key, port)

    def counts(self) -> dict[str, int]:
        """Packets relayed, delivered and originated; malformed ones; ignored and dropped ones by reason."""
        by_kernel = self.fast_path.counts() if self.fast_path is not None else (0, 0, 0)
        own = (self.relayed, self.delivered, self.originated)
        relayed, delivered, originated = map(sum, zip(own, by_kernel, strict=True))
        return {
            "relayed": relayed,
            "delivered": delivered,
            "originated": originated,
            **({"by kernel": sum(by_kernel)} if self.fast_path is not None else {}),
            **self.other,
        }

    # --- what the agent knows -------------------------------------------------

    def apply_link_state(self, links: LinkState) -> None:
        """The lab reports that ``links`` are down: labels and tables follow from now on."""
        self._failures.by_lab = links
        self._follow_failures()

    def handle_link_change(self, port: int, up: bool) -> bool:
        """The interface of ``port`` has lost or regained its carrier; False if that is known already."""
        changed = self._failures.change_carrier(self.scheme.fabric.link_at(self.node, port), up)
        if changed:
            self._invalidate()
        return changed

    def set_load_balance(self, mode: LoadBalance) -> None:
        """Choose among several next hops by another rule from now on."""
        self.load_balance = mode
        if self.fast_path is not None:
            self.fast_path.set_load_balance(mode)
        self._invalidate()

    def stop_fast_path(self) -> None:
        """The agent ends: the fast path must not forward in its place any more."""
        if self.fast_path is not None:
            self.fast_path.invalidate()

    def learn_failures(self, links: LinkState) -> None:
        """Other agents advertise that ``links`` are down: labels and tables follow.

        Where the scheme limits the flooding, agents know different links: only next hops avoid them then."""
        if links != self._failures.by_peers:
            self._failures.by_peers = links
            self._follow_failures()

    def pin(self, paths: Iterable[ServerPath]) -> None:
        """Send packets along these paths to the last server of each, while its links are up."""
        self._pinned = {path[-1]: path for path in paths}
        self._invalidate()

    @property
    def reported_failures(self) -> LinkState:
        """The links that are down by carriers, the lab and other agents; without suspected ones."""
        return self._failures.reported

    def apply_probe_results(self, suspected: LinkState, order: Mapping[tuple[int, int], float]) -> None:
        """Follow the results of path probing: ``suspected`` links, and round-trip times in seconds by
        destination and tag.  Cached decisions on the host's packets are cleared."""
        self._round_trips = order
        if suspected != self._failures.suspected:
            self._failures.suspected = suspected
            self._invalidate()
        self._packet_decisions.clear()

    def towards(self, server: int) -> NextHop | None:
        """How frames for another server leave while nothing is down; None without a path."""
        return ServerRule(self.scheme, self.node).towards(server)

    def readdress(self, hop: NextHop, server: int) -> bytes:
        """The MAC addresses of control frames to a server one hop away, by its present label: failures change
        the labels of some schemes, and a switch on the way knows the present ones only."""
        before, now = self.scheme, self.current_scheme
        if now is before or (now.label(server), now.label_bits) == (before.label(server), before.label_bits):
            return hop.addresses
        return self._rule.addresses(Header(now.label(server)), hop.port)

    @property
    def current_scheme(self) -> Scheme:
        """The scheme under the failures that all agents know, by the lab or by each other."""
        return self._rule.scheme

    @property
    def framing(self) -> Framing:
        """How frames are written and read under :attr:`current_scheme`."""
        return self._rule.framing

    @property
    def links(self) -> LinkState:
        """All links that the agent takes for down."""
        return self._links

    def _follow_failures(self) -> None:
        """Compute labels and tables by the failures that all agents know.

        Most schemes compute when a packet needs it, so failures that are learned of together cost one time."""
        common = self._failures.common(self.scheme.floods_everywhere)
        if common == self._common_failures:
            self._invalidate()
        else:
            self._common_failures = common
            self._bind(self.scheme.with_failures(common) if common else self.scheme)

    def _bind(self, scheme: Scheme) -> None:
        self._rule = ServerRule(scheme, self.node)
        self._by_address, self._tagged = self.framing.by_address, self.framing.tagged
        self._invalidate()

    def _invalidate(self) -> None:
        self._links = self._failures.all
        if self.fast_path is not None:
            self.fast_path.invalidate()
        self._packet_decisions.clear()
        for decisions in self._frame_decisions:
            decisions.clear()

    # --- decisions ------------------------------------------------------------

    def _decide_frame(self, key: bytes, port: int) -> ForwardingDecision:
        """Decide on frames that arrive at ``port`` and begin with ``key``; cache the decision."""
        decision = self._rule.decide(((self.framing.header(key, port), 1.0),), self._links)
        if self.fast_path is not None:
            self.fast_path.install(port, key, decision)
        return cache_decision(self._frame_decisions[port], key, decision)

    def _decide_packet(self, target: bytes) -> ForwardingDecision:
        """Decide on packets of this host to the address ``target``; cache the decision."""
        destination = self.nodes.get(target)
        if destination is None and self.has_aliases:
            plain, _ = ipv4.without_alias(int.from_bytes(target, "big"))
            destination = self.nodes.get(plain.to_bytes(4, "big"))
        if destination is None:
            decision = ForwardingDecision(NextHop(CONSUMED, reason="no server has this address"))
        else:
            headers = self._headers(destination)
            decision = (
                self._rule.decide(headers, self._links)
                if headers
                else ForwardingDecision(NextHop(CONSUMED, reason="no path is known"))
            )
        if self.fast_path is not None and self.load_balance != "probe":  # probing follows what the host sends
            self.fast_path.install(TO_HOST, target, decision)
        return cache_decision(self._packet_decisions, target, decision)

    def _headers(self, destination: int) -> tuple[tuple[Header, float], ...]:
        """The weighted headers that this server writes into packets for another one."""
        scheme, path = self.current_scheme, self._pinned.get(destination)
        if path is not None and isinstance(scheme, SourceRouted) and scheme.alive(path, self._links):
            tag = scheme.tag_of(path)
            if tag is not None:
                return ((Header(scheme.label(self.node), tag), 1.0),)
        headers = scheme.headers(self.node, destination, self._links)
        if self.load_balance == "probe":
            self.probe_destinations.add(destination)
            return tuple(
                sorted(headers, key=lambda item: self._round_trips.get((destination, item[0].tag), math.inf))
            )
        return headers

    def pick(self, decision: ForwardingDecision, slot: memoryview, end: int) -> NextHop:
        """One of several next hops: at random per packet, or by a hash of the flow."""
        if self.has_aliases:
            number = slot[_SOURCE_ALIAS_OFFSET] >> 5 or slot[_TARGET_ALIAS_OFFSET] >> 5
            if number:
                return decision.next_hops[(number - 1) % len(decision.next_hops)]
        if self.load_balance == "probe":
            return self._sticky_next_hop(decision, packet.flow_hash(slot, end, self.node))
        by_packet = self.load_balance == "packet"
        point = self.rng.random() if by_packet else packet.flow_hash(slot, end, self.node)
        return decision.next_hops[bisect_right(decision.bounds, point)]

    def _sticky_next_hop(self, decision: ForwardingDecision, flow: float) -> NextHop:
        """The next hop that a flow took before, while it is valid; for a new flow the first."""
        hop = self._flows.get(flow)
        if hop is None or hop not in decision.next_hops:
            if len(self._flows) >= CACHE_SIZE:
                self._flows.clear()
            hop = self._flows[flow] = decision.next_hops[0]
        return hop

    # --- rare cases ---------------------------------------------------------

    def _count(self, what: str) -> int:
        self.other[what] += 1
        return CONSUMED

    def _short_frame(self, slot: memoryview, end: int, port: int, now: float) -> int:
        """A frame too short for IPv4: malformed, unless it has another EtherType."""
        kind_at = packet.IP_OFFSET - 2
        if end < packet.IP_OFFSET or slot[kind_at] << 8 | slot[kind_at + 1] == packet.IPV4:
            return self._count("malformed")
        return self._other_ethertype(slot, end, port, now)

    def _other_ethertype(self, slot: memoryview, end: int, port: int, now: float) -> int:
        """A frame of another EtherType: for its control protocol, or ignored."""
        kind = slot[packet.IP_OFFSET - 2] << 8 | slot[packet.IP_OFFSET - 1]
        protocol = self.protocols.get(kind)
        if protocol is None:
            return self._count("ignored: not IPv4")
        self.other["control"] += 1
        protocol.receive_frame(bytes(slot[packet.FRAME_OFFSET : end]), port, now)
        self.collect(protocol)
        return CONSUMED

    def collect(self, protocol: StateMachine) -> None:
        """Put what a control protocol has to send into the outbox."""
        offload = bytes(packet.VNET_SIZE)
        self.outbox.extend((port, offload + frame) for port, frame in protocol.frames_to_send())

    def _drop_with_icmp(
        self, code: tuple[int, int], reason: str, slot: memoryview, end: int, now: float
    ) -> int:
        """Drop a packet for ``reason`` and report it to its source by ICMP."""
        self.other["dropped: " + reason] += 1
        error = packet.icmp_error(code, self.own_address, bytes(slot[packet.IP_OFFSET : end]))
        if error is None:
            return CONSUMED
        if not self.icmp_bucket.take(now):
            return self._count("ICMP errors suppressed")
        fresh = memoryview(bytearray(packet.IP_OFFSET) + error)
        if fresh[packet.IP_OFFSET + 16 :][:4] == self.own_address:
            self.outbox.append((TO_HOST, bytes(fresh[packet.HOST_OFFSET :])))
            return CONSUMED
        port = self.receive_packet(fresh, len(fresh), now)
        if port > 0:
            self.outbox.append((port, bytes(fresh)))
        return CONSUMED
