"""An agent's forwarding, without any socket: the scheme's rule applied to packets in place.

:class:`Agent` gets frames from interfaces and packets from its host, each in a slot (see
:mod:`hostagent.forwarding.packet`).  It rewrites them there and returns the port by which they leave.  It takes
its decision from ``Scheme.next_hops`` and caches it by the leading bytes of the frame, so that all further
packets of that kind cost one dictionary look-up.  The cache is cleared when links or the scheme change.

ICMP errors and frames of control protocols are rare; they are left in ``outbox``.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from addressing.fields import ipv4
from addressing.header import Header
from addressing.scheme import Scheme
from addressing.source import SourceRouted
from hostagent.forwarding import icmp, packet
from hostagent.forwarding.batch import Headers
from hostagent.forwarding.decisions import (
    CACHE_SIZE,
    CONSUMED,
    TO_HOST,
    ForwardingDecision,
    NextHop,
    TokenBucket,
    cache_decision,
)
from hostagent.forwarding.knowledge import Knowledge
from hostagent.state_machine import StateMachine

_IPV4 = packet.IPV4.to_bytes(2, "big")
#: Stands for a decision that is not cached yet.
_UNKNOWN = ForwardingDecision(None)


def addresses_of(scheme: Scheme) -> dict[bytes, int]:
    """The server that each IPv4 address (four bytes) belongs to."""
    return {scheme.ipv4(node).to_bytes(4, "big"): node for node in range(scheme.fabric.servers)}


@dataclass(slots=True)
class Agent(Knowledge):
    """The relay of one server."""

    #: The control protocols by EtherType; they get frames with the Ethernet header.
    protocols: dict[int, StateMachine] = field(default_factory=dict)
    icmp_bucket: TokenBucket = field(default_factory=TokenBucket)
    #: (port, frame) and (TO_HOST, packet) pairs that the agent itself sends, each with its virtio-net
    #: header; the driver sends them and empties the list.
    outbox: list[tuple[int, bytes]] = field(default_factory=list)
    #: Whether packets of the host for a group go to all servers: a copy to each, by the scheme's rule.
    broadcast: bool = False
    #: Packets by what was done with them; see :meth:`counts`.
    relayed: int = 0
    delivered: int = 0
    originated: int = 0
    other: Counter[str] = field(default_factory=Counter)

    #: With path probing: the servers that the host has sent to since this was emptied.
    probe_destinations: set[int] = field(init=False, default_factory=set)

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
                return self._drop_with_icmp(icmp.TIME_EXCEEDED, "TTL expired", slot, end, now)
            if hop.port in self._narrow and not packet.fits(slot, end, self._mtus[hop.port]):
                return self._too_big(hop, slot, end, now)
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
        return self._drop_with_icmp(icmp.HOST_UNREACHABLE, hop.reason, slot, end, now)

    def _receive_ipv6(self, slot: memoryview, end: int, port: int, now: float) -> int:
        """Handle a frame of IPv6 as :meth:`receive_frame` does one of IPv4."""
        if end < packet.MIN_END6 or not packet.is_ipv6(slot):
            return self._count("malformed")
        if slot[packet.FRAME_OFFSET] & 3 != 2:
            return self._count("ignored: destination is not a label")
        key = packet.addressed(slot, end) if self._by_address else bytes(slot[10:16])
        if key is None:
            return self._count("ignored: destination is not a label")
        if self._tagged:
            key += slot[16:22]
        decision = self._frame_decisions[port].get(key) or self._decide_frame(key, port)
        hop = decision.only or self.pick(decision, slot, end)
        if hop.port > 0:
            if slot[packet.HOP_LIMIT6] <= 1:
                return self._drop_with_icmp(icmp.TIME_EXCEEDED, "TTL expired", slot, end, now)
            if hop.port in self._narrow and not packet.fits(slot, end, self._mtus[hop.port]):
                return self._too_big(hop, slot, end, now)
            slot[10:22] = hop.addresses
            slot[packet.HOP_LIMIT6] -= 1
            self.relayed += 1
            return hop.port
        if hop.port == TO_HOST:
            packet.to_host(slot)
            self.delivered += 1
            return TO_HOST
        return self._drop_with_icmp(icmp.HOST_UNREACHABLE, hop.reason, slot, end, now)

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
        if len(hops) < len(keys) or min(ports) <= 0 or self._narrow.intersection(ports):
            return []
        headers.relay(count, hops)
        self.relayed += count
        return ports

    def receive_packet(self, slot: memoryview, end: int, now: float) -> int:
        """Handle a packet from the host in ``slot[HOST_OFFSET:end]``; returns as :meth:`receive_frame`."""
        target = packet.addressed(slot, end)
        if self.broadcast and (target is None or target[0] >= 0xE0) and packet.is_group(slot, end):
            return self._to_all(slot, end)
        if target is None:
            return self._count("ignored: not to an address of servers, from the host")
        decision = self._packet_decisions.get(target) or self._decide_packet(target)
        hop = decision.only or self.pick(decision, slot, end)
        if hop.port > 0:
            packet.to_nic(slot)
            if hop.port in self._narrow and not packet.fits(slot, end, self._mtus[hop.port]):
                return self._too_big(hop, slot, end, now, own=True)
            packet.ETHERNET.pack_into(slot, packet.FRAME_OFFSET, hop.addresses, packet.ethertype(slot))
            self.originated += 1
            return hop.port
        if hop.port == TO_HOST:
            self.delivered += 1
            return TO_HOST
        return self._drop_with_icmp(icmp.HOST_UNREACHABLE, hop.reason, slot, end, now)

    def decision(self, slot: memoryview, end: int, port: int) -> ForwardingDecision | None:
        """The decision on a frame from the interface of ``port``; port 0: on a packet from the host.

        None for anything but IP to a label.  Nothing is written or counted.
        """
        target = packet.addressed(slot, end)
        if target is None:
            return None
        if not port:
            return self._packet_decisions.get(target) or self._decide_packet(target)
        to, by, kind, _, _, _, _, _, _ = packet.FRAME.unpack_from(slot)
        if kind != packet.ethertype(slot) or to[0] & 3 != 2:
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

    # --- decisions ------------------------------------------------------------

    def _decide_frame(self, key: bytes, port: int) -> ForwardingDecision:
        """Decide on frames that arrive at ``port`` and begin with ``key``; cache the decision."""
        decision = self._rule.decide(((self.framing.header(key, port), 1.0),), self._links)
        self._offer(port, key, decision)
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
        if self.load_balance != "probe":  # probing follows what the host sends
            self._offer(TO_HOST, target, decision)
        return cache_decision(self._packet_decisions, target, decision)

    def _offer(self, port: int, key: bytes, decision: ForwardingDecision) -> None:
        """Let the fast path carry a decision out, unless packets may be too large for a next hop."""
        hops = (hop.port for hop in decision.next_hops or (decision.only,) if hop is not None)
        if self.fast_path is not None and self._narrow.isdisjoint(hops):
            self.fast_path.install(port, key, decision)

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
            number = packet.alias(slot)
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
        if kind == packet.IPV6:
            return self._receive_ipv6(slot, end, port, now)
        protocol = self.protocols.get(kind)
        if protocol is None:
            return self._count("ignored: not IP")
        self.other["control"] += 1
        protocol.receive_frame(bytes(slot[packet.FRAME_OFFSET : end]), port, now)
        self.collect(protocol)
        return CONSUMED

    def _to_all(self, slot: memoryview, end: int) -> int:
        """A packet of the host for a group: a copy goes to each other server on the path of packets to it.

        For a group all servers are one hop apart: its packets often have one hop left, and relays do not count.
        """
        packet.to_nic(slot)
        packet.set_hops(slot, packet.MOST_HOPS)
        for node in range(self.scheme.fabric.servers):
            if node == self.node:
                continue
            target = self.current_scheme.ipv4(node).to_bytes(4, "big")
            decision = self._packet_decisions.get(target) or self._decide_packet(target)
            hop = decision.only or self.pick(decision, slot, end)
            if hop.port <= 0 or not packet.fits(slot, end, self._mtus.get(hop.port, packet.MAX_END)):
                self.other["lost: copies for a group"] += 1
                continue
            packet.ETHERNET.pack_into(slot, packet.FRAME_OFFSET, hop.addresses, packet.ethertype(slot))
            self.outbox.append((hop.port, bytes(slot[:end])))
            self.originated += 1
        return CONSUMED

    def collect(self, protocol: StateMachine) -> None:
        """Put what a control protocol has to send into the outbox."""
        offload = bytes(packet.VNET_SIZE)
        self.outbox.extend((port, offload + frame) for port, frame in protocol.frames_to_send())

    def _too_big(self, hop: NextHop, slot: memoryview, end: int, now: float, own: bool = False) -> int:
        """A packet larger than the MTU of its next hop: it is fragmented, or dropped with an ICMP error."""
        mtu, frame = self._mtus[hop.port], bytes(packet.VNET_SIZE) + hop.addresses + _IPV4
        parts = [frame + part for part in packet.fragments(slot, end, mtu)]
        if not parts:
            return self._drop_with_icmp(icmp.TOO_BIG, "larger than the MTU", slot, end, now, mtu)
        for part in parts:
            whole = bytearray(part)
            if not own:
                packet.count_hop(memoryview(whole))
            self.outbox.append((hop.port, bytes(whole)))
        return self._count("fragmented")

    def _drop_with_icmp(
        self, code: tuple[int, int], reason: str, slot: memoryview, end: int, now: float, mtu: int = 0
    ) -> int:
        """Drop a packet for ``reason`` and report it to its source by ICMP."""
        self.other["dropped: " + reason] += 1
        error = icmp.error(code, self.own_address, bytes(slot[packet.IP_OFFSET : end]), mtu)
        if error is None:
            return CONSUMED
        if not self.icmp_bucket.take(now):
            return self._count("ICMP errors suppressed")
        fresh = memoryview(bytearray(packet.IP_OFFSET) + error)
        if packet.addressed(fresh, len(fresh)) == self.own_address:
            self.outbox.append((TO_HOST, bytes(fresh[packet.HOST_OFFSET :])))
            return CONSUMED
        port = self.receive_packet(fresh, len(fresh), now)
        if port > 0:
            self.outbox.append((port, bytes(fresh)))
        return CONSUMED
