"""One pair of axes: curves, scales, ticks, and names beside the curves."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, Literal

import matplotlib
import numpy as np
from cycler import cycler
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.textpath import TextPath
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from dcnlab.evaluator.reporting.charts import Chart, Series, in_order
from topos.arrays import Floats

#: Colours that colour-blind readers can distinguish (Okabe and Ito, without yellow).
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#e69f00", "#56b4e9")
STYLE: dict[Any, Any] = {
    "axes.prop_cycle": cycler(color=COLOURS),
    "font.family": "serif",
    "font.size": 9,
    "axes.grid": True,
    "grid.linestyle": ":",
    "grid.linewidth": 0.5,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "pdf.fonttype": 42,  # TrueType: publishers refuse matplotlib's Type 3
    "svg.fonttype": "none",
    "svg.hashsalt": "dcnlab",
}
MARKERS = "osD^vPX*<>"
LINES: tuple[Literal["-", "--", "-.", ":"], ...] = ("-", "--", "-.", ":")
#: An axis has a tick at every value if there are at most this many, this share of the axis apart.
_MOST_TICKS, _CLOSEST = 6, 0.07
#: Numbers without powers of ten or offsets.
_PLAIN = FuncFormatter(lambda value, _: f"{value:,.10g}")
#: The least distance of two names beside curves, in their height.
_APART = 1.1
#: Letters of one line of the y axis's label.
_LABEL = 36
#: A distribution has ended where no more than this share of the pairs is left.
_SETTLED = 0.002


def paint(axes: Axes, chart: Chart, scales: Chart | None = None, named: bool = False) -> None:
    """Draw a chart's curves; ``scales`` has the curves that decide the scales, and the title.

    With ``named`` the names of the groups stand beside their curves.
    """
    chart = in_order(chart)
    for i, series in enumerate(chart.series):
        _curve(axes, chart, series, i)
    label_axes(axes, scales or chart)
    if chart.steps:
        _end_where_curves_agree(axes, scales or chart)
    if named:
        name_curves(axes, chart)


def _curve(axes: Axes, chart: Chart, series: Series, number: int) -> None:
    look = {**_look(chart, series), "label": chart.name_of(series, series.label)}
    if chart.steps:
        axes.step(series.x, series.y, where="post", **look)
        return
    x = _beside(chart, number) if chart.names else series.x
    axes.errorbar(x, series.y, _bounded(chart, series), capsize=2, elinewidth=0.8, **look)


def _look(chart: Chart, series: Series) -> dict[str, Any]:
    """How a curve is drawn: the group decides its colour, marker and width, the style its line."""
    group, style = chart.groups.index(series.colour_key), chart.styles.index(series.style)
    width = line_width(group)
    # A curve that is alone in its colour differs from the others by its line as well.
    line = LINES[(style if len(chart.styles) > 1 else group) % len(LINES)]
    look = {"color": COLOURS[group % len(COLOURS)], "linewidth": width, "linestyle": line}
    if chart.steps:
        return look
    marker = {"marker": MARKERS[group % len(MARKERS)], "markersize": 3 + width}
    return {**look, **marker, "linestyle": "none" if chart.names else line}


def _bounded(chart: Chart, series: Series) -> Any:
    """The intervals, within 0 and 1 for shares, and above 0 on a logarithmic axis."""
    if not any(series.error):
        return None
    y, half = np.array(series.y), np.array(series.error)
    low, high = half, half
    if is_share(chart):
        low, high = np.minimum(half, y), np.minimum(half, 1 - y)
    elif chart.log_y:
        low = np.minimum(half, np.maximum(0.9 * y, 0))
    return np.maximum(np.stack([low, high]), 0)


def is_share(chart: Chart) -> bool:
    """Whether the y axis is a share, from 0 to 1."""
    return chart.steps or chart.y_label.startswith("share")


def _beside(chart: Chart, number: int) -> list[float]:
    """The x values of a series over categories, shifted so that the series stand side by side."""
    count = len(chart.series)
    aside = max(0.5, min(0.8, 0.1 * count)) * (number - (count - 1) / 2) / count
    return [x + aside for x in chart.series[number].x]


def label_axes(axes: Axes, chart: Chart) -> None:
    """Set the title, axis labels, scales and ticks; ticks are whole numbers if all x values are."""
    axes.set(title=chart.title, xlabel=chart.x_label, ylabel=_in_lines(chart.y_label, _letters(axes)))
    places = sorted({x for series in chart.series for x in series.x})
    if chart.log_x:
        axes.set_xscale("log", base=2)
    if chart.names:
        names, turned = _below(axes, chart.names)
        axes.set_xticks(range(len(names)), names, **turned)
    elif chart.log_x or all(x == int(x) for x in places):
        axes.xaxis.set_major_formatter(_PLAIN)
        if are_apart(np.log(places) if chart.log_x else np.array(places)):
            axes.xaxis.set_major_locator(FixedLocator(places))
            axes.xaxis.set_minor_locator(NullLocator())
        elif not chart.log_x:
            axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
    if chart.log_y and any(y > 0 for series in chart.series for y in series.y):
        axes.set_yscale("log", nonpositive="clip")
        _few_decades(axes, chart)
    elif is_share(chart):
        axes.set_ylim(*_share_limits(chart))
    else:
        axes.yaxis.set_major_formatter(_PLAIN)
        _from_zero(axes, chart)


def _share_limits(chart: Chart) -> tuple[float, float]:
    """From 0 to 1; or less of it, where all values are large or small, and in distributions."""
    points = [(y, e) for s in chart.series for y, e in zip(s.y, s.error or (0.0,) * len(s.y), strict=True)]
    finite = [(y, e) for y, e in points if math.isfinite(y)]
    least = max(0.0, min((y - e for y, e in finite), default=0.0))
    most = min(1.0, max((y + e for y, e in finite), default=1.0))
    if 0 < most < 0.5 and not chart.steps:
        return 0, 1.05 * most
    if (least <= 0.5 and not chart.steps) or least >= 1:
        return 0, 1.02
    margin = 0.12 * (1 - least)
    return max(0, least - margin), 1 + margin / 2


def _end_where_curves_agree(axes: Axes, chart: Chart) -> None:
    """End the axis of a distribution where the last curve has reached its end."""
    ends = [_settled(series) for series in chart.series if series.x]
    if ends:
        first = min(series.x[0] for series in chart.series if series.x)
        last = max(ends)
        axes.set_xlim(first - 0.02 * (last - first or 1), last + 0.12 * (last - first or 1))


def _settled(series: Series) -> float:
    """The first x from which the curve is as good as constant."""
    return next(x for x, y in zip(series.x, series.y, strict=True) if y >= series.y[-1] - _SETTLED)


def line_width(number: int) -> float:
    """The line width of a curve: the first is the widest, so that curves that coincide stay visible."""
    return max(0.9, 1.9 - 0.25 * number)


def are_apart(places: Floats) -> bool:
    """True if there is room for a tick label at every value."""
    return 1 < len(places) <= _MOST_TICKS and bool(np.diff(places).min() >= _CLOSEST * np.ptp(places))


def _few_decades(axes: Axes, chart: Chart) -> None:
    """Limits by the values, not by their intervals; ticks at 1, 2 and 5 if they span less than two decades."""
    values = [y for series in chart.series for y in series.y if y > 0]
    if max(values) < 100 * min(values):
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(_PLAIN)
    if any(any(series.error) for series in chart.series):
        axes.set_ylim(0.6 * min(values), 1.6 * max(values))


def _from_zero(axes: Axes, chart: Chart) -> None:
    """Start the y axis at 0 unless all values are close together."""
    values = [y for series in chart.series for y in series.y if math.isfinite(y)]
    values += [y + e for s in chart.series for y, e in zip(s.y, s.error, strict=False) if math.isfinite(y + e)]
    if not values or min(values) < 0 or (axes.get_autoscaley_on() and min(values) >= max(values) / 2):
        return
    axes.set_ylim(0, max(1.05 * max(values), axes.get_ylim()[1]))


def style_lines(chart: Chart) -> list[Line2D]:
    """For a legend: a black line for each line style, where there are several."""
    styles = in_order(chart).styles
    if len(styles) < 2:
        return []
    return [
        Line2D([], [], color="black", linestyle=LINES[i % len(LINES)], label=style or "no failures")
        for i, style in enumerate(styles)
    ]


def group_lines(charts: Sequence[Chart]) -> list[Line2D]:
    """For a legend: a line for each group that the charts draw, as its first curve is drawn."""
    lines: dict[str, Line2D] = {}
    for chart in map(in_order, charts):
        for series in chart.series:
            name = chart.name_of(series, series.colour_key)
            lines.setdefault(series.colour_key, Line2D([], [], label=name, **_look(chart, series)))
    return list(lines.values())


def name_curves(axes: Axes, chart: Chart, without: Collection[str] = ()) -> None:
    """Write the name of each group, but those of ``without``, beside its first curve, in its colour.

    Beside the last point; in a distribution, whose curves all end at 1, where the curves are farthest apart.
    """
    chart = in_order(chart)
    first: dict[str, Series] = {}
    for series in chart.series:
        if any(map(math.isfinite, series.y)) and series.colour_key not in without:
            first.setdefault(series.colour_key, series)
    if not first:
        return
    axes.get_xlim(), axes.get_ylim()  # matplotlib computes limits when they are read, not for transforms
    at = _widest(list(first.values())) if chart.steps else math.nan
    ends = {name: _place(series, at) for name, series in first.items()}
    to_share = axes.transScale + axes.transLimits
    shares = {name: float(to_share.transform(end)[1]) for name, end in ends.items()}
    for name, height in _spread(shares, _apart(axes)).items():
        colour = COLOURS[chart.groups.index(name) % len(COLOURS)]
        _name(axes, chart.name_of(first[name], name), ends[name], height, colour, chart.steps)


def _apart(axes: Axes) -> float:
    """The least distance of two names as a share of the height of the axes."""
    figure = axes.get_figure(root=True)
    inches = axes.get_position().height * float(figure.get_figheight()) if figure is not None else math.inf
    return float(_APART * matplotlib.rcParams["legend.fontsize"] / 72 / inches)


def _name(axes: Axes, name: str, end: tuple[float, float], height: float, colour: str, inside: bool) -> None:
    """A name at a height, as a share of the axes; ``inside`` them, or at their right side."""
    size = matplotlib.rcParams["legend.fontsize"]
    if inside:
        left = float((axes.transScale + axes.transLimits).transform(end)[0]) + 0.015
        words = axes.text(
            left, height - 0.01, name, color=colour, fontsize=size, transform=axes.transAxes, va="top"
        )
        words.set_path_effects([patheffects.withStroke(linewidth=2.5, foreground="white")])
        return
    axes.annotate(
        name, xy=end, xycoords="data", xytext=(1.02, height), textcoords="axes fraction", color=colour,
        fontsize=size, va="center", annotation_clip=False,
        arrowprops={
            "arrowstyle": "-", "color": colour, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 3,
            "relpos": (0, 0.5),  # from the side of the name, not from its middle across others
        },
    )  # fmt: skip


def _widest(curves: Sequence[Series]) -> float:
    """The x at which distributions are farthest apart."""
    places = sorted({x for series in curves for x in series.x})
    return max(places, key=lambda x: np.ptp([_place(series, x)[1] for series in curves]))


def _place(series: Series, at: float) -> tuple[float, float]:
    """The last point of a curve that is not after ``at`` (NaN: the last of all)."""
    points = [
        (x, y) for x, y in zip(series.x, series.y, strict=True) if math.isfinite(y) and (not x > at)
    ] or [(series.x[0], series.y[0])]  # fmt: skip
    return points[-1] if math.isnan(at) else (at, points[-1][1])


def _spread(heights: dict[str, float], apart: float) -> dict[str, float]:
    """The heights, moved so far apart, as little as needed, in their order, and inside the axes."""
    names = sorted(heights, key=lambda name: heights[name])
    spread: dict[str, float] = {}
    lowest = 0.0
    for name in names:
        spread[name] = lowest = max(heights[name], lowest)
        lowest += apart
    highest = 1.0
    for name in reversed(names):
        spread[name] = min(spread[name], highest)
        highest = spread[name] - apart
    return spread


def with_curves_of(chart: Chart, others: Sequence[Chart]) -> Chart:
    """The chart with the curves of all others: it decides the scales of panels that share them."""
    return replace(chart, series=tuple(series for other in others for series in other.series))


def _in_lines(label: str, letters: int) -> str:
    """A label in lines of so many letters; its unit, in brackets, stays together where it fits."""
    text, bracket, unit = label.partition(" (")
    if not bracket or len(label) <= letters or len(unit) >= letters:
        return textwrap.fill(label, letters)
    return textwrap.fill(text, letters) + "\n(" + unit


def _letters(axes: Axes) -> int:
    """The letters of a line beside the axes, at most :data:`_LABEL`."""
    figure = axes.get_figure(root=True)
    inches = float(figure.get_figheight()) * 0.6 if figure is not None else math.inf
    return int(max(12, min(_LABEL, inches * 72 / (0.6 * matplotlib.rcParams["font.size"]))))


def _below(axes: Axes, names: Sequence[str]) -> tuple[Sequence[str], dict[str, Any]]:
    """Names below the axes, and how they stand: side by side, in lines that end between words, or turned."""
    figure, size = axes.get_figure(root=True), float(matplotlib.rcParams["font.size"])
    if figure is None:
        return names, {}
    # What stands beside the axes is about as wide as six letters are high.
    room = (float(figure.get_figwidth()) - 6 * size / 72) / len(names) - size / 144
    below = ["\n".join(wrapped(part, room, size) for part in name.split("\n")) for name in names]
    if all(inches_of(line, size) <= room for name in below for line in name.split("\n")):
        return below, {}
    return names, {"rotation": 30, "ha": "right"}


def wrapped(text: str, room: float, size: float) -> str:
    """Lines of about so many inches, which end between words; within names only where a name is longer."""
    letters = max(1, int(len(text) * room / max(inches_of(text, size), 1e-9)))
    lines = textwrap.wrap(text, letters, break_long_words=False)
    return "\n".join(
        textwrap.fill(line.replace("\xa0", " "), letters, break_long_words=False)
        if len(line) > letters
        else line
        for line in lines
    )


def inches_of(text: str, size: float) -> float:
    """The width of a text at a font size in points."""
    font = FontProperties(family=matplotlib.rcParams["font.family"])
    return float(TextPath((0, 0), text, size=size, prop=font).get_extents().width) / 72 if text else 0.0
