"""How much each directed link carries, without listing the paths: one pass per destination.

Traffic for a destination flows down a tree (one next hop) or a graph without cycles
(even splits); summing it from the farthest nodes inwards takes time in the number of
links, not of paths.
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
from dcnlab.evaluator.routing.forms import Rule, Shares, SourceRoutes
from dcnlab.evaluator.routing.markov import explore
from dcnlab.evaluator.routing.path_lengths import FailureKnowledge, arrival_cost, with_failure_knowledge
from dcnlab.evaluator.routing.splits import Splits
from dcnlab.evaluator.routing.vectorized import loads_of, rule_of, shares_of, source_routes_of
from dcnlab.evaluator.traffic.flows import crossings
from topos.fabric import Fabric
from topos.graph import ALL_UP, NONE, IntArray, LinkState

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CarriedLoad:
    """What links carry when every pair sends one packet, less those that may be lost: the expected
    number by slot, and how many pairs they come from."""

    loads: Floats
    delivered: int

    @property
    def path_mean(self) -> float:
        """Links that a packet crosses; NaN without packets."""
        return float(self.loads.sum()) / self.delivered if self.delivered else math.nan


#: Of a block of pairs.
BlockLoads = Callable[[Pairs], tuple[Floats, int]]


def link_loads(
    scheme: Scheme,
    pairs: Pairs,
    down: LinkState = ALL_UP,
    *,
    failure_knowledge: FailureKnowledge = "yes",
    generic: bool = False,
) -> Floats:
    """Per slot of the fabric, the expected number of packets that it carries when every pair
    sends one; packets that may be lost are left out."""
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
    """As :func:`link_loads`, with the number of pairs whose packets these are: every way is followed once."""
    bound, known_down = with_failure_knowledge(scheme, down, failure_knowledge)
    rule = None if generic else rule_of(bound, known_down)
    source_routes = None if generic else source_routes_of(bound, known_down)
    shares = None if generic else shares_of(bound, known_down)
    load = _from_rule(bound, down, known_down)
    if rule is not None:
        load = _followed(bound, rule, down)
    elif source_routes is not None:
        load = _traced(bound, source_routes, down)
    elif shares is not None:
        load = _split(bound.fabric, shares, down)
    total, delivered = np.zeros(len(scheme.fabric.adjacency.peer)), 0
    for part in pairs.chunks(_block(scheme.fabric.size)):
        loads, count = load(part)
        total, delivered = total + loads, delivered + count
    return CarriedLoad(total, delivered)


def _demand(part: Pairs, size: int) -> NDArray[np.int32]:
    """``[i, v]``: packets from v to the i-th destination; a single row where all have the same sources."""
    demand = np.zeros((len(part.sources), size), dtype=np.int32)
    for i, sources in enumerate(part.sources):
        demand[i, sources] = 1
    return demand


def _from_rule(scheme: Scheme, down: LinkState, known_down: LinkState) -> BlockLoads:
    cost = arrival_cost(scheme.fabric, "links")

    def load(part: Pairs) -> tuple[Floats, int]:
        total, delivered = np.zeros(len(scheme.fabric.adjacency.peer)), 0
        for i, to in enumerate(part.destinations.tolist()):
            sources = [s for s in part.of(i).tolist() if s != to]
            chain = explore(scheme, to, sources, cost, down, known_down)
            for source in sources:
                crossed = crossings(chain, source)
                delivered += bool(crossed)
                for slot, share in crossed.items():
                    total[slot] += share
        return total, delivered

    return load


def _traced(scheme: Scheme, source_routes: SourceRoutes, down: LinkState) -> BlockLoads:
    usable = live_links(scheme.fabric, down)

    def load(part: Pairs) -> tuple[Floats, int]:
        total, delivered = np.zeros(len(usable)), 0
        for i, to in enumerate(part.destinations.tolist()):
            sources = part.of(i)[part.of(i) != to]
            slots = source_routes(sources, np.full(len(sources), to, dtype=np.int32))
            delivered += _add_whole(total, slots, usable)
        return total, delivered

    return load


@compiled
def _add_whole(total: Floats, slots: IntArray, usable: NDArray[np.bool_]) -> int:
    """Count the ways that are whole in ``total``, by slot; returns how many they are."""
    count = 0
    for row in slots:
        length = 0
        while length < len(row) and row[length] != NONE and usable[row[length]]:
            length += 1
        if length == 0 or (length < len(row) and row[length] != NONE):
            continue
        count += 1
        for slot in row[:length]:
            total[slot] += 1
    return count


def _split(fabric: Fabric, shares: Shares, down: LinkState) -> BlockLoads:
    def load(part: Pairs) -> tuple[Floats, int]:
        split, demand = Splits.of(fabric, shares, part.destinations, down), _demand(part, fabric.size)
        return split.loads(demand), split.delivered(demand)

    return load


def _followed(scheme: Scheme, rule: Rule, down: LinkState) -> BlockLoads:
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
    """How many destinations at a time."""
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
            # All but the destination, the farthest first.
            for node in order[1:count][::-1]:
                slot = out[i, node]
                loads[thread, slot] += mass[node]
                mass[peer[slot]] += mass[node]
    return loads
