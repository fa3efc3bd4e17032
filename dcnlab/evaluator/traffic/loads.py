"""Load of each directed link, in one pass per destination, without listing the paths.

Traffic for a destination flows along a tree (one next hop) or an acyclic graph (weighted next
hops).  Summing it from the farthest nodes inwards takes time in the number of links, not of
paths.
"""

from __future__ import annotations

import math
from collections.abc import Callable
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
from dcnlab.evaluator.routing.vectorized import Forms, crossings_of, forms_of, loads_of
from dcnlab.evaluator.traffic.flows import from_crossings
from topos.arrays import Floats
from topos.fabric import Fabric
from topos.graph import ALL_UP, NONE, IntArray, LinkState


@dataclass(frozen=True, eq=False)
class CarriedLoad:
    """Link loads when every pair sends one packet, without the packets that may be lost.

    ``loads`` is the expected number of packets per directed link, ``delivered`` the number of
    pairs that they belong to.
    """

    loads: Floats
    delivered: int

    @property
    def path_mean(self) -> float:
        """The mean number of links that a packet crosses; NaN without packets."""
        return float(self.loads.sum()) / self.delivered if self.delivered else math.nan


#: (loads, delivered) of a block of pairs.
BlockLoads = Callable[[Pairs], tuple[Floats, int]]


def link_loads(
    scheme: Scheme,
    pairs: Pairs,
    down: LinkState = ALL_UP,
    *,
    failure_knowledge: FailureKnowledge = "yes",
    generic: bool = False,
) -> Floats:
    """Per directed link the expected number of packets when every pair sends one, without the
    packets that may be lost."""
    whole = None if generic else loads_of(with_failure_knowledge(scheme, down, failure_knowledge)[0], down)
    return (
        carried_load(scheme, pairs, down, failure_knowledge=failure_knowledge, generic=generic).loads
        if whole is None
        else whole(pairs)
    )


def carried_load(
    scheme: Scheme,
    pairs: Pairs,
    down: LinkState = ALL_UP,
    *,
    failure_knowledge: FailureKnowledge = "yes",
    generic: bool = False,
) -> CarriedLoad:
    """As :func:`link_loads`, together with the number of pairs delivered, in one pass over the paths."""
    bound, known_down = with_failure_knowledge(scheme, down, failure_knowledge)
    forms = Forms() if generic else forms_of(bound, known_down)
    cost = arrival_cost(bound.fabric, "links")
    load = _from_chain(Explorer(bound, cost, down, known_down, merging=not generic))
    each = None if generic or down else crossings_of(bound, known_down)
    if forms.rule is not None:
        load = _from_next_hops(bound, forms.rule, down)
    elif forms.source_routes is not None:
        load = _from_source_routes(bound, forms.source_routes, down)
    elif forms.shares is not None:
        load = _from_shares(bound.fabric, forms.shares, down)
    elif each is not None:
        load = _from_crossings(bound.fabric, each)
    total, delivered = np.zeros(len(scheme.fabric.adjacency.peer)), 0
    for part in pairs.chunks(_block(scheme.fabric.size)):
        loads, count = load(part)
        total, delivered = total + loads, delivered + count
    return CarriedLoad(total, delivered)


def _demand(part: Pairs, size: int) -> NDArray[np.int32]:
    """``[i, v]``: packets from v to the i-th destination; a single row where they share their sources."""
    demand = np.zeros((len(part.sources), size), dtype=np.int32)
    for i, sources in enumerate(part.sources):
        demand[i, sources] = 1
    return demand


def _from_chain(explorer: Explorer) -> BlockLoads:
    def load(part: Pairs) -> tuple[Floats, int]:
        total, delivered = np.zeros(len(explorer.usable)), 0
        for i, to in enumerate(part.destinations.tolist()):
            loads, arrived = explorer.chain(to, part.of(i)[part.of(i) != to]).loads(len(total))
            total, delivered = total + loads, delivered + arrived
        return total, delivered

    return load


def _from_source_routes(scheme: Scheme, source_routes: SourceRoutes, down: LinkState) -> BlockLoads:
    usable = live_links(scheme.fabric, down)

    def load(part: Pairs) -> tuple[Floats, int]:
        total, delivered = np.zeros(len(usable)), 0
        for i, to in enumerate(part.destinations.tolist()):
            sources = part.of(i)[part.of(i) != to]
            links = source_routes(sources, np.full(len(sources), to, dtype=np.int32))
            delivered += _add_whole(total, links, usable)
        return total, delivered

    return load


@compiled
def _add_whole(total: Floats, links: IntArray, usable: NDArray[np.bool_]) -> int:
    """Add the intact routes to ``total``, by link; returns their number."""
    count = 0
    for row in links:
        length = 0
        while length < len(row) and row[length] != NONE and usable[row[length]]:
            length += 1
        if length == 0 or (length < len(row) and row[length] != NONE):
            continue
        count += 1
        for link in row[:length]:
            total[link] += 1
    return count


def _from_shares(fabric: Fabric, shares: Shares, down: LinkState) -> BlockLoads:
    def load(part: Pairs) -> tuple[Floats, int]:
        split, demand = Splits.of(fabric, shares, part.destinations, down), _demand(part, fabric.size)
        return split.loads(demand), split.delivered(demand)

    return load


def _from_crossings(fabric: Fabric, each: Crossings) -> BlockLoads:
    def load(part: Pairs) -> tuple[Floats, int]:
        total, delivered = np.zeros(len(fabric.adjacency.peer)), 0
        for some in part.chunks(16):
            flows = from_crossings(each, some)
            total += flows.loads(len(total))
            delivered += int(flows.delivered.sum())
        return total, delivered

    return load


def _from_next_hops(scheme: Scheme, rule: Rule, down: LinkState) -> BlockLoads:
    fabric = scheme.fabric
    usable, cost = live_links(fabric, down), arrival_cost(fabric, "links")
    first = next_hops.uplinks(fabric, usable)

    def load(part: Pairs) -> tuple[Floats, int]:
        out = rule(part.destinations)
        out[:, : len(first)] = first
        hops = next_hops.hops_to(out, part.destinations, fabric.adjacency.peer, usable, cost, first)
        demand, longest = _demand(part, fabric.size), int(hops.max(initial=0))
        loads = _down_trees(out, hops, longest, demand, fabric.adjacency.peer, numba.get_num_threads())
        arrived = (hops != next_hops.LOST) & (demand > 0)
        arrived[np.arange(len(hops)), part.destinations] = False
        return np.asarray(loads.sum(axis=0)), int(np.count_nonzero(arrived))

    return load


def _block(size: int) -> int:
    """The number of destinations per block."""
    return max(1, min(512, (1 << 24) // max(1, size)))


@threaded
def _down_trees(
    out: IntArray, hops: IntArray, longest: int, demand: IntArray, peer: IntArray, threads: int
) -> Floats:
    loads = np.zeros((threads, len(peer)))
    for thread in numba.prange(threads):
        order = np.empty(hops.shape[1], np.uint32)
        for i in range(thread, len(hops), threads):
            mass = demand[i if len(demand) > 1 else 0].astype(np.float64)
            count = next_hops.by_level(order, hops[i], longest)
            # All nodes but the destination, the farthest first.
            for node in order[1:count][::-1]:
                link = out[i, node]
                loads[thread, link] += mass[node]
                mass[peer[link]] += mass[node]
    return loads
