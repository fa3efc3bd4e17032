"""A picture of a network as PDF or PNG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dcnlab.lab.drawing.figure import Arrow, Figure
from dcnlab.lab.drawing.svg import wrapped

#: Inches between neighbours on a grid, the least and the most of a picture's side, and around the drawing;
#: a line of text; points per inch.
_UNIT, _NARROWEST, _MOST, _MARGIN, _LINE, _INCH = 0.9, 4.6, 24.0, 0.25, 0.19, 72
_INK, _QUIET, _LINK, _PATH, _CUT = "#1c2330", "#69707d", "#b3b9c3", "#17965b", "#d03a3a"
_FACES = {"server": ("#e4eefa", "#2f6fb3"), "switch": ("#fbeedd", "#a8641b")}


def save(figure: Figure, path: Path) -> None:
    """Write the picture; its format is that of the path's ending, .pdf or .png (or any of matplotlib's)."""
    from matplotlib.figure import Figure as Canvas

    low, high = figure.bounds()
    unit = min(_UNIT, _MOST / float(max(high - low)) if (high > low).any() else _UNIT)
    width, height = (high - low) * unit + 2 * _MARGIN
    width = max(_NARROWEST, width)
    lines = wrapped(figure.text, width * 90)
    below = _LINE * len(lines) + _MARGIN / 2
    canvas = Canvas(figsize=(width, height + below))
    axes = canvas.add_axes((0, below / (height + below), 1, height / (height + below)))
    aside, above = (width / unit - (high - low)[0]) / 2, _MARGIN / unit
    axes.set(xlim=(low[0] - aside, high[0] + aside), ylim=(high[1] + above, low[1] - above))
    axes.axis("off")
    _draw_links(axes, figure)
    for arrow in figure.marks.arrows:
        _draw_arrow(axes, figure, arrow, unit)
    _draw_nodes(axes, figure, unit)
    for number, line in enumerate(lines):
        place = (below - _LINE * (number + 0.6)) / (height + below)
        colour = _QUIET if number else _INK
        canvas.text(_MARGIN / width, place, line, fontsize=8.5, color=colour, va="center")
    canvas.savefig(path, dpi=160)


def _draw_links(axes: Any, figure: Figure) -> None:
    from matplotlib.collections import PathCollection
    from matplotlib.path import Path as Curve

    codes = [Curve.MOVETO, Curve.CURVE3, Curve.CURVE3]
    curves = [
        [Curve(piece, codes) for piece in figure.curve(link)] for link in range(len(figure.fabric.link_ends))
    ]
    down, faint = figure.marks.down, figure.drawing.faint
    up = [link for link in range(len(curves)) if link not in down]
    thin = 1.0 if figure.fabric.size <= 300 else 0.4
    looks: list[tuple[list[int], dict[str, Any]]] = [
        ([link for link in up if not faint[link]], {"edgecolors": _LINK, "linewidths": thin}),
        ([link for link in up if faint[link]], {"edgecolors": _LINK, "linewidths": thin, "alpha": 0.4}),
        (sorted(down), {"edgecolors": _CUT, "linewidths": 1.6, "linestyles": (0, (1.5, 3))}),
        (list(figure.marks.path), {"edgecolors": _PATH, "linewidths": 5.0, "alpha": 0.65}),
    ]
    for links, look in looks:
        paths = [piece for link in links for piece in curves[link]]
        axes.add_collection(PathCollection(paths, facecolors="none", capstyle="round", **look))


def _draw_arrow(axes: Any, figure: Figure, arrow: Arrow, unit: float) -> None:
    shaft, _, tip = figure.arrow(arrow)
    size = min(8.0, 0.9 * figure.radius * unit * _INCH) * (0.5 + 0.5 * arrow.weight)
    look = {"arrowstyle": f"-|>,head_length={size / 9},head_width={size / 16}", "mutation_scale": 10}
    axes.annotate(
        "", tip, shaft,
        arrowprops={**look, "color": _PATH, "linewidth": 0.5 + 1.2 * arrow.weight, "shrinkA": 0, "shrinkB": 0},
    )  # fmt: skip


def _draw_nodes(axes: Any, figure: Figure, unit: float) -> None:
    from matplotlib.patches import Circle, FancyBboxPatch

    radius, chosen = figure.radius, set(figure.marks.nodes)
    points, size = figure.drawing.points.tolist(), radius * unit * _INCH
    for node, (x, y), colour in zip(figure.fabric.nodes(), points, figure.colours(), strict=True):
        face, edge = _FACES[node.kind]
        look: dict[str, Any] = {
            "facecolor": _tint(colour) if colour else face,
            "edgecolor": _PATH if node.index in chosen else edge,
            "linewidth": 3.0 if node.index in chosen else min(1.3, 0.25 * size),
            "zorder": 3,
        }
        if node.kind == "server":
            axes.add_patch(Circle((x, y), radius, **look))
        else:
            box = f"round,pad=0,rounding_size={radius / 3}"
            axes.add_patch(
                FancyBboxPatch((x - radius, y - radius), 2 * radius, 2 * radius, boxstyle=box, **look)
            )
        if size > 3.5:
            small = size * (0.6 if len(node.name) > 3 else 0.78)
            axes.text(x, y, node.name, fontsize=small, color=_INK, ha="center", va="center", zorder=4)


def _tint(colour: str) -> tuple[float, ...]:
    """A colour on white, at less than half of its strength."""
    from matplotlib.colors import to_rgb

    return tuple((0.45 * np.array(to_rgb(colour)) + 0.55).tolist())
