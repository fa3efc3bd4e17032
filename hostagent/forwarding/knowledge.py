"""What an agent knows of the network: failures, pinned paths, round trips, and the scheme that follows.

Its decisions are cached here as well; they are forgotten when what they follow from changes.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from addressing.fields import ipv4
from addressing.header import Header
from addressing.scheme import Scheme
from addressing.source import ServerPath
from hostagent.forwarding.decisions import (
    DecisionSink,
    ForwardingDecision,
    NextHop,
)
from hostagent.forwarding.failures import KnownFailures
from hostagent.forwarding.framing import Framing
from hostagent.forwarding.rule import ServerRule
from hostagent.options import LoadBalance
from topos.graph import ALL_UP, LinkState


@dataclass(slots=True)
class Knowledge:
    """That of one server's agent: ``scheme`` is that of the intact fabric, ``nodes`` its servers by address."""

    scheme: Scheme
    node: int
    nodes: Mapping[bytes, int]
    rng: random.Random
    load_balance: LoadBalance = "flow"
    #: Carries out decisions in place of the agent, if there is a fast path.
    fast_path: DecisionSink | None = None
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
    _mtus: dict[int, int] = field(init=False, default_factory=dict)
    #: Ports for which a packet may be too large: others have a larger MTU.
    _narrow: frozenset[int] = field(init=False, default=frozenset())
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

    def set_mtu(self, port: int, mtu: int) -> None:
        """The MTU of the interface of ``port``; TO_HOST: of the host's device, which the host's packets fit."""
        if self._mtus.get(port) != mtu:
            self._mtus[port] = mtu
            largest = max(self._mtus.values())
            self._narrow = frozenset(port for port, size in self._mtus.items() if port > 0 and size < largest)
            self._invalidate()

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
