"""Flow completion times by flow-level simulation: at every moment the flows share the links max-min fairly.

Each flow takes one path, drawn by the weights of the scheme's next hops, as a hash would assign it.  Rates
change when a flow begins or ends.  There are no packets: no slow start, no queues and no losses.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from addressing.jit import compiled
from addressing.scheme import Scheme
from dcnlab.evaluator.routing.path_lengths import FailureKnowledge
from dcnlab.evaluator.routing.sampled_paths import sample_paths
from dcnlab.evaluator.traffic.flows import Offsets
from dcnlab.evaluator.traffic.throughput import single_path_rates
from dcnlab.traffic.completion import SizeBin, ideal, summarise, wire_bits
from dcnlab.traffic.workload import Workload
from topos.graph import ALL_UP, NONE, IntArray, LinkState

Floats = NDArray[np.float64]
#: The most links of a path.
_TTL = 255
#: Bits, and their share of a flow, that count as none: what rounding leaves of a flow that has ended.
_NO_BITS, _NO_SHARE = 1e-3, 1e-12


def completion_times(
    scheme: Scheme,
    workload: Workload,
    rate: float,
    seed: int = 1,
    down: LinkState = ALL_UP,
    *,
    failure_knowledge: FailureKnowledge = "yes",
) -> Floats:
    """Seconds from each flow's beginning to its end on links of ``rate`` bits per second; NaN where a flow is
    not delivered."""
    paths = sample_paths(
        scheme, workload.source, workload.destination, seed, _TTL, down, failure_knowledge=failure_knowledge
    )
    seconds = np.full(len(workload), np.nan)
    which = np.flatnonzero(paths.delivered)
    if len(which):
        crossed = paths.links[which]
        used, links = np.unique(crossed[crossed != NONE], return_inverse=True)
        start = np.concatenate([[0], np.cumsum((crossed != NONE).sum(axis=1))])
        begin, bits = workload.begin[which], wire_bits(workload.size[which])
        ends = share_links(start, links.astype(np.int32), begin, bits, np.full(len(used), rate))
        seconds[which] = ends - begin
    return seconds


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
    seconds = completion_times(scheme, workload, rate, seed, down, failure_knowledge=failure_knowledge) + base
    return summarise(workload.size, seconds, ideal(workload.size, rate, base))


@compiled
def share_links(start: Offsets, links: IntArray, begin: Floats, bits: Floats, capacities: Floats) -> Floats:
    """When each flow ends.

    Flow i crosses ``links[start[i]:start[i + 1]]`` and begins at ``begin[i]`` (ascending); ``capacities``
    are in bits per second.
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
        rates = _rates(start, links, active[:count], capacities)
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
def _rates(start: Offsets, links: IntArray, active: Offsets, capacities: Floats) -> Floats:
    """The max-min fair rates of some flows."""
    own = np.zeros(len(active) + 1, np.int64)
    for i in range(len(active)):
        own[i + 1] = own[i] + start[active[i] + 1] - start[active[i]]
    crossed = np.empty(own[-1], np.int32)
    for i in range(len(active)):
        crossed[own[i] : own[i + 1]] = links[start[active[i]] : start[active[i] + 1]]
    return single_path_rates(own, crossed, capacities)
