"""Figures in the style of a paper, drawn without a display.

A :class:`Chart` holds the curves, and the parameters as its caption.  One function draws all
charts, so that all figures look alike.
"""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator
from numpy.typing import NDArray

from dcnlab.evaluator.statistics import mean_and_error

matplotlib.use("Agg")

#: Colours that colour-blind readers can distinguish (Okabe and Ito, without yellow).
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#e69f00", "#56b4e9")
STYLE: dict[Any, Any] = {
    "axes.prop_cycle": cycler(color=_COLOURS),
    "font.family": "serif",
    "font.size": 9,
    "axes.grid": True,
    "grid.linestyle": ":",
    "grid.linewidth": 0.5,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "svg.fonttype": "none",
    "svg.hashsalt": "dcnlab",
}
#: With more curves the legend moves beside the axes; a distribution (steps) leaves room for more.
_CROWDED, _CROWDED_STEPS = 4, 6
#: An axis has a tick at every value if there are at most this many, this share of the axis apart.
_MOST_TICKS, _CLOSEST = 6, 0.07
MARKERS = "osD^vPX*<>"
LINES = ("-", "--", "-.", ":")


FloatArray = NDArray[np.float64]
#: Metadata that matplotlib adds to SVG files by default: the time and the addresses of vocabularies.
_OMITTED_METADATA = ("Date", "Creator", "Format", "Type")
#: Numbers without powers of ten or offsets.
_PLAIN = FuncFormatter(lambda value, _: f"{value:,.10g}")


@dataclass(frozen=True)
class Series:
    """One curve; ``error`` is half the width of each point's confidence interval."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    error: tuple[float, ...] = ()


@dataclass(frozen=True)
class Chart:
    """A figure: curves, axes, and a caption with the parameters."""

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    caption: str = ""
    #: A cumulative distribution: drawn as steps, y from 0 to 1.
    steps: bool = False
    log_x: bool = False
    log_y: bool = False
    #: Names of x = 0, 1, ... (categories): the points are then not connected.
    names: tuple[str, ...] = ()
    #: The paper's curves or values: they stand on the left, with the same axes.
    published: tuple[Series, ...] = ()


def draw(chart: Chart) -> Figure:
    """The chart as a matplotlib figure with the width of a paper's column."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(4.6, 3.3), layout="constrained")
        if chart.published:
            return _side_by_side(figure, chart)
        axes = figure.subplots()
        _plot(axes, chart)
        if len(chart.series) > (_CROWDED_STEPS if chart.steps else _CROWDED):
            axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0)
            figure.set_size_inches(6.9, max(3.3, 0.7 + 0.17 * len(chart.series)))
        elif chart.series:
            axes.legend(loc="lower right" if chart.steps else "best")
        caption(figure, chart.caption)
    return figure


def _side_by_side(figure: Figure, chart: Chart) -> Figure:
    """The published curves on the left and ours on the right, on the same axes."""
    figure.set_size_inches(9.2, max(3.3, 0.7 + 0.17 * len(chart.series)))
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    both = (*chart.published, *chart.series)
    for axes, series, side in ((left, chart.published, "published"), (right, chart.series, "measured")):
        _plot(axes, replace(chart, series=series), replace(chart, series=both, title=side))
        crowded = axes is right and len(series) > _CROWDED
        axes.legend(**({"loc": "upper left", "bbox_to_anchor": (1.01, 1)} if crowded else {"loc": "best"}))
    right.set_ylabel("")
    figure.suptitle(chart.title)
    caption(figure, chart.caption)
    return figure


def _plot(axes: Axes, chart: Chart, scales: Chart | None = None) -> None:
    """Draw a chart's curves; ``scales`` has the curves that decide the scales, and the title."""
    for i, series in enumerate(chart.series):
        line, width = LINES[i % len(LINES)], line_width(i)
        if chart.steps:
            axes.step(series.x, series.y, line, where="post", label=series.label, linewidth=width)
            continue
        error = series.error or None
        marker = MARKERS[i % len(MARKERS)]
        axes.errorbar(
            _beside(chart, i) if chart.names else series.x, series.y, error,
            label=series.label, marker=marker,
            linestyle="none" if chart.names else line,
            markersize=3 + width, linewidth=width, capsize=2,
        )  # fmt: skip
    label_axes(axes, scales or chart)


def _beside(chart: Chart, number: int) -> list[float]:
    """The x values of a series over categories, shifted so that the series stand side by side."""
    count = len(chart.series)
    aside = 0.5 * (number - (count - 1) / 2) / count
    return [x + aside for x in chart.series[number].x]


def label_axes(axes: Axes, chart: Chart) -> None:
    """Set the title, axis labels, scales and ticks; ticks are whole numbers if all x values are."""
    axes.set(title=chart.title, xlabel=chart.x_label, ylabel=chart.y_label)
    places = sorted({x for series in chart.series for x in series.x})
    if chart.log_x:
        axes.set_xscale("log", base=2)
    if chart.names:
        axes.set_xticks(range(len(chart.names)), chart.names, rotation=30, ha="right")
    elif chart.log_x or all(x == int(x) for x in places):
        axes.xaxis.set_major_formatter(_PLAIN)
        if _are_apart(np.log(places) if chart.log_x else np.array(places)):
            axes.xaxis.set_major_locator(FixedLocator(places))
            axes.xaxis.set_minor_locator(NullLocator())
        elif not chart.log_x:
            axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
    if chart.log_y and any(y > 0 for series in chart.series for y in series.y):
        axes.set_yscale("log", nonpositive="clip")
        _few_decades(axes, chart)
    elif chart.steps or chart.y_label.startswith("share"):
        axes.set_ylim(0, 1.02)
    else:
        axes.yaxis.set_major_formatter(_PLAIN)
        _from_zero(axes, chart)


def line_width(number: int) -> float:
    """The line width of a curve: the first is the widest, so that curves that coincide stay visible."""
    return max(0.9, 1.9 - 0.25 * number)


def _are_apart(places: FloatArray) -> bool:
    """True if there is room for a tick label at every value."""
    return 1 < len(places) <= _MOST_TICKS and bool(np.diff(places).min() >= _CLOSEST * np.ptp(places))


def _few_decades(axes: Axes, chart: Chart) -> None:
    """Ticks at 1, 2 and 5 of each decade if the values span less than two decades."""
    values = [y for series in chart.series for y in series.y if y > 0]
    if values and max(values) < 100 * min(values):
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(_PLAIN)
        axes.yaxis.set_minor_formatter(NullFormatter())


def _from_zero(axes: Axes, chart: Chart) -> None:
    """Start the y axis at 0 unless all values are close together."""
    values = [y for series in chart.series for y in series.y if math.isfinite(y)]
    values += [y + e for s in chart.series for y, e in zip(s.y, s.error, strict=False) if math.isfinite(y + e)]
    if not values or min(values) < 0 or (axes.get_autoscaley_on() and min(values) >= max(values) / 2):
        return
    axes.set_ylim(0, max(1.05 * max(values), axes.get_ylim()[1]))


def caption(figure: Figure, text: str) -> None:
    """Add the caption below all axes, wrapped to the width of the figure."""
    if text:
        letters = int(20 * figure.get_figwidth())
        figure.supxlabel(textwrap.fill(text, letters), fontsize=7)


def alt_text(chart: Chart) -> str:
    """The chart in words: the axes, the first and last value of each curve, and the caption."""
    over = f" over {chart.x_label}" if chart.x_label else ""
    curves = []
    for series in chart.series:
        ends = f"{series.y[0]:.4g} to {series.y[-1]:.4g}" if series.y else "no values"
        curves.append(f"{series.label}: {ends}")
    return f"{chart.title}: {chart.y_label}{over}. {'; '.join(curves)}. {chart.caption}".strip()


def svg(chart: Chart) -> str:
    """The chart as an SVG element; the same chart gives the same text."""
    buffer = io.StringIO()
    with matplotlib.rc_context(STYLE):
        draw(chart).savefig(buffer, format="svg", metadata=dict.fromkeys(_OMITTED_METADATA))
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def save(chart: Chart, path: Path) -> None:
    """Write the chart; the suffix selects the format (.pdf, .png, .svg)."""
    with matplotlib.rc_context(STYLE):
        draw(chart).savefig(path, dpi=200)


def lines(rows: Sequence[dict[str, Any]], x: str, y: str, by: Sequence[str], title: str, caption: str) -> Chart:
    """One curve per combination of the keys ``by``: the mean of ``y`` at each ``x``.

    Several rows (seeds) at one x give Student's 95 % interval.  Rows without a number at ``x`` or
    ``y`` are left out.
    """
    grouped: dict[str, dict[float, list[float]]] = {}
    for row in rows:
        if isinstance(row.get(x), int | float) and isinstance(row.get(y), int | float):
            points = grouped.setdefault(", ".join(str(row[key]) for key in by if row[key] != ""), {})
            points.setdefault(float(row[x]), []).append(float(row[y]))
    series = tuple(_averaged(label, points) for label, points in grouped.items())
    return Chart(title, x, y, series, caption)


def _averaged(label: str, points: dict[float, list[float]]) -> Series:
    at = sorted(points)
    means = tuple(sum(points[x]) / len(points[x]) for x in at)
    errors = tuple(_half_width(points[x]) for x in at)
    return Series(label, tuple(at), means, errors if any(errors) else ())


def _half_width(values: Sequence[float]) -> float:
    """Half the width of the 95 % confidence interval; 0 for a single value."""
    return mean_and_error(values)[1] if len(values) > 1 else 0.0
