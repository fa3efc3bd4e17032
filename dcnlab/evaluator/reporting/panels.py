"""Several charts as panels of one figure, with the names beside the curves and one legend of line styles."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Sequence
from dataclasses import replace

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dcnlab.evaluator.reporting.axes import name_curves, paint, style_lines, with_curves_of
from dcnlab.evaluator.reporting.charts import Chart, Panels, twins

#: The least height of a panel in inches.
_LOWEST = 1.5


def figure(panels: Panels, width: float = 0.0, *, captioned: bool = True) -> Figure:
    """The rows that show a difference; the panels of a row share the y axis, and all panels of one quantity.

    Panels are lower where ``width`` (inches) is less than the usual one.
    """
    same = twins(*(chart for row in panels.grid for chart in row))
    grid = [[replace(chart, same=same) for chart in row] for row in panels.grid]
    rows, usual = max(1, len(grid)), 2.9 * panels.columns + 1.2
    height = max(_LOWEST, 2.3 * min(1.0, (width or usual) / usual)) * rows + 0.7
    drawn = Figure(figsize=(width or usual, height), layout="constrained")
    if grid:
        alike = len({chart.y_label for line in grid for chart in line}) == 1
        places = drawn.subplots(rows, panels.columns, squeeze=False, sharey=True if alike else "row")
        named: set[str] = set()
        for line, charts in zip(places, grid, strict=True):
            _row(line, charts, [one for each in grid for one in each] if alike else charts, named)
        lines = style_lines(grid[0][0])
        if lines:
            drawn.legend(
                handles=lines,
                loc="outside upper center",
                ncols=len(lines),
                title=panels.title,
                title_fontsize=matplotlib.rcParams["font.size"] + 1,
            )
        else:
            drawn.suptitle(panels.title, fontsize=matplotlib.rcParams["font.size"] + 1)
    caption(drawn, caption_of(panels) if captioned else "")
    return drawn


def caption_of(panels: Panels) -> str:
    """The caption, and which rows are left out."""
    said = [f"{chart.y_label}: {chart.everywhere()}, not drawn" for chart in panels.left_out]
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
        )


def caption(drawn: Figure, text: str) -> None:
    """Add the caption below all axes, wrapped to the width of the figure."""
    if text:
        size = matplotlib.rcParams["font.size"] - 2
        letters = int(130 / size * drawn.get_figwidth())
        drawn.supxlabel(textwrap.fill(text, letters), fontsize=size)
