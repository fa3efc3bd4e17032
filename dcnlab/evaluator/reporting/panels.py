"""Several charts as panels of one figure; confidence intervals are drawn as bands."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dcnlab.evaluator.reporting.plots import LINES, MARKERS, STYLE, Chart, caption, label_axes, line_width


def save(charts: Sequence[Chart], columns: int, path: Path) -> None:
    """Write the charts row by row with one legend; the suffix selects the format (.pdf, .png, .svg)."""
    with matplotlib.rc_context(STYLE):
        figure(charts, columns).savefig(path, dpi=150)


def figure(charts: Sequence[Chart], columns: int) -> Figure:
    """The charts row by row: the panels of a row share the y axis, and all share the first one's legend."""
    rows = -(-len(charts) // columns)
    drawn = Figure(figsize=(3.1 * columns, 2.3 * rows + 0.6), layout="constrained")
    grid = drawn.subplots(rows, columns, squeeze=False, sharey="row")
    for axes, chart in itertools.zip_longest(grid.flat, charts):
        if chart is None:
            axes.set_axis_off()
        else:
            _paint(axes, chart, named=axes in grid[:, 0])
    handles, labels = grid[0, 0].get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside upper center", ncols=min(len(labels), 2 * columns))
    caption(drawn, charts[0].caption)
    return drawn


def _paint(axes: Axes, chart: Chart, named: bool) -> None:
    for i, series in enumerate(chart.series):
        colour = f"C{i}"
        axes.plot(
            series.x, series.y, LINES[i % len(LINES)], color=colour, marker=MARKERS[i % len(MARKERS)],
            label=series.label, markersize=2.5 + line_width(i), linewidth=line_width(i),
        )  # fmt: skip
        if series.error:
            low = [y - e for y, e in zip(series.y, series.error, strict=True)]
            high = [y + e for y, e in zip(series.y, series.error, strict=True)]
            axes.fill_between(series.x, low, high, color=colour, alpha=0.2, linewidth=0)
    label_axes(axes, chart)
    if not named:
        axes.set_ylabel("")
