"""A scheme's rule at one server, as the next hops of the agent there."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate

from addressing.fields import mac
from addressing.header import Action, Deliver, Drop, Forward, Header
from addressing.scheme import Scheme
from hostagent.forwarding.decisions import CONSUMED, TO_HOST, ForwardingDecision, NextHop
from hostagent.forwarding.framing import Framing
from topos.graph import LinkState


class ServerRule:
    """The rule of ``scheme`` at the server ``node``, with the frames in which its packets leave."""

    __slots__ = ("framing", "node", "scheme")

    def __init__(self, scheme: Scheme, node: int) -> None:
        self.scheme, self.node = scheme, node
        self.framing = Framing(scheme)

    def decide(self, headers: Iterable[tuple[Header, float]], links: LinkState) -> ForwardingDecision:
        """The next hops of weighted headers while ``links`` are down."""
        weighted = [
            (self.next_hop(header, action), weight * share)
            for header, weight in headers
            for action, share in self.scheme.next_hops(self.node, header, links)
        ]
        next_hops = tuple(hop for hop, _ in weighted)
        if len(next_hops) == 1:
            return ForwardingDecision(next_hops[0])
        return ForwardingDecision(None, next_hops, tuple(accumulate(weight for _, weight in weighted))[:-1])

    def next_hop(self, header: Header, action: Action) -> NextHop:
        """One action on packets with this header, as a next hop."""
        if isinstance(action, Deliver):
            return NextHop(TO_HOST)
        if isinstance(action, Drop):
            return NextHop(CONSUMED, reason=action.reason)
        return self.forward(header, action)

    def forward(self, header: Header, action: Forward) -> NextHop:
        """A packet with this header leaves by a port."""
        after = action.apply(header, self.scheme.tag_bits)
        if self.framing.by_address and after.label != header.label:
            return NextHop(CONSUMED, reason="the rule rewrites an IPv4 address")
        return NextHop(action.port, self.addresses(after, action.port))

    def addresses(self, header: Header, port: int) -> bytes:
        """The MAC addresses of a frame with this header that leaves by a port."""
        return self.framing.addresses(header, mac.hardware(self.node, port))

    def towards(self, server: int) -> NextHop | None:
        """How frames for another server leave while nothing is down; None without a path."""
        for header, _ in self.scheme.headers(self.node, server)[:1]:
            action = self.scheme.next_hops(self.node, header)[0][0]
            if isinstance(action, Forward):
                hop = self.forward(header, action)
                return hop if hop.port > 0 else None
        return None
