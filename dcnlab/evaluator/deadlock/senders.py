"""Who has to send what, so that packets wait for each other as in a cycle."""

from __future__ import annotations

from addressing.header import Forward
from addressing.scheme import Scheme
from dcnlab.evaluator.deadlock.analysis import Deadlock
from topos.fabric import Fabric


def along(scheme: Scheme, deadlock: Deadlock) -> list[tuple[int, int]]:
    """(source, destination) of the packets that hold a channel of the cycle and wait for the next one.

    The channels lead from server to server (``switching`` credits).  All routes that the scheme can take count.
    """
    tail, head = deadlock.channels.tail, deadlock.channels.head
    return [
        (source, to)
        for channel, to in deadlock.cycle
        for source in range(scheme.fabric.servers)
        if source != to and (int(tail[channel]), int(head[channel])) in _legs(scheme, source, to)
    ]


def narrowest(fabric: Fabric) -> int:
    """The smallest buffer, in frames, that relays with credits can have: one frame per neighbour."""
    widest = max((fabric.port_count(node) for node in range(fabric.servers, fabric.size)), default=2)
    return max(1, widest - 1)


def _legs(scheme: Scheme, source: int, to: int) -> set[tuple[int, int]]:
    """The pairs of servers that follow each other on a route."""
    fabric, legs = scheme.fabric, set[tuple[int, int]]()
    todo = [(source, header, source) for header, _ in scheme.headers(source, to)]
    seen = set(todo)
    while todo:
        at, header, last = todo.pop()
        for action, _ in scheme.act(at, header):
            end = fabric.peer(at, action.port) if isinstance(action, Forward) else None
            if not isinstance(action, Forward) or end is None:
                continue
            if fabric.is_server(end.node):
                legs.add((last, end.node))
            before = end.node if fabric.is_server(end.node) else last
            state = end.node, action.arrival(header, scheme.tag_bits, end.number), before
            if state not in seen:
                seen.add(state)
                todo.append(state)
    return legs
