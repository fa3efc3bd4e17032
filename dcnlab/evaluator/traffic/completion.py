"""Flow completion times by flow-level simulation: at every moment the flows share the links max-min fairly.

Each flow is hashed to a path, as a lab would assign it, unless another model is asked for
(:mod:`dcnlab.evaluator.traffic.flow_model`).  Rates change when a flow begins or ends.  There are no packets:
no slow start, no queues and no losses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from addressing.jit import compiled
from addressing.scheme import Scheme
from dcnlab.evaluator.routing.path_lengths import FailureKnowledge
from dcnlab.evaluator.traffic.capacities import port_capacities
from dcnlab.evaluator.traffic.flow_model import HASHED, FlowModel, route
from dcnlab.evaluator.traffic.flows import Offsets
from dcnlab.evaluator.traffic.throughput import rates_by_row
from dcnlab.traffic.completion import SizeBin, ideal, summarise, wire_bits
from dcnlab.traffic.patterns import Traffic
from dcnlab.traffic.workload import Workload
from topos.graph import ALL_UP, IntArray, LinkState

Floats = NDArray[np.float64]
#: Bits, and their share of a flow, that count as none: what rounding leaves of a flow that has ended.
_NO_BITS, _NO_SHARE = 1e-3, 1e-12


@dataclass(frozen=True, eq=False)
class Completion:
    """Seconds from each flow's beginning to its end, NaN where it is not delivered; and what the busiest link
    gets, as a multiple of what it carries while flows arrive."""

    seconds: Floats
    busiest: float


def completion_times(
    scheme: Scheme,
    workload: Workload,
    rate: float,
    seed: int = 1,
    down: LinkState = ALL_UP,
    *,
    model: FlowModel = HASHED,
    failure_knowledge: FailureKnowledge = "yes",
) -> Completion:
    """When flows end on links of ``rate`` bits per second, times what the topology's file states."""
    pairs = Traffic("", workload.source, workload.destination, np.ones(len(workload)))
    routed = route(scheme, pairs, model, seed, down, failure_knowledge=failure_knowledge)
    seconds, delivered = np.full(len(workload), np.nan), routed.delivered
    if not delivered.any():
        return Completion(seconds, 0.0)
    some = routed.select(delivered)
    begin, bits = workload.begin[delivered], wire_bits(workload.size[delivered])
    used, links = np.unique(some.links, return_inverse=True)
    capacities = rate * port_capacities(scheme.fabric)[used]
    shares = some.shares if len(some.shares) else np.ones(1)
    crossed = links.astype(np.int32)
    ends = share_links(some.start, crossed, begin, bits, capacities, shares, some.subflows)
    seconds[delivered] = ends - begin
    loads = some.scaled(bits).loads(len(scheme.fabric.adjacency.peer))[used]
    return Completion(seconds, _utilisation(loads / capacities, begin))


def _utilisation(busy: Floats, begin: Floats) -> float:
    """The seconds that the busiest link needs, by those in which flows begin; 0 where all begin at once."""
    during = float(begin.max()) if len(begin) else 0.0
    return float(busy.max()) / during if during else 0.0


def predict(
    scheme: Scheme,
    workload: Workload,
    rate: float,
    seed: int = 1,
    down: LinkState = ALL_UP,
    *,
    base: Floats | float = 0.0,
    failure_knowledge: FailureKnowledge = "yes",
) -> tuple[SizeBin, ...]:
    """Completion times and slowdowns of a workload by flow size; ``base`` seconds are part of every time."""
    found = completion_times(scheme, workload, rate, seed, down, failure_knowledge=failure_knowledge)
    return summarise(workload.size, found.seconds + base, ideal(workload.size, rate, base))


@compiled
def share_links(
    start: Offsets,
    links: IntArray,
    begin: Floats,
    bits: Floats,
    capacities: Floats,
    shares: Floats,
    subflows: int,
) -> Floats:
    """When each flow ends.

    Row r crosses ``links[start[r]:start[r + 1]]`` with ``shares`` of its flow on each (a single share holds for
    all links); flow i has rows ``subflows * i`` and following, and begins at ``begin[i]`` (ascending).
    ``capacities`` are in bits per second.
    """
    ends = np.zeros(len(begin))
    active, left = np.empty(len(begin), np.int64), bits.copy()
    count, admitted, now = 0, 0, 0.0
    while count or admitted < len(begin):
        if not count:
            now = begin[admitted]
        while admitted < len(begin) and begin[admitted] <= now:
            active[count] = admitted
            count += 1
            admitted += 1
        rates = _rates(start, links, shares, active[:count], capacities, subflows)
        needed = left[active[:count]] / rates
        first = needed.argmin()
        until = now + needed[first]
        arrives = admitted < len(begin) and begin[admitted] < until
        until = begin[admitted] if arrives else until
        kept = 0
        for i in range(count):
            flow = active[i]
            left[flow] -= rates[i] * (until - now)
            if (i == first and not arrives) or left[flow] <= max(_NO_BITS, _NO_SHARE * bits[flow]):
                ends[flow] = until
            else:
                active[kept] = flow
                kept += 1
        count, now = kept, until
    return ends


@compiled
def _rates(
    start: Offsets, links: IntArray, shares: Floats, active: Offsets, capacities: Floats, subflows: int
) -> Floats:
    """The max-min fair rates of some flows."""
    own = np.zeros(len(active) * subflows + 1, np.int64)
    for i in range(len(own) - 1):
        row = active[i // subflows] * subflows + i % subflows
        own[i + 1] = own[i] + start[row + 1] - start[row]
    crossed = np.empty(own[-1], np.int32)
    parts = np.empty(own[-1] if len(shares) > 1 else 1)
    parts[0] = shares[0]
    for i in range(len(own) - 1):
        row = active[i // subflows] * subflows + i % subflows
        crossed[own[i] : own[i + 1]] = links[start[row] : start[row + 1]]
        if len(shares) > 1:
            parts[own[i] : own[i + 1]] = shares[start[row] : start[row + 1]]
    by_row = rates_by_row(own, crossed, parts, capacities)
    rates = np.zeros(len(active))
    for i in range(len(by_row)):
        rates[i // subflows] += by_row[i] / subflows
    return rates
