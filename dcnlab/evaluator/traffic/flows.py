"""Routed flows: the directed links that each flow crosses, and its share on each.

A directed link carries what a node sends out of one port (see :class:`topos.graph.Adjacency`).
Weighted next hops split a flow in their exact proportions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.jit import compiled, threaded
from addressing.scheme import Scheme
from dcnlab.evaluator.graph import next_hops
from dcnlab.evaluator.graph.hop_graph import live_links
from dcnlab.evaluator.graph.pairs import Pairs
from dcnlab.evaluator.routing.chains.exploring import Explorer
from dcnlab.evaluator.routing.forms import Crossings, Rule, Shares, SourceRoutes
from dcnlab.evaluator.routing.path_lengths import FailureKnowledge, arrival_cost, with_failure_knowledge
from dcnlab.evaluator.routing.splits import Splits
from dcnlab.evaluator.routing.vectorized import Forms, crossings_of, forms_of
from dcnlab.traffic.patterns import Traffic
from topos.arrays import Floats, Longs
from topos.fabric import Fabric
from topos.graph import ALL_UP, NONE, IntArray, LinkState

_NO_LINKS = np.zeros(0, dtype=np.int32)


@dataclass(frozen=True, eq=False)
class Flows:
    """Flow i crosses the directed links ``links[start[i]:start[i + 1]]``, with ``shares`` of it on each.

    ``shares`` is empty where every flow uses a single path.  A flow without links is not
    delivered.  With ``subflows`` above 1, so many consecutive rows of ``start`` are the parts of one flow,
    which sends an equal share along each; it is delivered where one of them is.
    """

    sources: IntArray
    destinations: IntArray
    start: Longs
    links: IntArray
    shares: Floats
    subflows: int = 1

    def __len__(self) -> int:
        """The number of flows, including those not delivered."""
        return len(self.sources)

    @property
    def delivered(self) -> NDArray[np.bool_]:
        """Mask of the flows that have a path."""
        return np.asarray((np.diff(self.start) > 0).reshape(-1, self.subflows).any(axis=1))

    def take(self, order: Longs) -> Flows:
        """Flows ``order[0]``, ``order[1]`` ..., with their paths."""
        rows = (order[:, None] * self.subflows + np.arange(self.subflows)).ravel()
        length = np.diff(self.start)[rows]
        start = np.concatenate([[0], np.cumsum(length)])
        crossed = np.repeat(self.start[rows] - start[:-1], length) + np.arange(start[-1])
        shares = self.shares[crossed] if len(self.shares) else self.shares
        ends = self.sources[order], self.destinations[order]
        return Flows(*ends, start, self.links[crossed], shares, self.subflows)

    def select(self, which: NDArray[np.bool_]) -> Flows:
        """The flows of the mask ``which``, with their paths."""
        return self.take(np.flatnonzero(which))

    def scaled(self, amounts: Floats) -> Flows:
        """The same flows with ``amounts`` of each in place of one whole."""
        shares = np.repeat(np.repeat(amounts, self.subflows), np.diff(self.start))
        if len(self.shares):
            shares *= self.shares
        return Flows(self.sources, self.destinations, self.start, self.links, shares, self.subflows)

    def loads(self, link_count: int) -> Floats:
        """Per directed link the sum of the shares of its flows; the fabric has ``link_count`` links."""
        return _add_up(self.links, self.shares if len(self.shares) else np.ones(1), link_count)


def flows(
    scheme: Scheme,
    traffic: Traffic,
    down: LinkState = ALL_UP,
    *,
    failure_knowledge: FailureKnowledge = "yes",
    generic: bool = False,
) -> Flows:
    """Route the flows of ``traffic`` by ``scheme`` while ``down`` is down.

    A flow that is delivered with a probability below 1 counts as not delivered.  ``generic``
    evaluates the scheme state by state even where it has a vectorised form.
    """
    if not len(traffic):
        return Flows(traffic.sources, traffic.destinations, np.zeros(1, np.int64), _NO_LINKS, np.zeros(0))
    bound, known_down = with_failure_knowledge(scheme, down, failure_knowledge)
    forms, pairs = Forms() if generic else forms_of(bound, known_down), _pairs(traffic)
    if forms.rule is not None:
        return _from_next_hops(bound.fabric, forms.rule, pairs, down)
    if forms.source_routes is not None:
        return _from_source_routes(bound.fabric, forms.source_routes, pairs, down)
    if forms.shares is not None:
        return _from_shares(bound.fabric, forms.shares, pairs, down)
    each = None if generic or down else crossings_of(bound, known_down)
    if each is not None:
        return from_crossings(each, pairs)
    cost = arrival_cost(bound.fabric, "links")
    return _from_chain(Explorer(bound, cost, down, known_down, merging=not generic), pairs)


def _pairs(traffic: Traffic) -> Pairs:
    """The flows grouped by destination, in ascending order of destination, then source."""
    sources, destinations = traffic.sources, traffic.destinations
    rising, same = np.diff(destinations), np.diff(sources)
    if not ((rising > 0) | ((rising == 0) & (same >= 0))).all():
        order = np.lexsort((sources, destinations))
        sources, destinations = sources[order], destinations[order]
    ends, first = np.unique(destinations, return_index=True)
    return Pairs(ends, tuple(np.split(sources, first[1:])))


def _from_next_hops(fabric: Fabric, rule: Rule, pairs: Pairs, down: LinkState) -> Flows:
    usable, cost = live_links(fabric, down), arrival_cost(fabric, "links")
    first = next_hops.uplinks(fabric, usable)
    counts: list[IntArray] = []
    parts: list[IntArray] = []
    for part in pairs.chunks(max(1, min(1024, (1 << 24) // fabric.size))):
        out = rule(part.destinations)
        out[:, : len(first)] = first
        hops = next_hops.hops_to(out, part.destinations, fabric.adjacency.peer, usable, cost, first)
        row = np.repeat(np.arange(len(part.destinations)), [len(s) for s in part.sources])
        sources = np.concatenate(part.sources)
        length = np.maximum(hops[row, sources], 0)
        counts.append(length)
        parts.append(
            _links_along(out, row, sources, np.concatenate([[0], np.cumsum(length)]), fabric.adjacency.peer)
        )
    start = np.concatenate([[0], np.cumsum(np.concatenate(counts), dtype=np.int64)])
    return Flows(*_ends(pairs), start, np.concatenate(parts), np.zeros(0))


def _from_source_routes(fabric: Fabric, source_routes: SourceRoutes, pairs: Pairs, down: LinkState) -> Flows:
    usable = np.append(live_links(fabric, down), True)
    counts: list[IntArray] = []
    parts: list[IntArray] = []
    for part in pairs.chunks(64):
        links = source_routes(*_ends(part))
        links[~usable[links].all(axis=1)] = NONE
        counts.append((links != NONE).sum(axis=1).astype(np.int32))
        parts.append(links[links != NONE])
    start = np.concatenate([[0], np.cumsum(np.concatenate(counts), dtype=np.int64)])
    return Flows(*_ends(pairs), start, np.concatenate(parts), np.zeros(0))


def _from_shares(fabric: Fabric, shares: Shares, pairs: Pairs, down: LinkState) -> Flows:
    starts, links, parts = [np.zeros(1, dtype=np.int64)], [], []
    for some in pairs.chunks(max(1, (1 << 22) // max(1, len(fabric.adjacency.peer)))):
        rows = Splits.of(fabric, shares, some.destinations, down).crossings(some.sources)
        starts.append(rows[0][1:] + starts[-1][-1])
        links.append(rows[1])
        parts.append(rows[2])
    return Flows(*_ends(pairs), np.concatenate(starts), np.concatenate(links), np.concatenate(parts))


def from_crossings(each: Crossings, pairs: Pairs) -> Flows:
    """The flows of the pairs, whose links a scheme computes pair by pair."""
    singly = Pairs(pairs.destinations, tuple(map(pairs.of, range(len(pairs.destinations)))))
    sources, destinations = _ends(singly)
    start, links, shares = each(sources, destinations)
    return Flows(sources, destinations, start, links, shares)


def _ends(pairs: Pairs) -> tuple[IntArray, IntArray]:
    return np.concatenate(pairs.sources), np.repeat(pairs.destinations, [len(s) for s in pairs.sources])


@compiled
def _add_up(links: IntArray, shares: Floats, size: int) -> Floats:
    """As numpy's bincount, without its copies; a single share applies to all links."""
    total = np.zeros(size)
    for i in range(len(links)):
        total[links[i]] += shares[i] if len(shares) > 1 else shares[0]
    return total


@threaded
def _links_along(out: IntArray, row: Longs, sources: IntArray, start: Longs, peer: IntArray) -> IntArray:
    """The links of all flows, one flow after the other."""
    links = np.empty(start[-1], np.int32)
    for flow in numba.prange(len(sources)):
        at = sources[flow]
        for i in range(start[flow], start[flow + 1]):
            links[i] = out[row[flow], at]
            at = peer[links[i]]
    return links


def _from_chain(explorer: Explorer, pairs: Pairs) -> Flows:
    """Flows of one pair are alike: the chain has its sources once."""
    parts: list[Flows] = []
    for position, to in enumerate(pairs.destinations.tolist()):
        sources, flow = np.unique(pairs.of(position), return_inverse=True)
        counts, links, shares = explorer.chain(to, sources).crossings()
        start = np.concatenate([[0], np.cumsum(counts)])
        parts.append(Flows(sources, np.full(len(sources), to), start, links, shares).take(flow))
    counts = np.concatenate([np.diff(one.start) for one in parts])
    links, shares = np.concatenate([one.links for one in parts]), np.concatenate([one.shares for one in parts])
    return Flows(*_ends(pairs), np.concatenate([[0], np.cumsum(counts)]), links, shares)
