"""Charts: colours, layout, axes and legends of the finished figure."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from dcnlab.evaluator.reporting import panels
from dcnlab.evaluator.reporting.plots import STYLE, Chart, Series, draw

SIZES = (256.0, 1024.0, 8192.0)
CHART = Chart("Tables", "switches", "entries", (Series("hrsw", SIZES, (31.0, 79.0, 527.0)),), "seed 1")
#: How colour-blind readers see linear red, green and blue (Machado, Oliveira, Fernandes, 2009, severity 1).
BLIND = {
    "protan": [[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.0520]],
    "deutan": [[0.3673, 0.8606, -0.2280], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]],
}


def rendered(chart: Chart) -> Figure:
    with matplotlib.rc_context(STYLE):
        figure = draw(chart)
        FigureCanvasAgg(figure).draw()  # type: ignore[no-untyped-call]
    return figure


@pytest.mark.parametrize("kind", BLIND)
def test_colours_differ_for_everybody(kind: str) -> None:
    """The smallest distance of two colours is 1.5 times that of as many of matplotlib's default colours."""

    def closest(colours: list[Any]) -> float:
        seen = [np.clip(BLIND[kind] @ np.array(to_rgb(c)) ** 2.2, 0, 1) ** (1 / 2.2) for c in colours]
        return min(float(np.linalg.norm(a - b)) for a, b in itertools.combinations(seen, 2))

    ours = [entry["color"] for entry in STYLE["axes.prop_cycle"]]
    assert closest(ours) > 1.5 * closest(list(matplotlib.color_sequences["tab10"])[: len(ours)])


@pytest.mark.parametrize("curves", [1, 5, 9])
def test_captions_and_legends_are_inside_the_figure(curves: int) -> None:
    """Captions of any length and legends of any number of curves are inside the figure."""
    many = tuple(replace(CHART.series[0], label=f"a scheme with a long name, {i}") for i in range(curves))
    figure = rendered(replace(CHART, series=many, caption="all that it was measured under; " * 8))
    axes, whole = figure.axes[0], figure.bbox
    legend = axes.get_legend()
    assert legend is not None
    assert len(figure.texts) == 1  # the caption
    for part in (*figure.texts, axes.title, axes.yaxis.label, legend):
        box = part.get_window_extent()
        assert whole.x0 <= box.x0 <= box.x1 <= whole.x1
        assert whole.y0 <= box.y0 <= box.y1 <= whole.y1


def test_logarithmic_axes_show_numbers_where_points_are() -> None:
    axes = rendered(replace(CHART, log_x=True, log_y=True)).axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["256", "1,024", "8,192"]
    low, high = axes.get_ylim()
    marks = zip(axes.get_yticklabels(), axes.get_yticks(), strict=True)
    shown = [label.get_text() for label, y in marks if low <= y <= high]
    assert shown == ["50", "100", "200", "500"]


@pytest.mark.parametrize(
    ("values", "bottom"), [((3.0, 9.0), True), ((8.0, 9.0), False), ((-1.0, 9.0), False)],
    ids=["far apart", "close", "negative"],
)  # fmt: skip
def test_an_axis_starts_at_zero_unless_values_are_close(values: tuple[float, ...], bottom: bool) -> None:
    axes = rendered(replace(CHART, series=(Series("a", (1.0, 2.0), values),))).axes[0]
    assert (axes.get_ylim()[0] == 0) == bottom
    assert axes.get_ylim()[1] >= max(values)


def test_panels_of_a_row_show_all_their_values() -> None:
    """The panels share the axis: its range must cover all of them, not only the first."""
    pair = [replace(CHART, series=(Series("a", (0.0, 1.0), y),)) for y in ((1.0, 4.0), (30.0, 40.0))]
    with matplotlib.rc_context(STYLE):
        left, right = panels.figure(pair, 2).axes
    assert left.get_ylim() == right.get_ylim()
    assert left.get_ylim()[0] == 0
    assert left.get_ylim()[1] > 40


def test_series_over_categories_stand_side_by_side() -> None:
    both = tuple(Series(label, (0.0, 1.0), (7.0, 9.0)) for label in ("printed", "measured"))
    axes = rendered(replace(CHART, series=both, names=("bcube:4,1", "bcube:4,2"))).axes[0]
    printed, measured = (container[0].get_xdata() for container in axes.containers)
    assert (np.asarray(printed) < np.asarray(measured)).all()
    assert np.abs(np.asarray(measured) - np.asarray(printed)).max() < 0.5
