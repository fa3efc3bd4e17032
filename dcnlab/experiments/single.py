"""One run: as a row, like those of a sweep, and as an HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dcnlab.evaluator.reporting.charts import Chart, Series
from dcnlab.evaluator.reporting.report import Section, page
from dcnlab.experiments.provenance import provenance
from dcnlab.experiments.report import origin, sizes
from dcnlab.experiments.timeline import timeline
from dcnlab.lab.drawing.figure import Figure, Marks
from dcnlab.lab.drawing.svg import written
from dcnlab.lab.scenario.check import LAB
from dcnlab.lab.scenario.runner import ScenarioResult
from topos import registry

Row = dict[str, Any]
#: Larger networks are not drawn.
_DRAWN_NODES = 1500
#: The figures of flows by size that the page draws.
_DRAWN = {"slowdown_median": "median slowdown", "slowdown_p99": "99th percentile of slowdowns"}


def measured(outcome: ScenarioResult, begun: float) -> Row:
    """What a run has found, and what that depends on; ``begun`` is its time in seconds since 1970."""
    result = outcome.to_json()
    return {
        **{name: result[name] for name in ("topology", "scheme", "results", "expect", "held")},
        **({"flows": result["flows"]} if "flows" in result else {}),
        "rejected": any(one.expectation.name == LAB for one in outcome.verdicts if not one.held),
        "warnings": result["warnings"],
        "scenario": outcome.scenario.model_dump(mode="json"),
        "provenance": {**provenance(), "datapath": result["results"][LAB]["datapath"], "begun": begun},
    }


def row(outcome: ScenarioResult, begun: float) -> Row:
    """A run of its own as the row of a sweep that varies nothing."""
    seed = outcome.scenario.config().seed
    values = {"values": {}, "repetition": 1, "seed": seed, **measured(outcome, begun)}
    return {**values, "events": outcome.events}


def report(title: str, run: Mapping[str, Any]) -> str:
    """The page for the row of a run: whether all holds, the network, what happened when, verdicts, figures,
    flows by size, and what they depend on."""
    figures = tuple(
        (
            name,
            figure,
            " ".join(map(str, value)) if isinstance(value, list) else "-" if value is None else value,
        )
        for name, result in run["results"].items()
        for figure, value in result.items()
    )
    verdicts = tuple(
        (
            one["text"],
            "-" if one["value"] is None else one["value"],
            "holds" if one["held"] else "does not hold",
        )
        for one in run["expect"]
    )
    parts = [
        Section("Expectations", "", ("expected", "found", "verdict"), verdicts),
        Section(
            "Figures",
            " ".join(f"Note: {one}." for one in run["warnings"]),
            ("result", "figure", "value"),
            figures,
        ),
        _flows(run),
        origin([run]),
    ]
    shown = [section for section in parts if section.rows]
    return page(title or "Run", [*_pictures(run), *shown], _banner(run["expect"]))


def _banner(verdicts: Sequence[Mapping[str, Any]]) -> tuple[bool, str] | None:
    """Whether all expectations hold, in a sentence."""
    broken = [f"{one['text']} (found {one['value']})" for one in verdicts if not one["held"]]
    if not verdicts:
        return None
    count = f"{len(verdicts)} expectation{'s' * (len(verdicts) > 1)}"
    if broken:
        return (
            False,
            f"{len(broken)} of {count} {'do' if len(broken) > 1 else 'does'} not hold: {'; '.join(broken)}.",
        )
    return True, f"All {count} hold." if len(verdicts) > 1 else f"The {count} holds."


def _pictures(run: Mapping[str, Any]) -> list[Section]:
    """The network, with the links that were cut, and the time line."""
    events = run.get("events", ())
    changed = [one for one in events if one["kind"] == "link"]
    cut = frozenset(one["link_number"] for one in changed if not one["up"])
    fabric = registry.fabric(run["topology"])
    lines = (
        (f"Cut in this run: {', '.join(sorted({'-'.join(one['link']) for one in changed}))}.",) if cut else ()
    )
    sections = []
    if fabric.size <= _DRAWN_NODES:
        sections.append(Section("Network", images=(written(Figure(fabric, Marks(cut), lines)),)))
    if drawn := timeline(events):
        text = "Bars are measurements; a red one is a gap: the time without any packet after a cut."
        sections.append(Section("Time line", text, images=(drawn,)))
    return sections


def _flows(run: Mapping[str, Any]) -> Section:
    table = sizes([run])
    drawn = (_chart(name, figure, flows) for name, flows in run.get("flows", {}).items() for figure in _DRAWN)
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
