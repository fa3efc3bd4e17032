"""One figure of a comparison: a group of points per traffic and failures, a point per network and scheme."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dcnlab.evaluator.averages import Average, Combination, Row, combinations, seeds_text
from dcnlab.evaluator.graph.failures import parse
from dcnlab.evaluator.reporting.charts import Chart, Series

#: The figure that is drawn unless a column is named: the mean rate of a server, and its axis.
PER_SERVER = "throughput.aggregate per server"
#: With fewer conditions there is no curve.
_FEWEST = 3
_LABELS = {
    PER_SERVER: "throughput per server (in link rates)",
    "throughput.least": "least rate of a flow (in link rates)",
    "throughput.abt": "aggregate bottleneck throughput (in link rates)",
    "path.mean": "mean path (links)",
    "delivered": "share of pairs delivered",
    "stretch.mean": "mean stretch",
    "throughput.aggregate": "throughput (in link rates)",
    "table.entries_max": "largest table (entries)",
    "loads.max": "largest load of a link (packets)",
    "latency.mean_us": "mean latency (µs)",
    "latency.p99_us": "99th percentile of latency (µs)",
    "latency.throughput": "throughput per server (in link rates)",
    "latency.loss": "share of packets lost",
    "fct.fct_mean_ms": "mean completion time (ms)",
    "fct.fct_median_ms": "median completion time (ms)",
    "fct.fct_p99_ms": "99th percentile of completion times (ms)",
    "fct.slowdown_mean": "mean slowdown",
    "fct.slowdown_median": "median slowdown",
    "fct.slowdown_p99": "99th percentile of slowdowns",
    "share.theta": "theta",
    "share.lower": "share of the optimum, at least",
    "optimum.lower": "theta of the optimum, at least",
    "bisection.found": "links cut (best bisection found)",
    "diversity.mean": "edge-disjoint paths",
}


@dataclass(frozen=True)
class Condition:
    """What is the same for all networks of a group of points."""

    traffic: str
    failures: str
    load: float

    def text(self, others: Sequence[Condition]) -> str:
        """The condition in words, without what all have in common."""
        parts = []
        if len({one.traffic for one in others}) > 1:
            parts.append(self.traffic)
        if len({one.failures for one in others}) > 1:
            parts.append(_failed(self.failures) if self.failures else "no failures")
        if len({one.load for one in others}) > 1:
            parts.append(f"load {self.load:g}")
        return ",\n".join(parts) or self.traffic or self.failures or "all pairs"


def _failed(failures: str) -> str:
    """``switch-links=5%`` in words: 5% of switch links failed."""
    kinds = (part.partition("=") for part in failures.replace("-", " ").split(","))
    words = (f"{share} of {kind}" if share.endswith("%") else f"{share} {kind}" for kind, _, share in kinds)
    return ", ".join(words) + " failed"


def chart(rows: Sequence[Row], column: str) -> Chart:
    """The figure of one column: curves over loads or over shares of failures, where only these differ, else a
    group of points per condition.

    Points are means over the seeds, bars 95 % intervals.  The caption says what all points have in common.
    """
    groups: dict[Condition, list[Combination]] = {}
    for one in combinations(rows):
        groups.setdefault(Condition(one.traffic, one.failures, one.load), []).append(one)
    conditions = list(groups)
    over = _over(conditions)
    places = over[1] if over else tuple(map(float, range(len(conditions))))
    schemes = {one.scheme for some in groups.values() for one in some}
    points: dict[tuple[str, str], list[tuple[float, Average]]] = {}
    for place, condition in sorted(zip(places, conditions, strict=True), key=lambda one: one[0]):
        for one in groups[condition]:
            if value := _value(one, column):
                points.setdefault((one.topology, one.scheme), []).append((place, value))
    series = [
        Series(
            topology + (f", {scheme}" if len(schemes) > 1 else ""),
            tuple(x for x, _ in values),
            tuple(y.mean for _, y in values),
            tuple(y.half for _, y in values),
        )
        for (topology, scheme), values in points.items()
    ]
    names = () if over else tuple(one.text(conditions) for one in conditions)
    drawn = Chart("", over[0] if over else "", _LABELS.get(column, column), tuple(series), names=names)
    return replace(drawn, caption=_caption(rows, conditions, schemes))


def _over(conditions: Sequence[Condition]) -> tuple[str, tuple[float, ...]] | None:
    """An axis of numbers and the place of each condition on it, where only the load, or only the share of one
    kind of failure differs."""
    traffic, failures, loads = (
        {getattr(one, key) for one in conditions} for key in ("traffic", "failures", "load")
    )
    if len(conditions) < _FEWEST or len(traffic) > 1:
        return None
    if len(failures) == 1:
        return "offered load (in link rates)", tuple(one.load for one in conditions)
    failed = [parse(one.failures) for one in conditions]
    kinds = {kind for one in failed for kind in one}
    if len(loads) > 1 or len(kinds) > 1 or any(share >= 1 for one in failed for share in one.values()):
        return None
    return f"{kinds.pop()} failed, %", tuple(100 * sum(one.values()) for one in failed)


def _value(one: Combination, column: str) -> Average | None:
    if column != PER_SERVER:
        return one.average(column)
    whole, servers = one.average("throughput.aggregate"), float(one.rows[0]["servers"])
    return whole and Average(whole.mean / servers, whole.half / servers)


def _caption(rows: Sequence[Row], conditions: Sequence[Condition], schemes: set[str]) -> str:
    parts = [seeds_text(rows)]
    if len(schemes) == 1:
        parts.append(f"scheme: {next(iter(schemes))}")
    if flows := {row["flows"] for row in rows if row.get("traffic")}:
        parts.append(f"flows: {', '.join(sorted(flows))}")
    if len({one.traffic for one in conditions}) == 1 and conditions[0].traffic:
        parts.append(f"traffic: {conditions[0].traffic}")
    return "; ".join(parts)
