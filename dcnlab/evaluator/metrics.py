"""Further metrics of a fabric or of a scheme on it, found by name.

``evaluate(..., metrics=("latency",))`` and ``compare --metrics latency`` compute them on request
only.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar, get_args

from addressing.scheme import Scheme
from dcnlab.evaluator.graph.bisection import bisection
from dcnlab.evaluator.graph.connectivity import connectivity
from dcnlab.evaluator.graph.failures import Failures
from dcnlab.evaluator.graph.hyperbolicity import hyperbolicity
from dcnlab.evaluator.graph.pairs import choose
from dcnlab.evaluator.graph.paths.path_diversity import between_switches, path_diversity
from dcnlab.evaluator.optimum.beside import Beside, optimum_of, read_gap, scheme_theta
from dcnlab.evaluator.optimum.restricted import read_limit
from dcnlab.evaluator.routing.forms import Done
from dcnlab.evaluator.routing.path_lengths import FailureKnowledge
from dcnlab.evaluator.statistics import t_quantile
from dcnlab.evaluator.traffic import flow_model
from dcnlab.evaluator.traffic.completion import completion_times
from dcnlab.evaluator.traffic.flow_model import HASHED, FlowModel
from dcnlab.evaluator.traffic.flows import Flows
from dcnlab.evaluator.traffic.latency import NO_FAILURES, FlowControl, Settings, simulate
from dcnlab.evaluator.traffic.loads import link_loads
from dcnlab.evaluator.traffic.throughput import throughput
from dcnlab.traffic import patterns, sizes, workload
from dcnlab.traffic.completion import ideal, summarise
from dcnlab.traffic.patterns import traffic
from topos.fabric import Fabric
from topos.spec import SpecError

#: Numbers, and for fct ``bins``: the figures by flow size.
Figures = Mapping[str, Any]
#: Called with what is computed now, and the share of it that is done, from 0 to 1; None if it is not known.
Progress = Callable[[str, float | None], None]
_Of = TypeVar("_Of", Fabric, Scheme)
#: Bounds of the load: more packets do not fit into memory, and a smaller load has no packets.
_LOADS = (1e-6, 100.0)
#: The number of random pairs of servers whose edge-disjoint paths are counted.
_PAIRS = 100
#: The loads of more links would take hours, and over 4 GB.
_MOST_LOADED = 10_000_000


@dataclass(frozen=True)
class Conditions:
    """The conditions of a measurement.

    ``traffic`` and ``flows`` (:mod:`dcnlab.evaluator.traffic.flow_model`) apply to throughput, share, latency
    and fct, ``load`` to latency and fct, ``flow_control`` to latency; ``sizes``, ``seconds`` and the link
    ``rate`` (bits per second) to fct; ``gap`` and ``paths`` to optimum and share.
    """

    seed: int = 1
    failed: Failures = NO_FAILURES
    failure_knowledge: FailureKnowledge = "yes"
    traffic: str = "all-to-all"
    load: float = 0.5
    flow_control: FlowControl = "none"
    sizes: str = "fixed:1M"
    seconds: float = 10.0
    rate: float = 1e9
    flows: str = str(HASHED)
    gap: str = "1%"
    paths: str = ""

    @property
    def flow_model(self) -> FlowModel:
        """How a flow uses several paths."""
        return flow_model.read(self.flows)

    def routed(self, scheme: Scheme, wanted: patterns.Traffic) -> Flows:
        """The paths of some flows under these conditions."""
        return flow_model.route(
            scheme, wanted, self.flow_model, self.seed, self.failed.links,
            failure_knowledge=self.failure_knowledge,
        )  # fmt: skip

    def beside(self, fabric: Fabric) -> Beside:
        """The optimum under these conditions."""
        return _beside(fabric, self.traffic, self.seed, self.failed, self.gap, self.paths)

    @property
    def demand(self) -> workload.Demand:
        """The flows whose completion times are computed."""
        return workload.Demand(self.traffic, self.sizes, self.load, self.seconds, self.rate, seed=self.seed)


def _bisection(fabric: Fabric, conditions: Conditions, done: Done) -> Figures:
    result = bisection(fabric, conditions.seed, failed=conditions.failed)
    return {
        "found": result.cut,
        "bound": result.bound,
        "spectral_bound": result.spectral,
        "flow_bound": result.flow,
    }


def _diversity(fabric: Fabric, conditions: Conditions, done: Done) -> Figures:
    paths = path_diversity(fabric, _PAIRS, conditions.seed, conditions.failed.links, conditions.failed.nodes)
    between = {"between": "switches" if between_switches(fabric) else "servers"}
    if not len(paths):
        return {"mean": math.nan, "min": math.nan, "confidence_95": math.nan, **between}
    spread = float(paths.std(ddof=1)) / math.sqrt(len(paths))
    half = t_quantile(0.975, len(paths) - 1) * spread
    return {"mean": float(paths.mean()), "min": int(paths.min()), "confidence_95": half, **between}


def _connectivity(fabric: Fabric, conditions: Conditions, done: Done) -> Figures:
    """Disjoint paths, edge connectivity, interference, spectral gap and conductance."""
    failed = conditions.failed
    return asdict(connectivity(fabric, conditions.seed, failed.links, failed.nodes))


def _hyperbolicity(fabric: Fabric, conditions: Conditions, done: Done) -> Figures:
    """Gromov's delta, by four points."""
    failed = conditions.failed
    return asdict(hyperbolicity(fabric, conditions.seed, failed.links, failed.nodes))


def _loads(scheme: Scheme, conditions: Conditions, done: Done) -> Figures:
    """Loads of the directed links in use when every server sends one packet to every other."""
    pairs = choose(scheme.fabric, "servers", conditions.seed, conditions.failed.nodes)
    loads = link_loads(scheme, pairs, conditions.failed.links, failure_knowledge=conditions.failure_knowledge)
    used = loads[loads > 0]
    return {
        "max": float(used.max(initial=0.0)),
        "mean": float(used.mean()) if len(used) else math.nan,
        "used": len(used),
    }


def _throughput(scheme: Scheme, conditions: Conditions, done: Done) -> Figures:
    pattern = traffic(scheme.fabric, conditions.traffic, conditions.seed, conditions.failed.nodes)
    pattern = pattern.by_destination()
    routed = conditions.routed(scheme, pattern)
    rates = throughput(scheme.fabric, routed, amounts=pattern.amounts if pattern.weighted else None)
    return {
        "flows": len(routed),
        "delivered": rates.delivered,
        "aggregate": rates.aggregate,
        "least": rates.least,
        "abt": rates.abt,
        "flow_model": conditions.flows,
    }


@functools.lru_cache(maxsize=4)
def _beside(fabric: Fabric, pattern: str, seed: int, failed: Failures, gap: str, paths: str) -> Beside:
    """The optimum that all schemes of one evaluation are compared with."""
    wanted = traffic(fabric, pattern, seed, failed.nodes)
    return optimum_of(fabric, wanted, failed.links, read_gap(gap), limit=read_limit(paths))


def _optimum(fabric: Fabric, conditions: Conditions, done: Done) -> Figures:
    """Bounds of theta: the multiple of the traffic that any routing could carry."""
    beside = conditions.beside(fabric)
    shown = ("lower", "upper", "gap", "volume_bound", "unreachable")
    return {name: beside.as_dict()[name] for name in shown}


def _share(scheme: Scheme, conditions: Conditions, done: Done) -> Figures:
    """The scheme's own theta, and what share of the optimum it is at least and at most."""
    seed, failed = conditions.seed, conditions.failed
    beside = conditions.beside(scheme.fabric)
    pattern = traffic(scheme.fabric, conditions.traffic, seed, failed.nodes).by_destination()
    missing, knowledge = beside.optimum.problem.unreachable, conditions.failure_knowledge
    theta = scheme_theta(scheme, pattern, failed, missing, knowledge, conditions.flow_model, seed)
    lower, upper = beside.share(theta)
    return {"theta": theta, "lower": lower, "upper": upper, "flow_model": conditions.flows}


def _latency(scheme: Scheme, conditions: Conditions, done: Done) -> Figures:
    result = simulate(
        scheme, conditions.load, conditions.traffic, conditions.seed,
        Settings(flow_control=conditions.flow_control), failed=conditions.failed,
        failure_knowledge=conditions.failure_knowledge, model=conditions.flow_model,
    )  # fmt: skip
    return {**result.as_dict(), "flow_model": conditions.flows}


def _fct(scheme: Scheme, conditions: Conditions, done: Done) -> Figures:
    """Completion times and slowdowns of flows that share the links max-min fairly."""
    wanted = workload.draw(scheme.fabric, conditions.demand, conditions.failed.nodes)
    times = completion_times(
        scheme, wanted, conditions.rate, conditions.seed, conditions.failed.links, model=conditions.flow_model,
        failure_knowledge=conditions.failure_knowledge, done=done,
    )  # fmt: skip
    bins = summarise(wanted.size, times.seconds, ideal(wanted.size, conditions.rate))
    figures = {name: math.nan if value is None else value for name, value in vars(bins[0]).items()}
    of_all = {name: figures[name] for name in figures if name != "sizes"}
    more = {"busiest_link": times.busiest, "flow_model": conditions.flows}
    return {**of_all, **more, "bins": [dict(vars(one)) for one in bins]}


FABRIC_METRICS: Mapping[str, Callable[[Fabric, Conditions, Done], Figures]] = {
    "bisection": _bisection,
    "diversity": _diversity,
    "connectivity": _connectivity,
    "hyperbolicity": _hyperbolicity,
    "optimum": _optimum,
}
SCHEME_METRICS: Mapping[str, Callable[[Scheme, Conditions, Done], Figures]] = {
    "loads": _loads,
    "throughput": _throughput,
    "share": _share,
    "latency": _latency,
    "fct": _fct,
}
#: Which model each metric is of, and what it leaves out; ``{flows}`` is what happens to a flow.
_MODELS: Mapping[str, str] = {
    "loads": "packets on a link, one per pair of servers, each split over its paths; no rates, no queues",
    "throughput": "max-min fair rates of fluid flows; {flows}; no TCP, no headers, no queues",
    "share": "all flows grow by one factor until a link is full; {flows}; no TCP, no headers, no queues",
    "latency": "store-and-forward queues of 1500-byte packets; {flows}; no TCP, no retransmissions",
    "fct": "flows share links max-min fairly at every moment; {flows}; no slow start, no queues, no losses",
}
#: What the scheme ``optimal`` stands for in ``evaluate`` and ``compare``.
OF_OPTIMAL = ("optimum", "share")
#: The columns of each metric in the table of ``compare``.
SHOWN: Mapping[str, tuple[str, ...]] = {
    "bisection": ("bisection.found", "bisection.bound"),
    "diversity": ("diversity.mean", "diversity.min"),
    "loads": ("loads.max", "loads.mean"),
    "throughput": ("throughput.aggregate", "throughput.least", "throughput.abt"),
    "connectivity": (
        "connectivity.edge_connectivity",
        "connectivity.edge_disjoint",
        "connectivity.node_disjoint",
        "connectivity.spectral_gap",
    ),
    "hyperbolicity": ("hyperbolicity.delta", "hyperbolicity.exact"),
    "optimum": ("optimum.lower", "optimum.upper", "optimum.volume_bound"),
    "share": ("share.theta", "share.lower", "share.upper"),
    "latency": ("latency.load", "latency.mean_us", "latency.p99_us", "latency.throughput", "latency.loss"),
    "fct": ("fct.fct_median_ms", "fct.fct_p99_ms", "fct.slowdown_median", "fct.slowdown_p99"),
}


def check(names: Sequence[str], conditions: Conditions) -> None:
    """Raise SpecError, in one line, for unknown metrics and for invalid conditions."""
    for name in names:
        if name not in SHOWN:
            raise SpecError(f"unknown metric {name!r}: known: {', '.join(SHOWN)}")
    least, most = _LOADS
    if not least <= conditions.load <= most:
        raise SpecError(
            f"load: {conditions.load:g} is not a valid multiple of the link rate:"
            f" write a number from {least:g} to {most:g}"
        )
    known = get_args(FlowControl)
    if conditions.flow_control not in known:
        raise SpecError(f"flow control: {conditions.flow_control!r}: write {' or '.join(known)}")
    patterns.check(conditions.traffic)  # an invalid pattern is an error even if no metric uses it
    sizes.read(conditions.sizes)
    flow_model.read(conditions.flows)
    read_gap(conditions.gap)
    read_limit(conditions.paths)


def check_size(names: Sequence[str], conditions: Conditions, fabric: Fabric) -> None:
    """Raise SpecError, in one line, where a metric of so large a network would take hours, or all memory."""
    if "loads" in names and (links := len(fabric.link_ends)) > _MOST_LOADED:
        raise SpecError(f"loads: {fabric.spec} has {links:,} links: at most {_MOST_LOADED:,}")
    if not {*_MODELS, *OF_OPTIMAL}.isdisjoint({*names} - {"loads"}):
        patterns.check_size(fabric, conditions.traffic)


def models(names: Sequence[str], conditions: Conditions) -> dict[str, str]:
    """The model of each metric that has one, in a line."""
    sentence = conditions.flow_model.sentence
    return {name: _MODELS[name].format(flows=sentence) for name in names if name in _MODELS}


def warning(name: str, figures: Figures) -> str:
    """A line where there is no traffic, and where links get more than they carry; empty elsewhere."""
    nobody_sends = figures.get("packets") == 0 and figures.get("throughput") is None  # not: no packet so far
    if figures.get("flows") == 0 or nobody_sends:
        late = ", or none begins in so short a time" if name == "fct" else ""
        return f"there are no flows: the traffic has no two different servers here{late}"
    if name == "fct" and figures["busiest_link"] > 1:
        busiest = f"{figures['busiest_link']:.3g}"
        return f"saturated: a link gets {busiest} times what it carries: times grow as long as flows arrive"
    if name == "latency" and figures["load"] > 1:
        return f"saturated: every sender offers {figures['load']:g} times what its link carries"
    return ""


def silent(phase: str, share: float | None) -> None:
    """Progress that nobody follows."""


def fabric_metrics(
    fabric: Fabric, names: Sequence[str], conditions: Conditions, progress: Progress = silent
) -> dict[str, Figures]:
    """The metrics among ``names`` that depend on the fabric alone."""
    return _evaluated(FABRIC_METRICS, fabric, names, conditions, progress)


def scheme_metrics(
    scheme: Scheme, names: Sequence[str], conditions: Conditions, progress: Progress = silent
) -> dict[str, Figures]:
    """The metrics among ``names`` that depend on the scheme."""
    return _evaluated(SCHEME_METRICS, scheme, names, conditions, progress)


def _evaluated(
    known: Mapping[str, Callable[[_Of, Conditions, Done], Figures]],
    of: _Of,
    names: Sequence[str],
    conditions: Conditions,
    progress: Progress,
) -> dict[str, Figures]:
    """The figures of each metric that is known, by its name; ``progress`` hears the name before, and of those
    that take long the share that is done."""
    figures = {}
    for name in filter(known.__contains__, names):
        progress(name, None)
        figures[name] = known[name](of, conditions, functools.partial(progress, name))
    return figures


def required_metrics(columns: Sequence[str]) -> tuple[str, ...]:
    """The metrics needed for columns such as ``latency`` or ``latency.mean_us``."""
    return tuple(dict.fromkeys(name for name in (c.partition(".")[0] for c in columns) if name in SHOWN))


def expand_columns(columns: Sequence[str]) -> list[str]:
    """Replace the name of a metric by its columns."""
    return [one for column in columns for one in SHOWN.get(column, (column,))]
