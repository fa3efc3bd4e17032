"""Charts: colours, layout, axes and legends of the finished figure."""

from __future__ import annotations

import itertools
import textwrap
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text

from dcnlab.evaluator.reporting.axes import COLOURS, STYLE, wrapped
from dcnlab.evaluator.reporting.charts import Chart, Panels, Series, twins
from dcnlab.evaluator.reporting.labels import read, relabelled
from dcnlab.evaluator.reporting.plots import Drawable, Look, alt_text, draw, publish
from topos.spec import SpecError

SIZES = (256.0, 1024.0, 8192.0)
CHART = Chart("Tables", "switches", "entries", (Series("hrsw", SIZES, (31.0, 79.0, 527.0)),), "seed 1")
#: How colour-blind readers see linear red, green and blue (Machado, Oliveira, Fernandes, 2009, severity 1).
BLIND = {
    "protan": [[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.0520]],
    "deutan": [[0.3673, 0.8606, -0.2280], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]],
}


def rendered(chart: Drawable) -> Figure:
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
    names = [text for text in axes.texts if text.get_text()]
    assert len(names) == (curves if curves == 5 else 0)
    assert (legend is None) == bool(names)  # names beside the curves, or a legend
    assert len(figure.texts) == 1  # the caption
    for part in (*figure.texts, axes.title, axes.yaxis.label, *filter(None, [legend]), *names):
        box = part.get_window_extent()
        assert whole.x0 <= box.x0 <= box.x1 <= whole.x1
        assert whole.y0 <= box.y0 <= box.y1 <= whole.y1


def test_the_unit_of_an_axis_is_not_broken_where_the_label_is() -> None:
    chart = replace(CHART, y_label="throughput per server (link rates)")
    [small, large] = [draw(chart, Look(*look)).axes[0].get_ylabel() for look in ((2.5, 9.0), (12.0, 6.0))]
    assert small.split("\n")[-1] == "(link rates)"
    assert " ".join(small.split("\n")) == large == chart.y_label


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
    left, right = draw(Panels("both", tuple(pair), 2)).axes
    assert left.get_ylim() == right.get_ylim()
    assert left.get_ylim()[0] == 0
    assert left.get_ylim()[1] > 40


def failing(schemes: dict[str, float], kinds: tuple[str, ...] = ("links", "switches")) -> Chart:
    """A curve per scheme and kind of failure; the number is the scheme's last value."""
    curves = tuple(
        Series(
            f"{scheme}, {kind}", (0.0, 5.0, 10.0), (1.0, (1 + last) / 2, last), (0.0, 0.1, 0.1), scheme, kind
        )
        for scheme, last in schemes.items()
        for kind in kinds
    )
    return Chart("under failures", "links down, %", "mean path (links)", curves)


def test_schemes_have_colours_and_failures_line_styles() -> None:
    axes = rendered(failing({"brp": 2.0, "wmgr": 3.0})).axes[0]
    drawn = [(line[0].get_color(), line[0].get_linestyle()) for line in axes.containers]
    assert drawn == [(colour, style) for colour in COLOURS[:2] for style in ("-", "--")]
    assert [(text.get_text(), text.get_color()) for text in axes.texts] == [
        ("brp", COLOURS[0]), ("wmgr", COLOURS[1]),
    ]  # fmt: skip
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["links", "switches"]


def test_names_beside_curves_that_end_together_do_not_overlap() -> None:
    """Both on one pair of axes and in panels, each beside the height of its own curve, in their order."""
    chart = failing({"brp": 2.0, "wmgr": 2.001, "dor": 2.002, "pow": 3.0})
    for figure in (rendered(chart), rendered(Panels("both", (chart, chart), 2))):
        names = [text for text in figure.axes[-1].texts if text.get_text()]
        boxes = sorted((Text.get_window_extent(text) for text in names), key=lambda box: box.y0)
        assert len(boxes) == 4
        assert all(low.y0 + 0.7 * low.height < high.y0 for low, high in itertools.pairwise(boxes))
        assert [text.get_text() for text in sorted(names, key=lambda one: one.xyann[1])] == [
            "brp", "wmgr (= brp)", "dor (= brp)", "pow",
        ]  # fmt: skip
        assert boxes[0].y0 >= 0
        assert boxes[-1].y1 <= figure.bbox.y1


def test_panels_without_a_difference_are_left_out_and_said() -> None:
    flat = replace(
        CHART, title="flat", y_label="share delivered", series=(Series("a", (1.0, 2.0), (1.0, 1.0)),)
    )
    bent = replace(CHART, title="bent")
    figure = rendered(Panels("four", (flat, bent, flat, flat), 2, "seed 1"))
    assert [axes.axison for axes in figure.axes] == [False, True]
    assert "1 everywhere" in figure.axes[0].texts[0].get_text()
    assert figure.get_supxlabel() == "seed 1; share delivered: 1 everywhere, not drawn"
    assert "bent: entries over switches. hrsw: 31 to 527" in alt_text(Panels("four", (flat, bent), 2))


def test_a_distribution_starts_below_its_least_value_and_ends_where_its_curves_do() -> None:
    curves = (
        Series("brp", (1.0, 1.5, 2.0, 8.0), (0.8, 0.9, 1.0, 1.0)),
        Series("wmgr", (1.0, 1.5, 2.0, 8.0), (0.7, 0.8, 0.9995, 1.0)),
    )
    axes = rendered(Chart("Stretch", "stretch", "share of pairs", curves, steps=True)).axes[0]
    assert axes.get_xlim()[1] < 3
    assert 0.6 < axes.get_ylim()[0] < 0.7


def test_intervals_of_shares_stay_between_0_and_1() -> None:
    curve = Series("a", (0.0, 1.0), (1.0, 0.1), (0.2, 0.3))
    axes = rendered(replace(CHART, y_label="share delivered", series=(curve,))).axes[0]
    [bars] = axes.containers[0][2]
    ends = [y for segment in bars.get_segments() for _, y in segment]
    assert (min(ends), max(ends)) == (0, 1)


def test_series_over_categories_stand_side_by_side() -> None:
    both = tuple(Series(label, (0.0, 1.0), (7.0, 9.0)) for label in ("printed", "measured"))
    axes = rendered(replace(CHART, series=both, names=("bcube:4,1", "bcube:4,2"))).axes[0]
    printed, measured = (container[0].get_xdata() for container in axes.containers)
    assert (np.asarray(printed) < np.asarray(measured)).all()
    assert np.abs(np.asarray(measured) - np.asarray(printed)).max() < 0.5


def test_curves_that_coincide_say_so() -> None:
    """Names beside curves and in legends; not of curves that differ in one panel."""
    places = (0.0, 5.0, 10.0)
    curves = [Series(name, places, (1.0, 2.0, last)) for name, last in (("a", 3.0), ("b", 3.0), ("c", 4.0))]
    alone = Chart("", "x", "y", tuple(curves))
    assert twins(alone) == {"b": "a"}
    shown = [text.get_text() for text in rendered(alone).axes[0].texts]
    assert sorted(filter(None, shown)) == ["a", "b (= a)", "c"]
    apart = replace(alone, series=(curves[0], replace(curves[1], y=(1.0, 2.5, 3.0)), curves[2]))
    assert twins(alone, apart) == {}
    assert twins(replace(alone, names=("one", "two", "three"))) == {}  # points stand side by side
    many = replace(alone, series=tuple(replace(curves[0], label=name) for name in "abcdefg"))
    legend = rendered(many).axes[0].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()][:2] == ["a", "b (= a)"]


@pytest.mark.parametrize("suffix", [".pdf", ".pgf", ".svg"])
def test_names_of_the_user_are_in_the_figure_and_specifications_in_its_caption(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole specifications only; panels and single charts; PDF files have TrueType fonts; none needs TeX."""
    monkeypatch.setenv("PATH", str(tmp_path))
    labels = {"fattree:4": "Fat tree", "bcube:4,1": "BCube", "ecmp": "ECMP"}
    names = ("fattree:4, ecmp", "bcube:4,1", "bcube:4,16", "fattree:4,seed=2", "ecmp:x=1")
    series = tuple(Series(name, (0.0, 1.0), (1.0, i + 2.0)) for i, name in enumerate(names))
    chart = Chart("bcube:4,1", "x", "y", series, "measured.")
    for drawn in (chart, Panels("ecmp", (chart, chart), 2, "measured.")):
        path = tmp_path / f"one{suffix}"
        said = publish(drawn, path, Look(7.0, 8.0), labels)
        assert said == "measured; Fat tree: fattree:4; BCube: bcube:4,1; ECMP: ecmp"
        if suffix == ".pgf":
            text = path.read_text()
            assert text.endswith("\\endgroup%\n")
            for name in ("Fat tree, ECMP", "BCube", "bcube:4,16", "fattree:4,seed=2", "ecmp:x=1"):
                assert f"}}{name}}}}}%\n" in text
            assert "measured" not in text
        elif suffix == ".svg":
            texts = ["".join(one.itertext()) for one in ET.parse(path).iter("{http://www.w3.org/2000/svg}text")]
            for name in ("Fat tree, ECMP", "BCube", "bcube:4,16", "fattree:4,seed=2", "ecmp:x=1"):
                assert name in texts
            assert not any("measured" in text for text in texts)
        else:
            assert b"/Type3" not in path.read_bytes().replace(b" ", b"")


def test_labels_name_one_topology_or_scheme() -> None:
    networks, schemes = ["fattree:4", "jellyfish:6,16,4,seed=3", "bcube:4,1", "bcube:4,2"], ["ecmp", "ksp:k=4"]
    given = ["fattree=Fat tree", "jellyfish:6,16,4,seed=3=J", "bcube:4,2=B = 2", "ksp=KSP"]
    assert read(given, networks, schemes) == {
        "fattree:4": "Fat tree", "jellyfish:6,16,4": "J", "bcube:4,2": "B = 2", "ksp:k=4": "KSP",
    }  # fmt: skip
    for wrong in ("bcube=two of them", "dcell=none", "fattree:4"):
        with pytest.raises(SpecError, match="--label"):
            read([wrong], networks, schemes)


def test_a_panel_without_a_difference_takes_no_width_from_others() -> None:
    steep = replace(CHART, series=(Series("a", (0.0, 1.0), (1.0, 2.0)),), y_label="mean path (links)")
    flat = replace(steep, title="flat", series=(Series("a", (0.0, 1.0), (2.0, 2.0)),))
    widths = []
    for first in (steep, flat):
        drawn = draw(Panels("", (first, steep), 2), Look(3.4))
        drawn.draw_without_rendering()
        widths.append(drawn.axes[1].get_window_extent().width)
    assert widths[1] > 0.8 * widths[0]
    words = drawn.axes[0].texts[0].get_window_extent()
    assert 0 <= words.x0 < words.x1 < drawn.axes[1].get_window_extent().x0


def test_no_line_ends_within_a_name() -> None:
    named = relabelled(replace(CHART, title="with fattree:4", caption="of servers"), {"fattree:4": "k = 4"})
    assert isinstance(named, Chart)
    assert "k\xa0=\xa04:" in textwrap.wrap(named.caption, 6, break_long_words=False)
    assert wrapped(named.title, 0.4, 9) == "with\nk\xa0=\xa04"
    assert wrapped("Fat\xa0tree\xa0of\xa0four", 0.4, 9).count("\n") > 1  # longer than a line


@pytest.mark.parametrize("width", [3.4, 7.0])
def test_names_of_conditions_and_the_legend_collide_with_nothing(width: float) -> None:
    conditions = (
        "permutation,\nno failures",
        "permutation,\n5% of links failed",
        "longest-matching,\nno failures",
    )
    series = [Series(f"network {i}", (0.0, 1.0, 2.0), (0.2 + i / 9, 0.5, 0.7), (0.05,) * 3) for i in range(5)]
    figure = draw(
        Chart("", "", "throughput per server (link rates)", tuple(series), names=conditions), Look(width)
    )
    figure.draw_without_rendering()
    [axes] = figure.axes
    assert figure.get_figwidth() == width
    whole, inside = figure.bbox, axes.get_window_extent()
    legend = axes.get_legend()
    assert legend is not None
    names = [label.get_window_extent() for label in axes.get_xticklabels()]
    for box in (legend.get_window_extent(), axes.yaxis.label.get_window_extent(), *names):
        assert whole.x0 <= box.x0 < box.x1 <= whole.x1
        assert whole.y0 <= box.y0 < box.y1 <= whole.y1
    assert not legend.get_window_extent().overlaps(inside)
    if not axes.get_xticklabels()[0].get_rotation():
        assert not any(a.overlaps(b) for a, b in itertools.pairwise(names))


@pytest.mark.parametrize("width", [3.4, 0.0, 7.0])
def test_a_legend_of_long_names_is_inside_the_figure(width: float) -> None:
    """As many columns as fit: five names such as those of networks at equal cost."""
    names = ("fattree:4", "jellyfish:4,20,servers=16", "bcube:6,1", "leafspine:8,4,4", "xpander:3,5,servers=16")
    series = tuple(Series(name, (0.0,), (1.0,), (0.1,)) for name in names)
    figure = draw(Chart("", "", "throughput", series, names=("permutation",)), Look(width=width))
    figure.draw_without_rendering()
    box, legend = figure.bbox, figure.axes[0].get_legend()
    assert legend is not None
    extent = legend.get_window_extent()
    assert box.x0 <= extent.x0
    assert extent.x1 <= box.x1
    assert extent.y1 <= box.y1


@pytest.mark.parametrize("width", [3.4, 7.0])
@pytest.mark.parametrize("steps", [False, True])
def test_long_names_leave_panels_their_width(width: float, steps: bool) -> None:
    """Three panels with names as users give them: nothing overlaps, nothing leaves the figure."""
    names = ("word-metric greedy routing", "equal-cost multipath", "Thorup-Zwick")
    curves = tuple(Series(name, (1.0, 2.0, 3.0), (0.2 + i / 9, 0.5, 0.7)) for i, name in enumerate(names))
    title = "Jellyfish of 20 switches with 6 ports"
    charts = tuple(Chart(f"{title}, {i}", "stretch", "share of pairs", curves, steps=steps) for i in range(3))
    with matplotlib.rc_context(Look(width, 7).style):
        figure = draw(Panels("Stretch", charts, 3), Look(width, 7))
        figure.draw_without_rendering()
    assert figure.get_figwidth() == width
    whole = figure.bbox
    titles = [axes.title.get_window_extent() for axes in figure.axes if axes.axison]
    [legend] = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == list(names)
    for box in (legend.get_window_extent(), *titles):
        assert whole.x0 <= box.x0 < box.x1 <= whole.x1
        assert whole.y0 <= box.y0 < box.y1 <= whole.y1
    shown = [axes.get_window_extent() for axes in figure.axes if axes.axison]
    assert len(shown) == 3
    assert all(box.width > 0.6 * figure.dpi for box in shown)
    boxes = [legend.get_window_extent(), *titles, *shown]
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))


@pytest.mark.parametrize("curves", [3, 8])
def test_long_names_leave_one_chart_its_width(curves: int) -> None:
    series = tuple(replace(CHART.series[0], label=f"word-metric greedy routing {i}") for i in range(curves))
    figure = draw(replace(CHART, series=series), Look(3.4, 7))
    figure.draw_without_rendering()
    [axes] = figure.axes
    assert axes.get_window_extent().width > 0.6 * figure.bbox.width
    legend = axes.get_legend()
    assert legend is not None
    box = legend.get_window_extent()
    assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
    assert box.y1 <= figure.bbox.y1


def test_the_caption_says_which_curves_coincide_in_one_panel_only() -> None:
    low, high = (Series(name, (1.0, 2.0), (0.5, y)) for name, y in (("a", 0.7), ("b", 0.9)))
    apart = Chart("first", "stretch", "share of pairs", (low, high), steps=True)
    same = replace(apart, title="second", series=(low, replace(low, label="b")))
    assert alt_text(Panels("Stretch", (apart, same), 2)).endswith("second: b = a")
