"""How much each directed link carries, without listing the paths: one pass per destination.

Traffic for a destination flows down a tree (one next hop) or a graph without cycles
(even splits); summing it from the farthest nodes inwards takes time in the number of
links, not of paths.
"""

from __future__ import annotations

from collections.abc import Callable

import numba
import numpy as np
from numpy.typing import NDArray

from addressing.scheme import Scheme
from evaluator import chase
from evaluator.adjacency import live_slots
from evaluator.flows import crossings
from evaluator.jit import threaded
from evaluator.pairs import Pairs
from evaluator.routed import Aware, arrival_cost, informed
from evaluator.splits import Splits
from evaluator.states import explore
from evaluator.vector import Rule, Shares, Ways, loads_of, rule_of, shares_of, ways_of
from topos.graph import ALL_UP, NONE, Fabric, IntArray, LinkState

Floats = NDArray[np.float64]
#: Loads of a block of pairs.
Loader = Callable[[Pairs], Floats]


def link_loads(
    scheme: Scheme, pairs: Pairs, down: LinkState = ALL_UP, *, aware: Aware = "yes", generic: bool = False
) -> Floats:
    """Per slot of the fabric, the expected number of packets that it carries when every pair
    sends one; packets that may be lost are left out."""
    bound, seen = informed(scheme, down, aware)
    whole = None if generic else loads_of(bound, down)
    if whole is not None:
        return whole(pairs)
    rule = None if generic else rule_of(bound, seen)
    ways = None if generic else ways_of(bound, seen)
    shares = None if generic else shares_of(bound, seen)
    load = _asked(bound, down, seen)
    if rule is not None:
        load = _followed(bound, rule, down)
    elif ways is not None:
        load = _traced(bound, ways, down)
    elif shares is not None:
        load = _split(bound.fabric, shares, down)
    total = np.zeros(len(scheme.fabric.slots.peer))
    for part in pairs.chunks(_block(scheme.fabric.size)):
        total += load(part)
    return total


def _demand(part: Pairs, size: int) -> NDArray[np.int32]:
    """``[i, v]``: packets from v to the i-th destination; a single row where all have the same sources."""
    demand = np.zeros((len(part.sources), size), dtype=np.int32)
    for i, sources in enumerate(part.sources):
        demand[i, sources] = 1
    return demand


def _asked(scheme: Scheme, down: LinkState, seen: LinkState) -> Loader:
    cost = arrival_cost(scheme.fabric, "links")

    def load(part: Pairs) -> Floats:
        total = np.zeros(len(scheme.fabric.slots.peer))
        for i, to in enumerate(part.destinations.tolist()):
            sources = [s for s in part.of(i).tolist() if s != to]
            chain = explore(scheme, to, sources, cost, down, seen)
            for source in sources:
                for slot, share in crossings(chain, source).items():
                    total[slot] += share
        return total

    return load


def _traced(scheme: Scheme, ways: Ways, down: LinkState) -> Loader:
    usable = np.append(live_slots(scheme.fabric, down), True)

    def load(part: Pairs) -> Floats:
        total = np.zeros(len(usable))
        for i, to in enumerate(part.destinations.tolist()):
            sources = part.of(i)[part.of(i) != to]
            slots = ways(sources, np.full(len(sources), to, dtype=np.int32))
            whole = slots[usable[slots].all(axis=1)]
            total += np.bincount(whole[whole != NONE], minlength=len(total))
        return total[:-1]

    return load


def _split(fabric: Fabric, shares: Shares, down: LinkState) -> Loader:
    def load(part: Pairs) -> Floats:
        return Splits.of(fabric, shares, part.destinations, down).loads(_demand(part, fabric.size))

    return load


def _followed(scheme: Scheme, rule: Rule, down: LinkState) -> Loader:
    fabric = scheme.fabric
    usable, cost = live_slots(fabric, down), arrival_cost(fabric, "links")
    first = chase.uplinks(fabric, usable)

    def load(part: Pairs) -> Floats:
        out = rule(part.destinations)
        out[:, : len(first)] = first
        hops = chase.hops_to(out, part.destinations, fabric.slots.peer, usable, cost, first)
        demand, longest = _demand(part, fabric.size), int(hops.max(initial=0))
        loads = _down_trees(out, hops, longest, demand, fabric.slots.peer, numba.get_num_threads())
        return np.asarray(loads.sum(axis=0))

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
            count = chase.by_level(order, hops[i], longest)
            # All but the destination, the farthest first.
            for node in order[1:count][::-1]:
                slot = out[i, node]
                loads[thread, slot] += mass[node]
                mass[peer[slot]] += mass[node]
    return loads
