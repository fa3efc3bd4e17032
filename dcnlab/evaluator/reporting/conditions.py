"""One figure of a comparison: a group of points per traffic and failures, a point per network and scheme."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dcnlab.evaluator.averages import Average, Combination, Row, combinations, seeds_text
from dcnlab.evaluator.reporting.charts import Chart, Series

#: The figure that is drawn unless a column is named: the mean rate of a server, and its axis.
PER_SERVER = "throughput.aggregate per server"
_LABELS = {
    PER_SERVER: "throughput per server (link rates)",
    "throughput.least": "least rate of a flow (in link rates)",
    "throughput.abt": "ABT (in link rates)",
    "path.mean": "mean path (links)",
    "delivered": "share of pairs delivered",
    "stretch.mean": "mean stretch",
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
    """``switch-links=5%`` in words: 5% switch-links failed."""
    kinds = (part.partition("=") for part in failures.split(","))
    return ", ".join(f"{share} {kind}" for kind, _, share in kinds) + " failed"


def chart(rows: Sequence[Row], column: str, labels: Mapping[str, str] | None = None) -> Chart:
    """The figure of one column; ``labels`` are names of topologies for the legend.

    Points are means over the seeds, bars 95 % intervals.  The caption says what all points have in common.
    """
    named = labels or {}
    groups: dict[Condition, list[Combination]] = {}
    for traffic in dict.fromkeys(str(row.get("traffic") or "") for row in rows):
        for one in combinations([row for row in rows if str(row.get("traffic") or "") == traffic]):
            groups.setdefault(Condition(traffic, one.failures, one.load), []).append(one)
    conditions = list(groups)
    schemes = {one.scheme for some in groups.values() for one in some}
    points: dict[tuple[str, str], list[tuple[float, Average]]] = {}
    for place, condition in enumerate(conditions):
        for one in groups[condition]:
            if value := _value(one, column):
                points.setdefault((one.topology, one.scheme), []).append((float(place), value))
    series = [
        Series(
            named.get(topology, topology) + (f", {scheme}" if len(schemes) > 1 else ""),
            tuple(x for x, _ in values),
            tuple(y.mean for _, y in values),
            tuple(y.half for _, y in values),
        )
        for (topology, scheme), values in points.items()
    ]
    drawn = Chart(
        "", "", _LABELS.get(column, column), tuple(series), names=tuple(c.text(conditions) for c in conditions)
    )
    return replace(drawn, caption=_caption(rows, conditions, schemes))


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
