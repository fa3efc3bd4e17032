"""Figures in the style of a paper, drawn without a display.

A :class:`Chart` holds the curves, and the parameters as its caption.  One function draws all
charts, so that all figures look alike.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_pgf import RendererPgf
from matplotlib.figure import Figure
from matplotlib.text import Text

from dcnlab.evaluator.reporting import panels
from dcnlab.evaluator.reporting.axes import STYLE, group_lines, inches_of, paint, style_lines
from dcnlab.evaluator.reporting.charts import Chart, Panels, in_order, twins
from dcnlab.evaluator.reporting.compared import Curves, Dots, draw_compared, words
from dcnlab.evaluator.reporting.labels import NO_BREAK, relabelled

Drawable = Chart | Panels | Curves | Dots


@dataclass(frozen=True)
class Look:
    """How a figure fits a page: its width in inches (0: as drawn), its font size in points, its caption."""

    width: float = 0.0
    font: float = 9.0
    caption: bool = True

    @property
    def style(self) -> dict[Any, Any]:
        """matplotlib's settings."""
        return {**STYLE, "font.size": self.font, "legend.fontsize": self.font - 1}


_AS_DRAWN = Look()
#: With more curves a legend stands beside the axes instead of the names beside the curves.
_CROWDED = 6
#: Inches of the width that a legend above the axes cannot use: they stand beside their label.
_BESIDE = 0.8
#: With a longer name, as a share of the figure's width, too.
_LONG = 0.3
#: With more rows of a legend above the axes the figure is higher.
_ROWS = 3
#: A legend of points needs less room than one of lines.
_TIGHT: dict[str, Any] = {"frameon": False, "columnspacing": 1.2, "handletextpad": 0.3, "handlelength": 1.2}
#: The least height of a figure in inches.
_LOWEST = 2.5
#: Metadata that matplotlib adds to SVG files by default: the time and the addresses of vocabularies.
_OMITTED_METADATA = ("Date", "Creator", "Format", "Type")


def draw(drawable: Drawable, look: Look = _AS_DRAWN) -> Figure:
    """The chart as a matplotlib figure with the width of a paper's column, or several as panels."""
    with matplotlib.rc_context(look.style):
        if isinstance(drawable, Panels):
            return panels.figure(drawable, look.width, captioned=look.caption)
        if isinstance(drawable, Curves | Dots):
            return draw_compared(drawable)
        figure = Figure(figsize=(4.6, 3.3), layout="constrained")
        if drawable.published:
            return _side_by_side(figure, drawable)
        if look.width:  # before names are placed, which depends on it
            _fit_width(figure, look.width)
        _alone(figure, replace(in_order(drawable), same=twins(drawable)), look.width)
        if look.width:
            _fit_width(figure, look.width)
        panels.caption(figure, drawable.caption if look.caption else "")
    return figure


def _fit_width(figure: Figure, width: float) -> None:
    """Another width in inches: lower where it is narrower, but not too low for its labels."""
    form = figure.get_figheight() / figure.get_figwidth()
    figure.set_size_inches(width, min(figure.get_figheight(), max(_LOWEST, width * form)))


def _alone(figure: Figure, chart: Chart, width: float) -> None:
    """One chart: the names beside its curves, or a legend where there are too many, or points only.

    With a ``width`` (inches) a legend stands above, where it takes none of it.
    """
    axes = figure.subplots()
    names = {series.colour_key for series in chart.series}
    longest = max(
        (inches_of(str(one.get_label()), _AS_DRAWN.font) for one in group_lines([chart])), default=0.0
    )
    fit = longest <= _LONG * (width or math.inf)
    named = 1 < len(names) <= _CROWDED and not chart.names and fit
    paint(axes, chart, named=named)
    if named:
        figure.set_size_inches(5.2, 3.3)
        if lines := style_lines(chart):
            axes.legend(handles=lines, loc="lower right" if chart.steps else "best")
    elif len(names) > _CROWDED and not width:
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0)
        figure.set_size_inches(6.9, max(3.3, 0.7 + 0.17 * len(chart.series)))
    elif (
        chart.names or len(names) > _CROWDED or not fit
    ):  # above: between points a legend hides some, or looks like one
        _legend_above(figure, axes, chart.title, len(names))
    elif chart.series:
        axes.legend(loc="lower right" if chart.steps else "best")


def _legend_above(figure: Figure, axes: Axes, title: str, names: int) -> None:
    """A legend of so many names above the axes, in as many columns as the figure is wide enough for."""
    for columns in range(names, 0, -1):
        above = -(-names // columns)  # lines of the legend
        axes.set_title(title, pad=6 + above * 1.6 * matplotlib.rcParams["legend.fontsize"])
        legend = axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=columns, **_TIGHT)
        if legend.get_window_extent().width <= figure.bbox.width - _BESIDE * figure.dpi:
            break
    more = max(0, above - _ROWS) * 1.6 * matplotlib.rcParams["legend.fontsize"] / 72
    figure.set_figheight(figure.get_figheight() + more)


def _side_by_side(figure: Figure, chart: Chart) -> Figure:
    """The published curves on the left and ours on the right, on the same axes and in the same colours."""
    chart = in_order(chart)
    figure.set_size_inches(9.2, max(3.3, 0.7 + 0.17 * len(chart.series)))
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    both = (*chart.published, *chart.series)
    for axes, series, side in ((left, chart.published, "published"), (right, chart.series, "measured")):
        own = replace(chart, series=series, published=())
        paint(axes, own, replace(own, series=both, title=side))
        crowded = axes is right and len(series) > _CROWDED
        axes.legend(**({"loc": "upper left", "bbox_to_anchor": (1.01, 1)} if crowded else {"loc": "best"}))
    right.set_ylabel("")
    figure.suptitle(chart.title)
    panels.caption(figure, chart.caption)
    return figure


def alt_text(drawable: Drawable) -> str:
    """The chart in words: the axes, the first and last value of each curve, and the caption."""
    if isinstance(drawable, Curves | Dots):
        return words(drawable)
    if isinstance(drawable, Panels):
        shown = [alt_text(chart) for row in drawable.grid for chart in row if chart.differs()]
        return " ".join([f"{drawable.title}.", *shown, panels.caption_of(drawable)]).strip()
    over = f" over {drawable.x_label}" if drawable.x_label else ""
    curves = []
    for series in drawable.series:
        ends = f"{series.y[0]:.4g} to {series.y[-1]:.4g}" if series.y else "no values"
        curves.append(f"{series.label}: {ends}")
    return f"{drawable.title}: {drawable.y_label}{over}. {'; '.join(curves)}. {drawable.caption}".strip()


def svg(drawable: Drawable) -> str:
    """The chart as an SVG element; the same chart gives the same text."""
    buffer = io.StringIO()
    with matplotlib.rc_context(STYLE):
        draw(drawable).savefig(buffer, format="svg", metadata=dict.fromkeys(_OMITTED_METADATA))
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def save(drawable: Drawable, path: Path, look: Look = _AS_DRAWN) -> None:
    """Write the chart; the suffix selects the format (.pdf, .pgf, .png, .svg)."""
    with matplotlib.rc_context(look.style), measured_by_fonts():
        figure = draw(drawable, look)
        for text in figure.findobj(Text):  # lines are broken; files have ordinary spaces
            text.set_text(text.get_text().replace(NO_BREAK, " "))
        figure.savefig(path, dpi=150 if isinstance(drawable, Panels) else 200)


@contextmanager
def measured_by_fonts() -> Iterator[None]:
    """Take the sizes of text in .pgf files from the fonts, as in the other formats: matplotlib starts xelatex,
    which measures the same fonts."""
    name = "get_text_width_height_descent"
    by_latex = getattr(RendererPgf, name)
    setattr(RendererPgf, name, getattr(RendererBase, name))
    try:
        yield
    finally:
        setattr(RendererPgf, name, by_latex)


def publish(drawn: Chart | Panels, path: Path, look: Look, labels: Mapping[str, str]) -> str:
    """Write a figure for a paper, with names for specifications; returns its caption, which is not in it."""
    named = relabelled(drawn, labels)
    save(named, path, replace(look, caption=False))
    caption = panels.caption_of(named) if isinstance(named, Panels) else named.caption
    return caption.replace(NO_BREAK, " ")
