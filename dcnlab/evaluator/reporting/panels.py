"""Several charts as panels of one figure, with the names beside the curves and one legend of line styles."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dcnlab.evaluator.reporting.axes import name_curves, paint, style_lines, with_curves_of
from dcnlab.evaluator.reporting.charts import Chart, Panels


def figure(panels: Panels) -> Figure:
    """The rows that show a difference; the panels of a row share the y axis, and all panels of one quantity."""
    grid = panels.grid
    rows = max(1, len(grid))
    drawn = Figure(figsize=(2.9 * panels.columns + 1.2, 2.3 * rows + 0.7), layout="constrained")
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
                title_fontsize=10,
            )
        else:
            drawn.suptitle(panels.title, fontsize=10)
    caption(drawn, caption_of(panels))
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
        axes.text(0.5, 0.5, words, transform=axes.transAxes, ha="center", va="center", color="0.4", fontsize=8)


def caption(drawn: Figure, text: str) -> None:
    """Add the caption below all axes, wrapped to the width of the figure."""
    if text:
        letters = int(18.5 * drawn.get_figwidth())
        drawn.supxlabel(textwrap.fill(text, letters), fontsize=7)
