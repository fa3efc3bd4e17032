"""Published and measured values of the same quantities in one figure: over a parameter, or as named rows."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from dcnlab.evaluator.reporting.axes import COLOURS, LINES, MARKERS, are_apart

#: Values that differ by more than this factor are drawn on a logarithmic axis.
_WIDE = 50
#: A tolerance is seen if it is more than this share of the value.
_SEEN = 0.02
#: Letters of a row's name in one line, and of a title.
_NAME, _TITLE = 46, 84
_HOLDS, _FAILS, _READ = COLOURS[0], COLOURS[1], COLOURS[2]
_VERDICTS = {
    "holds": _HOLDS, "not refuted": _HOLDS, "does not hold": _FAILS, "holds by reading": _READ
}  # fmt: skip
_PUBLISHED: dict[str, Any] = {
    "markerfacecolor": "none", "markeredgecolor": "0.25", "markeredgewidth": 1.0, "linestyle": "none",
    "color": "0.25", "zorder": 2,
}  # fmt: skip
_RANGE: dict[str, Any] = {"linewidth": 6, "alpha": 0.3, "solid_capstyle": "butt", "zorder": 1}
_TOLERANCE: dict[str, Any] = {"color": "0.45", "linewidth": 2.2, "alpha": 0.6, "zorder": 1}
_NUMBER = FuncFormatter(lambda value, _: f"{value:,.10g}")


@dataclass(frozen=True)
class Compared:
    """A published value and the measured one.

    ``at`` is its place on a numeric axis, ``name`` what it is called in a row.  ``upper`` is the end of a
    published range, ``relation`` how the measured value must relate to the published one, ``others`` what
    other readings of the sentence give, ``extent`` the range over seeds or choices.
    """

    name: str
    published: float
    measured: float
    at: float = math.nan
    upper: float | None = None
    relation: str = "="
    others: tuple[float, ...] = ()
    extent: tuple[float, float] | None = None
    verdict: str = "holds"
    #: By how much the measured value may miss the published one.
    tolerance: float = 0.0

    @property
    def values(self) -> tuple[float, ...]:
        """Every value that the figure shows."""
        ends = () if self.upper is None else (self.upper,)
        return (self.published, self.measured, *ends, *self.others, *(self.extent or ()))


@dataclass(frozen=True)
class Curves:
    """Compared values over a parameter; each curve has a name (empty where there is one)."""

    title: str
    x_label: str
    y_label: str
    curves: tuple[tuple[str, tuple[Compared, ...]], ...]
    caption: str = ""

    @property
    def values(self) -> list[Compared]:
        """Those of all curves."""
        return list(itertools.chain.from_iterable(values for _, values in self.curves))


@dataclass(frozen=True)
class Dots:
    """Compared values in named rows: the published and the measured one on one line."""

    title: str
    x_label: str
    values: tuple[Compared, ...]
    caption: str = ""


def draw_compared(drawable: Curves | Dots) -> Figure:
    """The figure; its style is that of the caller's matplotlib context."""
    figure = Figure(layout="constrained")
    axes = figure.subplots()
    _curves(figure, axes, drawable) if isinstance(drawable, Curves) else _dots(figure, axes, drawable)
    figure.suptitle(textwrap.fill(drawable.title, int(_TITLE * figure.get_figwidth() / 6.4)), fontsize=9)
    return figure


def words(drawable: Curves | Dots) -> str:
    """The figure in words: how many values it compares, and those that do not hold."""
    failing = [one for one in drawable.values if one.verdict == "does not hold"]
    names = "; ".join(f"{one.name}: {one.measured:.6g}, published {one.published:.6g}" for one in failing)
    count = f"{len(drawable.values)} published and measured values"
    judged = f"Does not hold: {names}." if names else "All hold."
    return f"{drawable.title}: {count}. {judged} {drawable.caption}".strip()


def _dots(figure: Figure, axes: Axes, dots: Dots) -> None:
    names = [textwrap.fill(one.name, _NAME) for one in dots.values]
    heights = [0.21 + 0.13 * name.count("\n") for name in names]
    figure.set_size_inches(7.2, 1.15 + sum(heights))
    _scale(axes.set_xscale, axes.xaxis, dots.values)
    places = list(itertools.accumulate(heights))
    for y, one in zip(places, dots.values, strict=True):
        _dot(axes, y, one)
    axes.set_yticks(places, names, fontsize=7.5)
    axes.set_ylim(places[-1] + 0.2, places[0] - 0.2)
    axes.grid(visible=False, axis="x")
    axes.set_xlabel(dots.x_label)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(handles=_dot_legend(dots.values), loc="outside lower center", ncols=3)


def _dot(axes: Axes, y: float, one: Compared) -> None:
    colour = _VERDICTS.get(one.verdict, _HOLDS)
    ends = [one.measured, one.published if one.upper is None else _nearest(one)]
    axes.plot(ends, [y, y], "-", color="0.6", linewidth=0.8, zorder=1)
    if one.upper is not None:
        axes.plot([one.published, one.upper], [y, y], color="0.25", **_RANGE)
    if one.tolerance:
        axes.plot(_around(one), [y, y], **_TOLERANCE)
    if one.upper is None:
        axes.plot(one.published, y, **_PUBLISHED | {"marker": _marker(one, "<", ">"), "markersize": 7})
    if one.extent:
        axes.plot(one.extent, [y, y], "-", color=colour, linewidth=1.4, zorder=2)
    axes.plot(one.others, [y] * len(one.others), "|", color=colour, markersize=5, zorder=3)
    axes.plot(one.measured, y, "o", color=colour, markersize=3.6, zorder=4)


def _around(one: Compared) -> list[float]:
    """The published value, or range, with the tolerance on the sides where it counts."""
    low, high = one.published, one.published if one.upper is None else one.upper
    below = one.tolerance if one.relation in ("=", ">", ">=") else 0
    above = one.tolerance if one.relation in ("=", "<", "<=") else 0
    return [low - below, high + above]


def _nearest(one: Compared) -> float:
    """The value of a published range that is nearest to the measured one."""
    return min(max(one.measured, one.published), one.published if one.upper is None else one.upper)


def _marker(one: Compared, least: str, most: str) -> str:
    """A ring for a value, or a triangle that points to the side on which the measured value has to be."""
    return {"=": "o", "<": least, "<=": least, ">": most, ">=": most}[one.relation]


def _published_legend(values: Sequence[Compared], least: str, most: str) -> list[Line2D]:
    """What the published signs mean, of those that the figure has."""
    names = {"o": "published", least: "published limit: below", most: "published limit: above"}
    shown = {_marker(one, least, most) for one in values if one.upper is None}
    handles = [
        Line2D([], [], **_PUBLISHED | {"marker": marker, "markersize": 6}, label=name)
        for marker, name in names.items()
        if marker in shown
    ]
    if any(one.upper is not None for one in values):
        handles.append(Line2D([], [], color="0.25", **_RANGE, label="published range"))
    if any(one.tolerance > _SEEN * abs(one.published) for one in values):
        handles.append(Line2D([], [], **_TOLERANCE, label="tolerance"))
    return handles


def _dot_legend(values: Sequence[Compared]) -> list[Line2D]:
    handles = _published_legend(values, "<", ">")
    for verdict, colour in _VERDICTS.items():
        if any(one.verdict == verdict for one in values):
            look: dict[str, Any] = {"marker": "o", "linestyle": "none", "markersize": 4, "color": colour}
            handles.append(Line2D([], [], **look, label=f"measured, {verdict}"))
    if any(one.others for one in values):
        handles.append(Line2D([], [], marker="|", linestyle="none", color="0.2", label="other readings"))
    return handles


def _curves(figure: Figure, axes: Axes, chart: Curves) -> None:
    figure.set_size_inches(5.4, 3.4)
    _scale(axes.set_yscale, axes.yaxis, chart.values)
    places = sorted({one.at for one in chart.values})
    if len(places) > 2 and places[0] > 0 and places[-1] > 16 * places[0]:
        axes.set_xscale("log", base=2 if all(math.log2(place).is_integer() for place in places) else 10)
    axes.xaxis.set_major_formatter(_NUMBER)
    logarithmic = axes.get_xscale() == "log"
    if are_apart(np.log(places) if logarithmic else np.array(places)):
        axes.set_xticks(places)
        axes.set_xticks([], minor=True)
    for number, (_, values) in enumerate(chart.curves):
        _curve(axes, number, sorted(values, key=lambda one: one.at))
    axes.set(xlabel=chart.x_label, ylabel=textwrap.fill(chart.y_label, 38))
    handles = _curve_legend(chart)
    letters = max(len(str(handle.get_label())) for handle in handles)
    figure.legend(handles=handles, loc="outside lower center", ncols=max(1, min(3, 84 // (letters + 7))))


def _curve(axes: Axes, number: int, values: Sequence[Compared]) -> None:
    colour, line = COLOURS[number % len(COLOURS)], LINES[number % len(LINES)]
    marker = MARKERS[number % len(MARKERS)]
    places = [one.at for one in values]
    axes.plot(
        places, [one.measured for one in values], line, color=colour, marker=marker, markersize=3.5, linewidth=1
    )
    for one in values:
        if one.tolerance:
            axes.plot([one.at] * 2, _around(one), **_TOLERANCE)
        if one.upper is None:
            shape = marker if one.relation == "=" else _marker(one, "v", "^")
            look = {"marker": shape, "markersize": 8, "markeredgecolor": colour}
            axes.plot(one.at, one.published, **_PUBLISHED | look)
        else:
            axes.plot([one.at] * 2, [one.published, one.upper], color=colour, **_RANGE)
        if one.extent:
            axes.plot([one.at] * 2, one.extent, "-", color=colour, linewidth=1.2)
        axes.plot([one.at] * len(one.others), one.others, "_", color=colour, markersize=5)


def _curve_legend(chart: Curves) -> list[Line2D]:
    handles = []
    for number, (name, _) in enumerate(chart.curves):
        if name:
            colour, line = COLOURS[number % len(COLOURS)], LINES[number % len(LINES)]
            marker = MARKERS[number % len(MARKERS)]
            handles.append(
                Line2D([], [], color=colour, linestyle=line, marker=marker, markersize=3.5, label=name)
            )
    own: dict[str, Any] = {"marker": "o", "markersize": 3.5, "color": "black", "linewidth": 1}
    handles.append(Line2D([], [], **own, label="measured"))
    handles += _published_legend(chart.values, "v", "^")
    if any(one.others for one in chart.values):
        handles.append(Line2D([], [], marker="_", linestyle="none", color="black", label="other readings"))
    return handles


def _scale(set_scale: Any, axis: Any, values: Sequence[Compared]) -> None:
    """A logarithmic scale where positive values differ much; numbers without powers of ten."""
    numbers = [value for one in values for value in one.values if math.isfinite(value)]
    if min(numbers) > 0 and max(numbers) > _WIDE * min(numbers):
        set_scale("log")
    axis.set_major_formatter(_NUMBER)
