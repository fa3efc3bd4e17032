"""One HTML page for a sweep: figures with intervals, tables of means and runs, and what they depend on."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from dcnlab.evaluator.reporting.charts import Chart, Series
from dcnlab.evaluator.reporting.report import Section, page
from dcnlab.experiments.summary import Mean, accepted, by_size, means
from dcnlab.lab.scenario.check import LAB

#: More figures than these are in the table only.
_MOST_CHARTS = 24
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z%]*)")
Row = Mapping[str, Any]


def report(title: str, rows: Sequence[Row]) -> str:
    """The page for the rows of a sweep."""
    return page(title or "Sweep", sections(rows))


def sections(rows: Sequence[Row]) -> list[Section]:
    """Figures, means, runs, and what they depend on."""
    averages = means(rows)
    parts = [
        Section("Figures", _summary(rows), charts=tuple(charts(averages))),
        _means(averages),
        sizes(rows),
        _runs(rows),
        origin(rows),
    ]
    return [section for section in parts if section.rows or section.text]


def charts(averages: Sequence[Mean]) -> list[Chart]:
    """A chart per figure that varies, over the last numeric key of the matrix; else over all combinations."""
    names = dict.fromkeys(mean.figure for mean in averages if not mean.figure.startswith(f"{LAB}."))
    drawn = []
    for name in names:
        mine = [mean for mean in averages if mean.figure == name]
        if len({(mean.mean, mean.half) for mean in mine}) > 1 or mine[0].half:
            drawn.append(_chart(name, mine))
    return drawn[:_MOST_CHARTS]


def _chart(name: str, mine: Sequence[Mean]) -> Chart:
    over = next((key for key in reversed(mine[0].values) if _scale(key, mine)), "")
    runs = sorted({mean.runs for mean in mine})
    caption = f"means of {' to '.join(map(str, (runs[0], runs[-1])[: len(runs)]))} runs; bars: 95 % interval"
    if limited := [_label(mean, "") or "all" for mean in mine if mean.machine_limited]:
        caption += f"; the machine was too slow for runs at {'; '.join(limited)}"
    if over:
        scale = _scale(over, mine)
        groups: dict[str, list[Mean]] = {}
        for mean in mine:
            groups.setdefault(_label(mean, over), []).append(mean)
        curves = []
        for label, group in groups.items():
            at = [scale[str(one.values[over])][0] for one in group]
            curves += [_series(label, at, group), *_predictions(at, group, label)]
        unit = next(iter(scale.values()))[1]
        return Chart(name, f"{over} ({unit})" if unit else over, name.partition(".")[2], tuple(curves), caption)
    labels = tuple(_label(mean, "") or "all" for mean in mine)
    series = _series("mean", [float(at) for at in range(len(mine))], mine)
    drawn = (series, *_predictions(range(len(mine)), mine))
    return Chart(name, "", name.partition(".")[2], drawn, caption, names=labels)


def _scale(key: str, mine: Sequence[Mean]) -> dict[str, tuple[float, str]]:
    """The number and the unit of each value of a key, if they are several numbers of one unit; else empty."""
    read = {str(mean.values[key]): _NUMBER.fullmatch(str(mean.values[key])) for mean in mine}
    numbers = {text: (float(match[1]), match[2]) for text, match in read.items() if match}
    same = len(numbers) == len(read) > 1 and len({unit for _, unit in numbers.values()}) == 1
    return numbers if same else {}


def _predictions(at: Sequence[float], mine: Sequence[Mean], label: str = "") -> tuple[Series, ...]:
    """What the evaluator predicts, where it does for all points."""
    values = tuple(mean.predicted for mean in mine if mean.predicted is not None)
    name = f"{label}, predicted" if label else "predicted"
    return (Series(name, tuple(at), values),) if len(values) == len(mine) else ()


def _series(label: str, at: Sequence[float], group: Sequence[Mean]) -> Series:
    halves = tuple(mean.half or 0.0 for mean in group)
    return Series(label, tuple(at), tuple(mean.mean for mean in group), halves if any(halves) else ())


def _label(mean: Mean, without: str) -> str:
    return ", ".join(
        str(value) if key in ("topology", "scheme") else f"{key} {value}"
        for key, value in mean.values.items()
        if key != without
    )


def _summary(rows: Sequence[Row]) -> str:
    good = accepted(rows)
    rejected = [row for row in rows if row.get("rejected")]
    broken = [row for row in rows if "error" in row]
    seeds = sorted({row["seed"] for row in rows})
    warned = sum(bool(row.get("warnings")) for row in good)
    words = [f"{len(rows)} runs with seeds {', '.join(map(str, seeds))}: {len(good)} count"]
    if rejected:
        words.append(f"{len(rejected)} rejected, because an expectation about the lab failed")
    if broken:
        words.append(f"{len(broken)} ended with an error")
    if warned:
        words.append(f"{warned} of those that count lost packets or processor time because of the machine")
    return "; ".join(words) + "."


def _means(averages: Sequence[Mean]) -> Section:
    keys = tuple(averages[0].values) if averages else ()
    rows = tuple(
        (
            *map(str, mean.values.values()),
            mean.figure,
            mean.mean,
            "-" if mean.half is None else mean.half,
            f"{mean.runs} ({mean.machine_limited} machine-limited)" if mean.machine_limited else mean.runs,
            "-" if mean.predicted is None else mean.predicted,
        )
        for mean in averages
    )
    heads = (*keys, "figure", "mean", "±", "runs", "predicted")
    shown = len(heads) if any(mean.predicted is not None for mean in averages) else len(heads) - 1
    return Section("Means and 95 % intervals", "", heads[:shown], tuple(row[:shown] for row in rows))


def sizes(rows: Sequence[Row]) -> Section:
    """Flows by size: what was measured, and below it what the evaluator predicts; means over the runs."""
    grouped = by_size(rows)
    keys = tuple(grouped[0][0]) if grouped else ()
    shown = tuple(
        (*map(str, values.values()), name, source, *("-" if one is None else one for one in figures.values()))
        for values, name, source, figures in grouped
    )
    heads = (*keys, "result", "", *(grouped[0][3] if grouped else ()))
    text = "Predicted: the same flows share the links max-min fairly, without packets."
    return Section("Flows by size", text if shown else "", heads, shown)


def _runs(rows: Sequence[Row]) -> Section:
    keys = tuple(rows[0]["values"]) if rows else ()
    shown = tuple(
        (
            *map(str, row["values"].values()),
            row["repetition"],
            row["seed"],
            _verdict(row),
            _failed(row),
        )
        for row in rows
    )
    return Section("Runs", "", (*keys, "repetition", "seed", "verdict", "why"), shown)


def _verdict(row: Row) -> str:
    if "error" in row:
        return "error"
    return "rejected" if row["rejected"] else "holds" if row["held"] else "does not hold"


def _failed(row: Row) -> str:
    if "error" in row:
        return str(row["error"])
    failed = [f"{one['text']} (found {one['value']})" for one in row["expect"] if not one["held"]]
    return "; ".join([*failed, *row["warnings"]])


def origin(rows: Sequence[Row]) -> Section:
    """What the results depend on, each different value once."""
    values: dict[str, dict[str, None]] = {}
    for row in accepted(rows):
        origin = row["provenance"]
        for key, value in {**origin, **origin["versions"]}.items():
            if key not in ("versions", "begun"):
                values.setdefault(key, {})[str(value)] = None
        for key, value in row["scenario"].get("options", {}).items():
            values.setdefault(f"option {key}", {})[str(value)] = None
    shown = tuple((key, "; ".join(texts)) for key, texts in values.items())
    return Section("Provenance", "", ("what", "value"), shown)
