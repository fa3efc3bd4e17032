"""Figures beyond paths and tables, each by its name: of a fabric, or of a scheme on it.

``evaluate(..., metrics=("latency",))`` and ``compare --metrics latency`` compute them only
when they are asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from scipy import stats

from addressing.scheme import Scheme
from dcnlab.evaluator.graph.bisection import bisection
from dcnlab.evaluator.graph.failures import Failures
from dcnlab.evaluator.graph.pairs import choose
from dcnlab.evaluator.graph.path_diversity import path_diversity
from dcnlab.evaluator.routing.path_lengths import Aware
from dcnlab.evaluator.traffic.flows import flows
from dcnlab.evaluator.traffic.latency import NOTHING_FAILED, simulate
from dcnlab.evaluator.traffic.loads import link_loads
from dcnlab.evaluator.traffic.throughput import throughput
from dcnlab.evaluator.traffic.traffic import read, traffic
from topos.fabric import Fabric
from topos.registry import SpecError

Figures = Mapping[str, float | int]
#: The least and the largest load: more packets than that do not fit, fewer than one are none.
_LOADS = (1e-6, 100.0)
#: Pairs of servers whose edge-disjoint paths are counted.
_PAIRS = 100


@dataclass(frozen=True)
class Conditions:
    """Under what is measured: ``traffic`` for throughput and latency, ``load`` for latency."""

    seed: int = 1
    failed: Failures = NOTHING_FAILED
    aware: Aware = "yes"
    traffic: str = "all-to-all"
    load: float = 0.5


def _bisection(fabric: Fabric, given: Conditions) -> Figures:
    found = bisection(fabric, given.seed, failed=given.failed)
    return {
        "found": found.found,
        "bound": found.bound,
        "spectral_bound": found.spectral,
        "flow_bound": found.flow,
    }


def _diversity(fabric: Fabric, given: Conditions) -> Figures:
    paths = path_diversity(fabric, _PAIRS, given.seed, given.failed.links, given.failed.nodes)
    if not len(paths):
        return {"mean": math.nan, "min": math.nan, "confidence_95": math.nan}
    spread = float(paths.std(ddof=1)) / math.sqrt(len(paths))
    half = float(stats.t.ppf(0.975, len(paths) - 1)) * spread
    return {"mean": float(paths.mean()), "min": int(paths.min()), "confidence_95": half}


def _loads(scheme: Scheme, given: Conditions) -> Figures:
    """Of directed links that carry anything, under one packet from every server to every other."""
    pairs = choose(scheme.fabric, "servers", given.seed, given.failed.nodes)
    found = link_loads(scheme, pairs, given.failed.links, aware=given.aware)
    used = found[found > 0]
    return {
        "max": float(used.max(initial=0.0)),
        "mean": float(used.mean()) if len(used) else math.nan,
        "used": len(used),
    }


def _throughput(scheme: Scheme, given: Conditions) -> Figures:
    wanted = traffic(scheme.fabric, given.traffic, given.seed, given.failed.nodes)
    found = flows(scheme, wanted, given.failed.links, aware=given.aware)
    rates = throughput(scheme.fabric, found)
    return {
        "flows": len(found),
        "delivered": rates.delivered,
        "aggregate": rates.aggregate,
        "least": rates.least,
        "abt": rates.abt,
    }


def _latency(scheme: Scheme, given: Conditions) -> Figures:
    found = simulate(
        scheme, given.load, given.traffic, given.seed, failed=given.failed, aware=given.aware
    )  # fmt: skip
    return found.as_dict()


OF_FABRICS: Mapping[str, Callable[[Fabric, Conditions], Figures]] = {
    "bisection": _bisection,
    "diversity": _diversity,
}
OF_SCHEMES: Mapping[str, Callable[[Scheme, Conditions], Figures]] = {
    "loads": _loads,
    "throughput": _throughput,
    "latency": _latency,
}
#: What is shown of each where there is room for a few columns.
SHOWN: Mapping[str, tuple[str, ...]] = {
    "bisection": ("bisection.found", "bisection.bound"),
    "diversity": ("diversity.mean", "diversity.min"),
    "loads": ("loads.max", "loads.mean"),
    "throughput": ("throughput.aggregate", "throughput.least", "throughput.abt"),
    "latency": ("latency.load", "latency.mean_us", "latency.p99_us", "latency.throughput", "latency.loss"),
}


def check(names: Sequence[str], given: Conditions) -> None:
    """Raise SpecError, in one line, for what is no metric and for conditions that cannot be met."""
    for name in names:
        if name not in SHOWN:
            raise SpecError(f"no metric {name!r}: known: {', '.join(SHOWN)}")
    least, most = _LOADS
    if not least <= given.load <= most:
        raise SpecError(
            f"load: {given.load:g} is no share of a link's rate: write a number from {least:g} to {most:g}"
        )
    read(given.traffic)  # refused even where no metric needs it


def of_fabric(fabric: Fabric, names: Sequence[str], given: Conditions) -> dict[str, Figures]:
    """Those of ``names`` that are the fabric's own."""
    return {name: OF_FABRICS[name](fabric, given) for name in names if name in OF_FABRICS}


def of_scheme(scheme: Scheme, names: Sequence[str], given: Conditions) -> dict[str, Figures]:
    """Those of ``names`` that depend on routing."""
    return {name: OF_SCHEMES[name](scheme, given) for name in names if name in OF_SCHEMES}


def asked_for(columns: Sequence[str]) -> tuple[str, ...]:
    """The metrics that columns such as ``latency`` or ``latency.mean_us`` need."""
    return tuple(dict.fromkeys(name for name in (c.partition(".")[0] for c in columns) if name in SHOWN))


def expanded(columns: Sequence[str]) -> list[str]:
    """Columns with those of a metric that is named as a whole."""
    return [one for column in columns for one in SHOWN.get(column, (column,))]
