"""Several charts as panels of one figure, with the names beside the curves and one legend of line styles."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dcnlab.evaluator.reporting.axes import (
    group_lines,
    inches_of,
    name_curves,
    paint,
    style_lines,
    with_curves_of,
    wrapped,
)
from dcnlab.evaluator.reporting.charts import Chart, Panels, twins

#: The least height and width of a panel in inches.
_LOWEST, _NARROWEST = 1.5, 1.7
#: The share of a panel's width that a name beside its curve may have.
_BESIDE = 0.4


def figure(panels: Panels, width: float = 0.0, *, captioned: bool = True) -> Figure:
    """The rows that show a difference; the panels of a row share the y axis, and all panels of one quantity.

    With a ``width`` (inches) rows continue below where panels would be too narrow, and names that do not fit
    beside their curves stand in the legend.
    """
    same = twins(*(chart for row in panels.grid for chart in row))
    grid = [[replace(chart, same=same) for chart in row] for row in panels.grid]
    columns = min(panels.columns, max(1, int(width / _NARROWEST))) if width else panels.columns
    lines = [(row[at : at + columns], row) for row in grid for at in range(0, len(row), columns)]
    rows, usual = max(1, len(lines)), 2.9 * columns + 1.2
    height = max(_LOWEST, 2.3 * min(1.0, (width or usual) / usual)) * rows + 0.7
    drawn = Figure(figsize=(width or usual, height), layout="constrained")
    if grid:
        places = drawn.subplots(rows, columns, squeeze=False, sharey=True if _alike(grid) else "row")
        _fill(drawn, panels.title, grid, list(zip(places, lines, strict=True)), width / columns or math.inf)
    caption(drawn, caption_of(panels) if captioned else "")
    return drawn


def _alike(grid: Sequence[Sequence[Chart]]) -> bool:
    """Whether all charts are of one quantity."""
    return len({chart.y_label for row in grid for chart in row}) == 1


def _fill(
    drawn: Figure,
    title: str,
    grid: Sequence[Sequence[Chart]],
    lines: Sequence[tuple[Sequence[Axes], tuple[Sequence[Chart], Sequence[Chart]]]],
    room: float,
) -> None:
    """Draw the charts of each line of axes, with the scale of their row; a panel has ``room`` inches."""
    every = [chart for row in grid for chart in row]
    names, styles = group_lines(every), style_lines(grid[0][0])
    size = matplotlib.rcParams["legend.fontsize"]
    beside = all(inches_of(str(one.get_label()), size) <= _BESIDE * room for one in names)
    named = set() if beside else {series.colour_key for chart in every for series in chart.series}
    for places, (charts, row) in lines:
        _row(places, charts, every if _alike(grid) else row, named)
        for axes in places if math.isfinite(room) else ():
            axes.set_title(
                wrapped(axes.get_title(), 0.8 * room, axes.title.get_fontproperties().get_size_in_points())
            )
            for text in () if axes.axison else axes.texts:  # what a blank panel says
                said = text.get_text().split("\n")
                text.set_text("\n".join(wrapped(line, 0.7 * room, size) for line in said))
    for line in () if beside else styles:
        line.set_color("0.5")  # of no curve's colour
    _legend(drawn, title, styles if beside else names + styles)


def _legend(drawn: Figure, title: str, lines: Sequence[Line2D]) -> None:
    """The title above all panels, and a legend in as many columns as fit."""
    size = matplotlib.rcParams["font.size"] + 1
    if not lines:
        drawn.suptitle(title, fontsize=size)
        return
    look: dict[str, Any] = {"loc": "outside upper center", "title": title, "title_fontsize": size}
    for columns in range(len(lines), 0, -1):
        legend = drawn.legend(handles=lines, ncols=columns, **look)
        if columns == 1 or legend.get_window_extent().width <= drawn.bbox.width:
            break
        legend.remove()
    above = -(-len(lines) // columns)
    drawn.set_figheight(drawn.get_figheight() + (above - 1) * 1.4 * matplotlib.rcParams["legend.fontsize"] / 72)


def caption_of(panels: Panels) -> str:
    """The caption, which rows are left out, and which curves coincide in one panel only."""
    said = [f"{chart.y_label}: {chart.everywhere()}, not drawn" for chart in panels.left_out]
    charts = [chart for row in panels.grid for chart in row if chart.differs()]
    everywhere = twins(*charts)
    for chart in charts:
        same = {name: other for name, other in twins(chart).items() if everywhere.get(name) != other}
        axes = [] if chart.steps else [chart.y_label, chart.x_label]
        there = ", ".join(filter(None, [chart.title, *axes]))
        said += [f"{there}: {name} = {other}" for name, other in same.items()]
    return "; ".join(filter(None, [panels.caption, *said]))


def _row(places: Sequence[Axes], charts: Sequence[Chart], scaled: Sequence[Chart], named: set[str]) -> None:
    """Draw a row with the scale that ``scaled`` needs; the curves that are ``named`` have a name already."""
    scaled = [chart for chart in scaled if chart.differs()]
    shown = [(axes, chart) for axes, chart in zip(places, charts, strict=False) if chart.differs()]
    for axes, chart in itertools.zip_longest(places, charts):
        if chart is None or not chart.differs():
            _blank(axes, chart)
    for axes, chart in shown:
        paint(axes, chart, with_curves_of(chart, scaled))
        axes.tick_params(labelleft=axes is shown[0][0])
        if axes is not shown[0][0]:
            axes.set_ylabel("")
    _name_once(shown, named)


def _name_once(shown: Sequence[tuple[Axes, Chart]], named: set[str]) -> None:
    """Name each curve in the rightmost panel that has it; curves of distributions in every panel."""
    for axes, chart in reversed(shown):
        name_curves(axes, chart, named)
        if not chart.steps:
            named |= {series.colour_key for series in chart.series}


def _blank(axes: Axes, chart: Chart | None) -> None:
    """The place of a chart without a difference says which value it has."""
    axes.set_axis_off()
    if chart is not None:
        words = "\n".join(filter(None, [chart.title, chart.x_label, f"{chart.y_label}: {chart.everywhere()}"]))
        size = matplotlib.rcParams["legend.fontsize"]
        axes.text(
            0.5, 0.5, words, transform=axes.transAxes, ha="center", va="center", color="0.4", fontsize=size
        ).set_in_layout(False)  # other panels keep their width


def caption(drawn: Figure, text: str) -> None:
    """Add the caption below all axes, wrapped to the width of the figure."""
    if text:
        size = matplotlib.rcParams["font.size"] - 2
        letters = int(130 / size * drawn.get_figwidth())
        drawn.supxlabel(textwrap.fill(text, letters), fontsize=size)
