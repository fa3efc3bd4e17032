"""Flow completion times by flow-level simulation: at every moment the flows share the links max-min fairly.

Each flow is hashed to a path, as a lab would assign it, unless another model is asked for
(:mod:`dcnlab.evaluator.traffic.flow_model`).  Rates change when a flow begins or ends.  There are no packets:
no slow start, no queues and no losses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from addressing.scheme import Scheme
from dcnlab.evaluator.routing.path_lengths import FailureKnowledge
from dcnlab.evaluator.traffic.capacities import port_capacities
from dcnlab.evaluator.traffic.flow_model import HASHED, FlowModel, route
from dcnlab.evaluator.traffic.sharing import share_links
from dcnlab.traffic.completion import wire_bits
from dcnlab.traffic.patterns import Traffic
from dcnlab.traffic.workload import Workload
from topos.arrays import Floats
from topos.graph import ALL_UP, LinkState


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
    done: Callable[[float], None] = lambda share: None,
) -> Completion:
    """When flows end on links of ``rate`` bits per second, times what the topology's file states.

    ``done`` hears now and then which share of the flows has ended.
    """
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
    ends = share_links(some.start, crossed, begin, bits, capacities, shares, some.subflows, done)
    seconds[delivered] = ends - begin
    loads = some.scaled(bits).loads(len(scheme.fabric.adjacency.peer))[used]
    return Completion(seconds, _utilisation(loads / capacities, begin))


def _utilisation(busy: Floats, begin: Floats) -> float:
    """The seconds that the busiest link needs, by those in which flows begin; 0 where all begin at once."""
    during = float(begin.max()) if len(begin) else 0.0
    return float(busy.max()) / during if during else 0.0
