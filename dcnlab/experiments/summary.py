"""Rows for tables, and means with 95 % intervals, of the runs of a sweep.  Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from dcnlab.evaluator.statistics import interval, is_share, mean_and_error
from dcnlab.lab.scenario import runner
from dcnlab.lab.scenario.check import LAB

Row = Mapping[str, Any]
#: Figures of the lab that do not belong to what is measured.
_OWN = frozenset({"servers", "switches", "links", "launch_s", "datapath", "machine_limited"})
_BOUNDS = ("lower_mbps", "upper_mbps")
_PROVENANCE = ("commit", "kernel", "datapath", "processors", "host")


@dataclass(frozen=True)
class Mean:
    """A figure for one combination: the mean over ``runs`` runs, and half its 95 % interval.

    ``half`` is None for a single run.  In ``machine_limited`` of them the machine was too slow.
    ``predicted`` is the mean of what the evaluator predicts of flows; None for other figures.
    """

    values: dict[str, Any]
    figure: str
    runs: int
    mean: float
    half: float | None
    predicted: float | None = None
    machine_limited: int = 0

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return asdict(self)

    def __str__(self) -> str:
        return interval(self.mean, self.half or 0.0, share=is_share(self.figure), sign="±")


def accepted(rows: Sequence[Row]) -> list[Row]:
    """The runs whose results count."""
    return [row for row in rows if "error" not in row and not row["rejected"]]


def figures(row: Row) -> Iterator[tuple[str, float]]:
    """The numbers that a run has measured, as ``RESULT.FIGURE``."""
    for name, result in row["results"].items():
        for figure, value in result.items():
            number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
            if number and not (name == LAB and figure in _OWN):
                yield f"{name}.{figure}", float(value)


def predictions(row: Row) -> dict[str, float]:
    """The figures of a run's flows that the evaluator has predicted, as ``RESULT.FIGURE``."""
    return {
        f"{name}.{figure}": float(value)
        for name, flows in row.get("flows", {}).items()
        for figure, value in _of_all(flows).items()
        if isinstance(value, int | float)
    }


def _of_all(flows: Mapping[str, Any]) -> dict[str, Any]:
    """What is predicted of all flows together; None for what is not."""
    return {**(flows["predicted"] or [{}])[0], "mbps": _beside(flows, "predicted_mbps")}


def _beside(flows: Mapping[str, Any], figure: str) -> Any:
    """A figure of the throughput of flows beside the optimum; None where there is none."""
    return (flows.get("throughput") or {}).get(figure)


def means(rows: Sequence[Row]) -> list[Mean]:
    """The mean of each figure for each combination, in the order of the matrix."""
    groups: dict[str, list[Row]] = {}
    for row in accepted(rows):
        groups.setdefault(json.dumps(row["values"]), []).append(row)
    averages = []
    for group in groups.values():
        collected: dict[str, list[float]] = {}
        expected: dict[str, list[float]] = {}
        for row in group:
            for name, value in figures(row):
                collected.setdefault(name, []).append(value)
            for name, value in predictions(row).items():
                expected.setdefault(name, []).append(value)
        for name, values in collected.items():
            mean, half = mean_and_error(values) if len(values) > 1 else (values[0], None)
            predicted = fmean(expected[name]) if name in expected else None
            limited = sum(runner.is_limited(row["results"].get(name.partition(".")[0], {})) for row in group)
            averages.append(Mean(dict(group[0]["values"]), name, len(values), mean, half, predicted, limited))
    return averages


def by_size(rows: Sequence[Row]) -> list[tuple[dict[str, Any], str, str, dict[str, Any]]]:
    """Flows by size: the values of the matrix, the name of the result, ``measured`` or ``predicted``, and the
    figures of a bin of sizes as means over the runs (None where no flow was complete)."""
    groups: dict[tuple[str, str, str, str], tuple[dict[str, Any], list[dict[str, Any]]]] = {}
    for row in accepted(rows):
        for name, flows in row.get("flows", {}).items():
            for measured in flows["measured"]:
                for source in ("measured", "predicted"):
                    bins = [one for one in flows[source] if one["sizes"] == measured["sizes"]]
                    key = json.dumps(row["values"]), name, measured["sizes"], source
                    groups.setdefault(key, (dict(row["values"]), []))[1].extend(bins)
    return [
        (values, name, source, {figure: _mean([one[figure] for one in bins]) for figure in bins[0]})
        for (_, name, _, source), (values, bins) in groups.items()
        if bins
    ]


def _mean(values: Sequence[Any]) -> Any:
    """The mean of the numbers among some values; of texts, which are all alike, the first."""
    numbers = [value for value in values if isinstance(value, int | float)]
    return fmean(numbers) if numbers else values[0]


def flat(row: Row) -> dict[str, Any]:
    """A run as one row: values, repetition, seed, verdicts, figures, provenance."""
    line = {**row["values"], "repetition": row["repetition"], "seed": row["seed"]}
    if "error" in row:
        return {**line, "error": row["error"]}
    line |= {"topology": row["topology"], "scheme": row["scheme"]}
    line |= {"held": row["held"], "rejected": row["rejected"]}
    for name, result in row["results"].items():
        line |= {f"{name}.{figure}": value for figure, value in result.items()}
    line |= {f"predicted.{name}": value for name, value in predictions(row).items()}
    for name, flows in row.get("flows", {}).items():
        bounds = {f"optimum.{name}.{end}": _beside(flows, f"optimum_{end}") for end in _BOUNDS}
        line |= {key: value for key, value in bounds.items() if value is not None}
    origin = row["provenance"]
    versions = {f"version.{name}": version for name, version in origin["versions"].items()}
    return {**line, **{name: origin[name] for name in _PROVENANCE}, **versions}
