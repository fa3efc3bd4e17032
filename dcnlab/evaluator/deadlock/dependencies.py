"""The dependencies of all packets to one destination, under all branches of a scheme's rule."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from addressing.jit import compiled
from addressing.scheme import Scheme
from dcnlab.evaluator.graph.hop_graph import live_links
from dcnlab.evaluator.graph.next_hops import uplinks
from dcnlab.evaluator.routing.chains.exploring import explore
from dcnlab.evaluator.routing.forms import Rule, Shares, SourceRoutes
from dcnlab.evaluator.routing.path_lengths import arrival_cost
from dcnlab.evaluator.routing.splits import Splits
from dcnlab.evaluator.routing.vectorized import forms_of
from topos.arrays import Longs, Mask
from topos.fabric import Fabric
from topos.graph import NONE, IntArray, LinkState

#: Directed links, and those that packets which have crossed them wait for next.
Waits = tuple[IntArray, IntArray]
#: Destinations whose next hops are computed at a time.
_BLOCK = 64


def waits_by_destination(
    scheme: Scheme, down: LinkState, destinations: IntArray
) -> Iterator[tuple[int, Waits]]:
    """For each destination the waits of packets from all other servers; nodes know that ``down`` is down."""
    bound = scheme.with_failures(down) if down else scheme
    forms = forms_of(bound, down)
    for begin in range(0, len(destinations), _BLOCK):
        some = destinations[begin : begin + _BLOCK]
        if forms.rule is not None:
            yield from _of_next_hops(bound.fabric, forms.rule, some, down)
        elif forms.shares is not None:
            yield from _of_shares(bound.fabric, forms.shares, some, down)
        elif forms.source_routes is not None:
            yield from _of_source_routes(bound.fabric, forms.source_routes, some, down)
        else:
            yield from _of_chain(bound, some, down)


def _of_next_hops(
    fabric: Fabric, rule: Rule, destinations: IntArray, down: LinkState
) -> Iterator[tuple[int, Waits]]:
    usable, adjacency = live_links(fabric, down), fabric.adjacency
    out, first = rule(destinations), uplinks(fabric, usable)
    out[:, : len(first)] = first
    for row, to in enumerate(destinations.tolist()):
        used = np.zeros(len(adjacency.peer), np.bool_)
        used[out[row][out[row] != NONE]] = True
        yield to, _waits(adjacency.start, adjacency.peer, used & usable, fabric.servers, to)


def _of_shares(
    fabric: Fabric, shares: Shares, destinations: IntArray, down: LinkState
) -> Iterator[tuple[int, Waits]]:
    split, adjacency = Splits.of(fabric, shares, destinations, down), fabric.adjacency
    for row, to in enumerate(destinations.tolist()):
        used = (split.share[row] > 0) & split.usable
        yield to, _waits(adjacency.start, adjacency.peer, used, fabric.servers, to)


@compiled
def _waits(start: Longs, peer: IntArray, used: Mask, servers: int, to: int) -> Waits:
    """From ``used`` links: those that packets of some server reach, and the next."""
    size = len(start) - 1
    reached = np.zeros(size, np.bool_)
    todo = np.empty(size, np.int32)
    todo[:servers] = np.arange(servers)
    reached[:servers] = True
    top = servers
    before, after = [np.int32(0) for _ in range(0)], [np.int32(0) for _ in range(0)]
    while top:
        top -= 1
        node = todo[top]
        if node == to:
            continue
        for link in range(start[node], start[node + 1]):
            if not used[link]:
                continue
            there = peer[link]
            if not reached[there]:
                reached[there] = True
                todo[top] = there
                top += 1
            if there == to:
                continue
            for following in range(start[there], start[there + 1]):
                if used[following]:
                    before.append(np.int32(link))
                    after.append(np.int32(following))
    return np.array(before, np.int32), np.array(after, np.int32)


def _of_source_routes(
    fabric: Fabric, source_routes: SourceRoutes, destinations: IntArray, down: LinkState
) -> Iterator[tuple[int, Waits]]:
    usable = np.append(live_links(fabric, down), True)
    servers = np.arange(fabric.servers, dtype=np.int32)
    for to in destinations.tolist():
        others = servers[servers != to]
        routes = source_routes(others, np.full(len(others), to, dtype=np.int32))
        routes = routes[usable[routes].all(axis=1)]
        follows = (routes[:, 1:] != NONE).ravel()
        yield to, (routes[:, :-1].ravel()[follows], routes[:, 1:].ravel()[follows])


def _of_chain(scheme: Scheme, destinations: IntArray, down: LinkState) -> Iterator[tuple[int, Waits]]:
    """By the rule itself, state by state: a state is a node and a header, so that the waits are exact."""
    cost, servers = arrival_cost(scheme.fabric, "links"), range(scheme.fabric.servers)
    for to in destinations.tolist():
        chain = explore(scheme, to, [s for s in servers if s != to], cost, down, down)
        crossing = np.flatnonzero(chain.link != NONE)
        behind = np.diff(chain.start)[chain.target[crossing]]
        before = np.repeat(chain.link[crossing], behind)
        offset = np.arange(len(before)) - np.repeat(np.cumsum(behind) - behind, behind)
        after = chain.link[np.repeat(chain.start[chain.target[crossing]], behind) + offset]
        yield to, (before[after != NONE], after[after != NONE])
