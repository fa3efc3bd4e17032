"""The optimum of a traffic pattern, and what share of it a scheme's own routes carry."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from addressing.registry import bind
from addressing.scheme import Scheme
from dcnlab.evaluator.graph.failures import Failures
from dcnlab.evaluator.graph.pairs import choose
from dcnlab.evaluator.optimum.problem import Demands, Problem, problem_of
from dcnlab.evaluator.optimum.restricted import Limit, read_limit
from dcnlab.evaluator.optimum.search import Progress, unfollowed
from dcnlab.evaluator.optimum.shortest import split_evenly
from dcnlab.evaluator.optimum.solve import Optimum, solve
from dcnlab.evaluator.routing.path_lengths import FailureKnowledge
from dcnlab.evaluator.traffic.capacities import link_capacities, port_capacities
from dcnlab.evaluator.traffic.flow_model import SPLIT, FlowModel, draws, route
from dcnlab.evaluator.traffic.flow_model import read as read_flows
from dcnlab.evaluator.traffic.flows import Flows
from dcnlab.evaluator.traffic.flows import flows as split_flows
from dcnlab.evaluator.traffic.loads import carried_load
from dcnlab.traffic.patterns import Traffic, traffic
from topos.arrays import Floats
from topos.fabric import Fabric
from topos.graph import ALL_UP, LinkState
from topos.spec import SpecError

#: Nothing has failed.
NO_FAILURES = Failures()
#: The name that stands for the optimum among schemes.
OPTIMAL = "optimal"
#: The least and the largest gap to ask for.
_GAPS = (0.0001, 0.5)


@dataclass(frozen=True, eq=False)
class Beside:
    """The optimum of a demand in which the busiest server sends, or receives, one unit.

    ``optimum`` bounds theta, the largest multiple of the demand that any routing carries at once.  So does
    ``volume_bound``: the capacity of all links over the hops that the demand takes at least.
    """

    optimum: Optimum
    volume_bound: float

    def as_dict(self) -> dict[str, Any]:
        """The figures as JSON."""
        return {
            "lower": self.optimum.lower,
            "upper": self.optimum.upper,
            "gap": self.optimum.gap,
            "method": self.optimum.method,
            "rounds": self.optimum.rounds,
            "interrupted": self.optimum.interrupted,
            "unreachable": self.optimum.problem.unreachable,
            "volume_bound": self.volume_bound,
        }

    def share(self, theta: float) -> tuple[float, float]:
        """At least and at most so much of the optimum is ``theta``."""
        return theta / self.optimum.upper, theta / self.optimum.lower


def optimum_of(
    fabric: Fabric,
    wanted: Traffic,
    down: LinkState = ALL_UP,
    gap: float = 0.01,
    *,
    limit: Limit | None = None,
    progress: Progress = unfollowed,
) -> Beside:
    """The optimum of ``wanted`` while ``down`` is down; raises SpecError where it is too large."""
    demands = Demands.of(fabric.size, wanted.sources, wanted.destinations, normalised(wanted))
    problem = problem_of(fabric, demands, down, link_capacities(fabric))
    try:
        optimum = solve(problem, gap, limit=limit, progress=progress)
    except (ValueError, MemoryError) as error:
        raise SpecError(f"optimum: {error}") from None
    return Beside(optimum, volume_bound(problem))


def without_optimal(schemes: Sequence[str]) -> tuple[list[str], bool]:
    """The schemes that route, and whether the optimum was among them."""
    return [name for name in schemes if name != OPTIMAL], OPTIMAL in schemes


def read_gap(text: str) -> float:
    """Parse ``1%`` or ``0.01``; raises SpecError with one line."""
    number = text.removesuffix("%")
    try:
        share = float(number) / (100 if number != text else 1)
    except ValueError:
        share = math.nan
    if not _GAPS[0] <= share <= _GAPS[1]:
        raise SpecError(f"gap: {text!r}: write a share from {_GAPS[0]:.2%} to {_GAPS[1]:.0%}, such as 1%")
    return share


def volume_bound(problem: Problem) -> float:
    """Capacity over demand times hops: the throughput-centric bound of Namyar et al. (SIGCOMM 2021) for this
    demand."""
    if not len(problem.demands):
        return problem.limit
    hops = split_evenly(problem.network, problem.demands, np.ones(len(problem.network.head)))[1]
    return min(problem.limit, float(problem.network.capacity.sum()) / hops)


def normalised(wanted: Traffic) -> Floats:
    """The amounts, scaled so that the busiest server sends, or receives, 1."""
    if not len(wanted):
        return wanted.amounts
    busiest = max(np.bincount(ends, wanted.amounts).max() for ends in (wanted.sources, wanted.destinations))
    return np.asarray(wanted.amounts / busiest)


def theta_of(fabric: Fabric, routed: Flows, wanted: Traffic, unreachable: int = 0) -> float:
    """The multiple of the demand that the routes carry: 1 over the largest load of a link by its capacity.

    ``wanted`` is in the order of ``routed``.  NaN where a flow that has a path is not delivered.
    """
    lost = np.logical_not(routed.delivered)
    pairs = np.unique(routed.sources[lost].astype(np.int64) * fabric.size + routed.destinations[lost])
    if len(pairs) > unreachable or lost.all():
        return math.nan
    loads = routed.scaled(normalised(wanted)).loads(len(fabric.adjacency.peer))
    return 1 / float((loads / port_capacities(fabric)).max())


def scheme_theta(
    scheme: Scheme,
    wanted: Traffic,
    failed: Failures = NO_FAILURES,
    unreachable: int = 0,
    failure_knowledge: FailureKnowledge = "yes",
    model: FlowModel = SPLIT,
    seed: int = 1,
) -> float:
    """The theta of a scheme under ``wanted``, which is sorted by destination; see :func:`theta_of`.

    ``seed`` draws the paths of hashed flows.  All-to-all traffic of others is added up link by link, since a
    list of all its paths can take gigabytes.
    """
    fabric = scheme.fabric
    if draws(scheme, model, failed.links, failure_knowledge):
        routed = route(scheme, wanted, model, seed, failed.links, failure_knowledge=failure_knowledge)
        return theta_of(fabric, routed, wanted, unreachable)
    if wanted.name != "all-to-all":
        routed = split_flows(scheme, wanted, failed.links, failure_knowledge=failure_knowledge)
        return theta_of(fabric, routed, wanted, unreachable)
    pairs = choose(fabric, "servers", 0, failed.nodes)
    carried = carried_load(scheme, pairs, failed.links, failure_knowledge=failure_knowledge)
    if carried.delivered + unreachable < len(wanted) or not carried.delivered:
        return math.nan
    return 1 / float((carried.loads * normalised(wanted)[0] / port_capacities(fabric)).max())


def thetas(
    fabric: Fabric,
    schemes: Sequence[str],
    pattern: str,
    seed: int = 1,
    flows: str = "hashed",
    gap: str = "1%",
    paths: str = "",
) -> dict[str, float]:
    """The theta of each scheme under a traffic pattern; ``optimal`` is the optimum's lower bound.

    Raises SpecError with one line.
    """
    model, share, limit = read_flows(flows), read_gap(gap), read_limit(paths)
    wanted = traffic(fabric, pattern, seed).by_destination()
    thetas = {}
    for name in schemes:
        if name == OPTIMAL:
            thetas[name] = optimum_of(fabric, wanted, gap=share, limit=limit).optimum.lower
        else:
            thetas[name] = scheme_theta(bind(name, fabric), wanted, model=model, seed=seed)
    return thetas
