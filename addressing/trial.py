"""A trial of a user's scheme: some packets through the intact network, before a lab is launched with it."""

from __future__ import annotations

import random
from collections.abc import Iterator

from addressing.header import Deliver, Drop, Forward
from addressing.scheme import Hop, Scheme, walk

#: Packets of a trial: all pairs of a small network, some of a large one.
_PACKETS = 64
#: The nodes of a loop that are shown.
_SHOWN = 6


def problem(scheme: Scheme) -> str | None:
    """What is wrong with the rule: a port that is not there, a loop, a wrong destination; None if nothing is
    found.  Raises what the scheme's own code raises."""
    for source, destination in _pairs(scheme.fabric.servers):
        hops = list(walk(scheme, source, destination, rng=random.Random(0)))
        if text := _problem(scheme, hops, destination):
            a, b = map(scheme.fabric.name, (source, destination))
            return f"a packet from {a} to {b} {text}"
    return None


def _pairs(servers: int) -> Iterator[tuple[int, int]]:
    """Ordered pairs of servers, spread evenly over all."""
    every = servers * (servers - 1)
    for number in range(0, every, max(1, every // _PACKETS)):
        source, other = divmod(number, servers - 1)
        yield source, other + (other >= source)


def _problem(scheme: Scheme, hops: list[Hop], destination: int) -> str | None:
    fabric = scheme.fabric
    for hop in hops:
        at, action = fabric.name(hop.node), hop.action
        if isinstance(action, Forward):
            if not isinstance(action.port, int) or fabric.peer(hop.node, action.port) is None:
                return f"is to leave {at} by port {action.port}, which {at} does not have"
        elif not isinstance(action, Deliver | Drop):
            return f"meets {action!r} at {at}, which is neither Forward, Deliver nor Drop"
    last = hops[-1]
    if last.action == Drop("loop"):
        return f"loops: {' '.join(fabric.name(hop.node) for hop in hops[:_SHOWN])} ..."
    if isinstance(last.action, Deliver) and last.node != destination:
        return f"is delivered at {fabric.name(last.node)}"
    return None
