"""Figures as in a paper, from series of numbers; drawn without a display.

A :class:`Chart` says what is shown and under which parameters (its caption); drawing
is one function, so that all figures look alike.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from scipy import stats

matplotlib.use("Agg")

_STYLE: dict[Any, Any] = {
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
#: More curves than this get their legend beside the axes.
_CROWDED = 6
_MARKERS = "osD^vPX*<>"
_LINES = ("-", "--", "-.", ":")


@dataclass(frozen=True)
class Series:
    """One curve; ``error`` is half the width of each point's confidence interval."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    error: tuple[float, ...] = ()


@dataclass(frozen=True)
class Chart:
    """A figure: its curves, axes, and the caption that carries its parameters."""

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    caption: str = ""
    #: A distribution function: steps instead of markers, y from 0 to 1.
    steps: bool = False
    log_x: bool = False
    log_y: bool = False
    #: Names of x = 0, 1, ...: the points are then no curve, and are not joined.
    names: tuple[str, ...] = ()


def draw(chart: Chart) -> Figure:
    """The chart as a matplotlib figure of a paper column's width."""
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(4.6, 3.3), layout="constrained")
        axes = figure.subplots()
        for i, series in enumerate(chart.series):
            line = _LINES[i % len(_LINES)]
            if chart.steps:
                axes.step(series.x, series.y, line, where="post", label=series.label, linewidth=1.2)
                continue
            error = series.error or None
            marker = _MARKERS[i % len(_MARKERS)]
            axes.errorbar(
                series.x, series.y, error, label=series.label, marker=marker,
                linestyle="none" if chart.names else line,
                markersize=4, linewidth=1.1, capsize=2,
            )  # fmt: skip
        axes.set(title=chart.title, xlabel=chart.x_label, ylabel=chart.y_label)
        if chart.log_x:
            axes.set_xscale("log", base=2)
        if chart.log_y:
            axes.set_yscale("log")
        if chart.steps or chart.y_label.startswith("share"):
            axes.set_ylim(0, 1.02)
        if chart.names:
            axes.set_xticks(range(len(chart.names)), chart.names, rotation=30, ha="right")
        if len(chart.series) > _CROWDED:
            axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0)
            figure.set_size_inches(6.9, max(3.3, 0.7 + 0.17 * len(chart.series)))
        elif chart.series:
            axes.legend(loc="lower right" if chart.steps else "best")
        if chart.caption:
            figure.supxlabel(chart.caption, fontsize=7)
    return figure


def svg(chart: Chart) -> str:
    """The chart as an SVG element; the same chart gives the same text."""
    buffer = io.StringIO()
    with matplotlib.rc_context(_STYLE):
        draw(chart).savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def save(chart: Chart, path: Path) -> None:
    """Write the chart; the suffix names the format (.pdf, .png, .svg)."""
    with matplotlib.rc_context(_STYLE):
        draw(chart).savefig(path, dpi=200)


def lines(rows: Sequence[dict[str, Any]], x: str, y: str, by: Sequence[str], title: str, caption: str) -> Chart:
    """One curve per combination of the keys ``by``: the mean of ``y`` at each ``x``, with
    Student's 95 % interval where several rows (seeds) meet.  Rows without a
    number at either key are left out."""
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
    errors = tuple(_interval(points[x]) for x in at)
    return Series(label, tuple(at), means, errors if any(errors) else ())


def _interval(values: Sequence[float]) -> float:
    """Half the width of Student's 95 % interval; 0 for a single value."""
    if len(values) < 2:
        return 0.0
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return float(stats.t.ppf(0.975, len(values) - 1)) * error
