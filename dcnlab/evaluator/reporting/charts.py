"""What a figure shows: curves, their axes, and the parameters in words.  Data only."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

#: Values that differ by no more than this share of the largest look alike in a figure.
_VISIBLE = 0.002


@dataclass(frozen=True)
class Series:
    """One curve; ``error`` is half the width of each point's confidence interval.

    Curves of one ``group`` (a scheme, or a network) have one colour, those of one ``style`` (a kind of
    failure) one line style.  Without a group each curve has a colour of its own.
    """

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    error: tuple[float, ...] = ()
    group: str = ""
    style: str = ""

    @property
    def colour_key(self) -> str:
        """Equal for curves of one colour."""
        return self.group or self.label


@dataclass(frozen=True)
class Chart:
    """A figure: curves, axes, and a caption with the parameters."""

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    caption: str = ""
    #: A cumulative distribution: drawn as steps.
    steps: bool = False
    log_x: bool = False
    log_y: bool = False
    #: Names of x = 0, 1, ... (categories): the points are then not connected.
    names: tuple[str, ...] = ()
    #: The paper's curves or values: they stand on the left, with the same axes.
    published: tuple[Series, ...] = ()
    #: The groups and styles of all figures of a page, in the order of their colours and line styles.
    groups: tuple[str, ...] = ()
    styles: tuple[str, ...] = ()
    #: Groups whose curves coincide with those of an earlier one, and that one: see :func:`twins`.
    same: Mapping[str, str] = field(default_factory=dict)

    def name_of(self, series: Series, name: str) -> str:
        """The name of a curve, with the group whose curves are the same, where there is one."""
        other = self.same.get(series.colour_key)
        return f"{name} (= {other})" if other else name

    def differs(self) -> bool:
        """Whether the figure shows a difference that can be seen: between curves, or along one of them."""
        values = self.values()
        return bool(values) and max(values) - min(values) > _VISIBLE * max(map(abs, values))

    def everywhere(self) -> str:
        """What a chart without a difference says: the value, or the range, that every curve has."""
        values = self.values()
        ends = dict.fromkeys(f"{value:.4g}" for value in (min(values), max(values))) if values else ()
        return f"{' to '.join(ends)} everywhere" if ends else "no values"

    def values(self) -> set[float]:
        """All values that are drawn."""
        return {y for series in self.series for y in series.y if math.isfinite(y)}


@dataclass(frozen=True)
class Panels:
    """Several charts as one figure, row by row; the panels of a row share the y axis, and all of one quantity.

    A chart without a difference is left out; its place says which value it has everywhere.
    """

    title: str
    charts: tuple[Chart, ...]
    columns: int
    caption: str = ""

    @property
    def grid(self) -> tuple[tuple[Chart, ...], ...]:
        """The rows that show any difference."""
        rows = (self.charts[at : at + self.columns] for at in range(0, len(self.charts), self.columns))
        return tuple(row for row in rows if any(chart.differs() for chart in row))

    @property
    def left_out(self) -> tuple[Chart, ...]:
        """The first chart of each row without any difference."""
        rows = (self.charts[at : at + self.columns] for at in range(0, len(self.charts), self.columns))
        return tuple(row[0] for row in rows if not any(chart.differs() for chart in row))


def in_order(chart: Chart) -> Chart:
    """The chart with its groups and styles in order of first appearance, where it names none."""
    curves = (*chart.published, *chart.series)
    groups = chart.groups or tuple(dict.fromkeys(series.colour_key for series in curves))
    styles = chart.styles or tuple(dict.fromkeys(series.style for series in curves))
    return replace(chart, groups=groups, styles=styles)


def twins(*charts: Chart) -> dict[str, str]:
    """Groups whose curves coincide with those of an earlier group, in all charts, and that group.

    Points over categories stand side by side, so that none hides another.
    """
    drawn = [chart for chart in charts if not chart.names]
    names = dict.fromkeys(series.colour_key for chart in drawn for series in chart.series)
    twin_of: dict[str, str] = {}
    for name, other in ((b, a) for a, b in itertools.combinations(names, 2)):
        if not {name, other} & twin_of.keys() and all(_coincide(chart, name, other) for chart in drawn):
            twin_of[name] = other
    return twin_of


def _coincide(chart: Chart, one: str, other: str) -> bool:
    """Whether the curves of two groups look alike, style by style."""
    curves, others = (
        {series.style: series for series in chart.series if series.colour_key == name} for name in (one, other)
    )
    near = _VISIBLE * max((abs(y) for y in chart.values()), default=0.0)
    return curves.keys() == others.keys() and all(
        curves[style].x == others[style].x
        and all(abs(a - b) <= near for a, b in zip(curves[style].y, others[style].y, strict=True))
        for style in curves
    )
