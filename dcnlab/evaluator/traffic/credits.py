"""The simulation of :mod:`dcnlab.evaluator.traffic.latency` with credits: no buffer overflows.

At its far end every directed link has a buffer of ``buffer`` packets for each of two virtual channels.  A
packet is sent only if there is a credit for its buffer.  The credit returns, after the propagation delay, when
the packet has left the buffer.  In the first channel a packet follows the path of its scheme.  Where that has
no credit, the packet may enter the second one, the escape channel, and stays there: it follows up*/down*
routes, whose buffers do not wait for each other in a cycle, so there is no deadlock (Duato, 1993).

Packets wait per next link, so none waits behind a packet for another link (the paper's shared buffers).  A
source holds ``buffer`` packets per link; it refuses further ones.
"""

from __future__ import annotations

import heapq
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from addressing.jit import compiled
from addressing.registry import bind
from dcnlab.evaluator.routing.sampled_paths import SampledPaths
from dcnlab.evaluator.routing.vectorized import rule_of
from dcnlab.evaluator.traffic.arrivals import Arrivals
from dcnlab.evaluator.traffic.capacities import Timing
from topos.fabric import Fabric
from topos.graph import ALL_UP, NONE, IntArray, LinkState

Times = NDArray[np.int64]
#: Instead of a time of delivery, as in the simulation without credits.
REFUSED, NOT_DELIVERED = -1, -2
#: Events at the same time are handled in this order.
_SENT, _CREDIT, _ARRIVED = 0, 1, 2
#: The virtual channels; buffer ``2 * link + channel`` is at the far end of a link.
_ADAPTIVE, _ESCAPE = 0, 1
Heap = list[Any]  # (time, event, link or buffer or packet)


class _Network(NamedTuple):
    """What does not change: the directed links, the packets and their routes; times in ns."""

    start: Times
    peer: IntArray
    links: IntArray
    delivered: NDArray[np.bool_]
    destination: IntArray
    #: [destination, node]: the directed link of the escape route.
    escape: IntArray
    #: Per directed link.
    transmission: Times
    hop_delay: Times
    propagation: Times
    buffer: int


class _State(NamedTuple):
    """Per directed link, per buffer and per packet."""

    #: When the link has sent its packet, and the source queue (or NONE) that this packet came from.
    free: Times
    sent_from: IntArray
    #: Packets of the node's own server that wait for the link or are being sent.
    entered: IntArray
    credits: IntArray
    #: The packets that wait for a link in a channel: a list from ``first`` to ``last``.
    first: IntArray
    last: IntArray
    following: IntArray
    hop: IntArray
    #: The buffer that the packet occupies; NONE in its source.
    held: IntArray
    ended: Times


def escape_routes(fabric: Fabric, down: LinkState = ALL_UP) -> IntArray:
    """[server, node]: the directed link of the up*/down* route from a node to a server; NONE for none."""
    rule = rule_of(bind("updown", fabric).with_failures(down), down)
    assert rule is not None
    return rule(np.arange(fabric.servers, dtype=np.int32))


def queue_with_credits(
    packets: Arrivals, paths: SampledPaths, fabric: Fabric, escape: IntArray, timing: Timing,
    processing: int, buffer: int,
) -> Times:  # fmt: skip
    """The time of delivery of each packet in ns; ``REFUSED`` or ``NOT_DELIVERED`` without one."""
    count, links = len(packets), len(fabric.adjacency.peer)
    network = _Network(
        fabric.adjacency.start, fabric.adjacency.peer, paths.links, paths.delivered, packets.destination,
        escape, timing.transmission, timing.propagation + processing, timing.propagation, buffer,
    )  # fmt: skip
    none = np.full(max(count, 2 * links), NONE, np.int32)
    state = _State(
        np.zeros(links, np.int64), none[:links].copy(), np.zeros(links, np.int32),
        np.full(2 * links, min(buffer, np.iinfo(np.int32).max), np.int32),
        none[: 2 * links].copy(), none[: 2 * links].copy(), none[:count].copy(),
        np.zeros(count, np.int32), none[:count].copy(), np.full(count, NOT_DELIVERED, np.int64),
    )  # fmt: skip
    _run(packets.time, packets.source, network, state)
    return state.ended


@compiled
def _run(created: Times, source: IntArray, network: _Network, state: _State) -> None:
    """The event loop: after each event at a node, its links send what they can."""
    heap: Heap = [(np.int64(0), np.int64(0), np.int64(0)) for _ in range(0)]
    new = np.int64(0)
    while new < len(created) or heap:
        if not heap or (new < len(created) and (created[new], _ARRIVED, new) < heap[0]):
            now, kind, what = created[new], np.int64(_ARRIVED), new
            new += 1
        else:
            now, kind, what = heapq.heappop(heap)
        if kind == _ARRIVED:
            at = source[what] if state.held[what] == NONE else network.peer[state.held[what] >> 1]
            _arrive(what, at, now, network, state, heap)
        elif kind == _CREDIT:
            state.credits[what] += 1
            at = _near_end(what >> 1, network)
        else:
            if state.sent_from[what] != NONE:
                state.entered[state.sent_from[what]] -= 1
            at = _near_end(what, network)
        _serve(at, now, network, state, heap)


@compiled
def _near_end(link: Any, network: _Network) -> int:
    """The node that sends over a directed link."""
    return int(np.searchsorted(network.start, link, side="right")) - 1


@compiled
def _arrive(packet: Any, at: int, now: int, network: _Network, state: _State, heap: Heap) -> None:
    """A packet is at a node: it is delivered, refused, or waits for its next link."""
    held, hop = state.held[packet], state.hop[packet]
    to = network.destination[packet]
    channel = _ADAPTIVE if held == NONE else held & 1
    if channel == _ESCAPE:
        arrived, link = at == to, network.escape[to, at]
    else:
        arrived = hop == network.links.shape[1] or network.links[packet, hop] == NONE
        link = NONE if arrived else network.links[packet, hop]
    if arrived:
        if channel == _ESCAPE or network.delivered[packet]:
            state.ended[packet] = now
        if held != NONE:
            heapq.heappush(heap, (now + network.propagation[held >> 1], np.int64(_CREDIT), np.int64(held)))
        return
    if held == NONE:
        if state.entered[link] >= network.buffer:
            state.ended[packet] = REFUSED
            return
        state.entered[link] += 1
    waiting = 2 * link + channel
    if state.first[waiting] == NONE:
        state.first[waiting] = packet
    else:
        state.following[state.last[waiting]] = packet
    state.last[waiting] = packet


@compiled
def _serve(at: int, now: int, network: _Network, state: _State, heap: Heap) -> None:
    """Every idle link of a node sends; then blocked packets enter the escape channel where it has room."""
    links = range(network.start[at], network.start[at + 1])
    for link in links:
        for waiting in (2 * link + _ESCAPE, 2 * link + _ADAPTIVE):
            if state.free[link] <= now and state.first[waiting] != NONE and state.credits[waiting] > 0:
                _send(waiting, waiting, now, network, state, heap)
    for link in links:
        blocked = state.first[2 * link + _ADAPTIVE]
        if blocked == NONE or state.credits[2 * link + _ADAPTIVE] > 0:
            continue
        other = network.escape[network.destination[blocked], at]
        room = other != NONE and state.free[other] <= now and state.first[2 * other + _ESCAPE] == NONE
        if room and state.credits[2 * other + _ESCAPE] > 0:
            _send(2 * link + _ADAPTIVE, 2 * other + _ESCAPE, now, network, state, heap)


@compiled
def _send(waiting: int, buffer: int, now: int, network: _Network, state: _State, heap: Heap) -> None:
    """Send the first packet that waits, into a buffer for which there is a credit."""
    packet, link = state.first[waiting], buffer >> 1
    state.first[waiting] = state.following[packet]
    state.following[packet] = NONE
    end = now + network.transmission[link]
    held = state.held[packet]
    if held != NONE:
        heapq.heappush(heap, (end + network.propagation[held >> 1], np.int64(_CREDIT), np.int64(held)))
    state.free[link] = end
    state.sent_from[link] = waiting >> 1 if held == NONE else NONE
    state.credits[buffer] -= 1
    state.held[packet] = buffer
    state.hop[packet] += 1
    heapq.heappush(heap, (end, np.int64(_SENT), np.int64(link)))
    heapq.heappush(heap, (end + network.hop_delay[link], np.int64(_ARRIVED), np.int64(packet)))
