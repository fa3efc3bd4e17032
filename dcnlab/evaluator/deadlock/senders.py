"""Who has to send what, so that packets wait for each other as in a cycle."""

from __future__ import annotations

from itertools import pairwise

from addressing.scheme import Scheme, path
from dcnlab.evaluator.deadlock.analysis import Deadlock
from topos.fabric import Fabric


def along(scheme: Scheme, found: Deadlock) -> list[tuple[int, int]]:
    """(source, destination) of the packets that hold a channel of the cycle and wait for the next one.

    The channels lead from server to server (``switching`` credits).  Of several routes that a scheme has for a
    pair, the first counts.
    """
    tail, head = found.channels.tail, found.channels.head
    return [
        (source, to)
        for channel, to in found.cycle
        for source in range(scheme.fabric.servers)
        if source != to and (int(tail[channel]), int(head[channel])) in _legs(scheme, source, to)
    ]


def narrowest(fabric: Fabric) -> int:
    """The smallest buffer, in frames, that relays with credits can have: one frame per neighbour."""
    widest = max((fabric.port_count(node) for node in range(fabric.servers, fabric.size)), default=2)
    return max(1, widest - 1)


def _legs(scheme: Scheme, source: int, to: int) -> set[tuple[int, int]]:
    """The pairs of servers that follow each other on a path."""
    nodes = path(scheme, source, to) or ()
    return set(pairwise(node for node in nodes if scheme.fabric.is_server(node)))
