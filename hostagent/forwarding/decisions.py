"""An agent's forwarding decisions as values: next hops, decisions on all packets of a kind, the cache.

:class:`hostagent.forwarding.agent.Agent` makes them from the scheme's rule.  Relays with buffers choose among
the next hops of a decision themselves (:mod:`hostagent.flowcontrol.relay`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from hostagent.options import LoadBalance

#: In place of one of the ports 1, 2, ...: the packet is for the host, or needs nothing more.
TO_HOST = 0
CONSUMED = -1

#: Cached decisions per arrival port; when there are more, all are dropped.
CACHE_SIZE = 4096


@dataclass(frozen=True, slots=True)
class NextHop:
    """A port (or TO_HOST, or CONSUMED for ``reason``) and the new MAC addresses of the packet."""

    port: int
    addresses: bytes = b""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ForwardingDecision:
    """What is done with packets of a kind: the ``only`` next hop, or several, each below a bound.

    The bounds rise within [0, 1]: a point drawn from there chooses the next hop.
    """

    only: NextHop | None
    next_hops: tuple[NextHop, ...] = ()
    bounds: tuple[float, ...] = ()

    def weighted(self) -> tuple[tuple[NextHop, float], ...]:
        """All next hops with their weights."""
        if self.only is not None:
            return ((self.only, 1.0),)
        edges = (0.0, *self.bounds, 1.0)
        weights = (above - below for below, above in pairwise(edges))
        return tuple(zip(self.next_hops, weights, strict=True))


class DecisionSink(Protocol):
    """Carries decisions out in an agent's place, until they are invalid (:mod:`hostagent.fastpath`)."""

    def install(self, port: int, key: bytes, made: ForwardingDecision) -> None:
        """A decision for frames that arrive at ``port`` and have ``key``, or for packets of the host
        (port 0) to the IPv4 address ``key``."""

    def invalidate(self) -> None:
        """No decision so far is valid any more."""

    def set_load_balance(self, mode: LoadBalance) -> None:
        """How one of several next hops is chosen."""

    def counts(self) -> tuple[int, int, int]:
        """Packets relayed, delivered and originated in the agent's place."""


@dataclass(slots=True)
class TokenBucket:
    """A token bucket for ICMP errors (RFC 1812, 4.3.2.8): ``rate`` a second, ``burst`` at once."""

    rate: float = 1000.0
    burst: float = 100.0
    tokens: float = 100.0
    since: float = 0.0

    def take(self, now: float) -> bool:
        """Take a token at ``now`` (seconds on any steady clock); False if there is none."""
        self.tokens = min(self.burst, self.tokens + max(0.0, now - self.since) * self.rate)
        self.since = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True


def cache_decision(
    decisions: dict[bytes, ForwardingDecision], key: bytes, decision: ForwardingDecision
) -> ForwardingDecision:
    """Cache a decision under the bytes that its packets begin with; returns the decision."""
    if len(decisions) >= CACHE_SIZE:
        decisions.clear()
    decisions[key] = decision
    return decision
