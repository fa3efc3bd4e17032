"""One run: as a row, like those of a sweep, and as an HTML page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dcnlab.evaluator.reporting.charts import Chart, Series
from dcnlab.evaluator.reporting.report import Section, page
from dcnlab.experiments.provenance import provenance
from dcnlab.experiments.report import origin, sizes
from dcnlab.lab.scenario.check import LAB
from dcnlab.lab.scenario.runner import ScenarioResult

Row = dict[str, Any]
#: The figures of flows by size that the page draws.
_DRAWN = {"slowdown_median": "median slowdown", "slowdown_p99": "99th percentile of slowdowns"}


def measured(outcome: ScenarioResult, begun: float) -> Row:
    """What a run has found, and what that depends on; ``begun`` is its time in seconds since 1970."""
    found = outcome.to_json()
    return {
        **{name: found[name] for name in ("topology", "scheme", "results", "expect", "held")},
        **({"flows": found["flows"]} if "flows" in found else {}),
        "rejected": any(one.expectation.name == LAB for one in outcome.verdicts if not one.held),
        "warnings": found["warnings"],
        "scenario": outcome.scenario.model_dump(mode="json"),
        "provenance": {**provenance(), "datapath": found["results"][LAB]["datapath"], "begun": begun},
    }


def row(outcome: ScenarioResult, begun: float) -> Row:
    """A run of its own as the row of a sweep that varies nothing."""
    seed = outcome.scenario.config().seed
    return {"values": {}, "repetition": 1, "seed": seed, **measured(outcome, begun)}


def report(title: str, found: Mapping[str, Any]) -> str:
    """The page for the row of a run: verdicts, figures, flows by size, and what they depend on."""
    figures = tuple(
        (
            name,
            figure,
            " ".join(map(str, value)) if isinstance(value, list) else "-" if value is None else value,
        )
        for name, result in found["results"].items()
        for figure, value in result.items()
    )
    verdicts = tuple(
        (
            one["text"],
            "-" if one["value"] is None else one["value"],
            "holds" if one["held"] else "does not hold",
        )
        for one in found["expect"]
    )
    parts = [
        Section("Expectations", "", ("expected", "found", "verdict"), verdicts),
        Section(
            "Figures",
            " ".join(f"Note: {one}." for one in found["warnings"]),
            ("result", "figure", "value"),
            figures,
        ),
        _flows(found),
        origin([found]),
    ]
    return page(title or "Run", [section for section in parts if section.rows])


def _flows(found: Mapping[str, Any]) -> Section:
    table = sizes([found])
    drawn = (_chart(name, figure, flows) for name, flows in found.get("flows", {}).items() for figure in _DRAWN)
    return Section(table.title, table.text, table.header, table.rows, tuple(one for one in drawn if one))


def _chart(name: str, figure: str, flows: Mapping[str, Any]) -> Chart | None:
    """A figure of flows over their sizes, measured and predicted; None for a single size."""
    names = tuple(one["sizes"] for one in flows["measured"])
    if len(names) < 2:
        return None
    curves = []
    for source in ("measured", "predicted"):
        values = {one["sizes"]: one[figure] for one in flows[source]}
        points = [(float(at), values[size]) for at, size in enumerate(names) if values.get(size) is not None]
        if points:
            curves.append(Series(source, tuple(at for at, _ in points), tuple(value for _, value in points)))
    return (
        Chart(f"{name}: {_DRAWN[figure]}", "size", "slowdown", tuple(curves), names=names) if curves else None
    )
