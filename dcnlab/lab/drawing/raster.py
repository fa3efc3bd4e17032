"""A picture of a network as PDF or PNG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dcnlab.lab.drawing.figure import INCH, Arrow, Figure
from dcnlab.lab.drawing.frame import Frame, arrow_shapes, badges, wrapped
from dcnlab.lab.drawing.names import names

#: Points, in which matplotlib measures text and lines, of one of our pixels.
_POINT = 72 / INCH
_INK, _QUIET, _LINK, _PATH, _CUT = "#1c2330", "#69707d", "#b3b9c3", "#17965b", "#d03a3a"
_COAST = "#c9cdd2"
_FACES = {"server": ("#e4eefa", "#2f6fb3"), "switch": ("#fbeedd", "#a8641b")}


def save(figure: Figure, path: Path) -> None:
    """Write the picture; its format is that of the path's ending, .pdf or .png (or any of matplotlib's)."""
    from matplotlib.figure import Figure as Canvas

    frame = Frame.of(figure)
    lines = wrapped(figure.text, frame.width, frame.margin, frame.font) if figure.look.caption else []
    width, height = frame.width, frame.size[1]
    below = frame.line * len(lines) + (frame.margin / 2 if lines else 0)
    canvas = Canvas(figsize=(width / INCH, (height + below) / INCH))
    axes = canvas.add_axes((0, below / (height + below), 1, height / (height + below)))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    _draw_links(axes, figure, frame)
    for arrow in figure.marks.arrows:
        _draw_arrow(axes, figure, arrow, frame)
    _draw_nodes(axes, figure, frame)
    for number, line in enumerate(lines):
        place = (below - frame.line * (number + 0.6)) / (height + below)
        colour = _QUIET if number else _INK
        canvas.text(frame.margin / width, place, line, fontsize=frame.font * _POINT, color=colour, va="center")
    canvas.savefig(path, dpi=300 if figure.look.width else 160)


def _draw_links(axes: Any, figure: Figure, frame: Frame) -> None:
    from matplotlib.collections import LineCollection, PathCollection
    from matplotlib.path import Path as Curve

    coast = [frame.pixels(line) for line in figure.drawing.coast]
    axes.add_collection(LineCollection(coast, colors=_COAST, linewidths=0.7))
    codes = [Curve.MOVETO, Curve.CURVE3, Curve.CURVE3]
    curves = {
        link: [Curve(frame.pixels(piece), codes) for piece in figure.curve(link)] for link in figure.links
    }
    down, faint = figure.marks.down, figure.drawing.faint
    up = [link for link in figure.links if link not in down]
    thin = min(1.2 if figure.fabric.size <= 300 else 0.6, 0.25 * figure.radius * frame.unit) * _POINT
    looks: list[tuple[list[int], dict[str, Any]]] = [
        ([link for link in up if not faint[link]], {"edgecolors": _LINK, "linewidths": thin}),
        ([link for link in up if faint[link]], {"edgecolors": _LINK, "linewidths": thin, "alpha": 0.4}),
        (sorted(down), {"edgecolors": _CUT, "linewidths": 1.5, "linestyles": (0, (1.5, 3))}),
        (list(figure.marks.path), {"edgecolors": _PATH, "linewidths": 4.5, "alpha": 0.65}),
    ]
    for links, look in looks:
        paths = [piece for link in links for piece in curves.get(link, ())]
        axes.add_collection(PathCollection(paths, facecolors="none", capstyle="round", **look))


def _draw_arrow(axes: Any, figure: Figure, arrow: Arrow, frame: Frame) -> None:
    from matplotlib.patches import PathPatch, Polygon
    from matplotlib.path import Path as Curve

    shaft, head, width = arrow_shapes(figure, arrow, frame)
    curve = Curve(shaft, [Curve.MOVETO, Curve.CURVE3, Curve.CURVE3])
    axes.add_patch(PathPatch(curve, facecolor="none", edgecolor=_PATH, linewidth=width * _POINT, zorder=2))
    axes.add_patch(Polygon(head, facecolor=_PATH, edgecolor="none", zorder=2))


def _draw_nodes(axes: Any, figure: Figure, frame: Frame) -> None:
    from matplotlib.patches import Circle, FancyBboxPatch

    radius, chosen = figure.radius * frame.unit, set(figure.marks.nodes)
    places = frame.pixels(figure.drawing.points)
    for node, (x, y), colour in zip(figure.fabric.nodes(), places.tolist(), figure.colours(), strict=True):
        if node.index in figure.folded:
            continue
        face, edge = _FACES[node.kind]
        look: dict[str, Any] = {
            "facecolor": _tint(colour) if colour else face,
            "edgecolor": _PATH if node.index in chosen else edge,
            "linewidth": 2.6 if node.index in chosen else min(1.6, 0.3 * radius) * _POINT,
            "zorder": 3,
        }
        if node.kind == "server":
            axes.add_patch(Circle((x, y), radius, **look))
        else:
            box = f"round,pad=0,rounding_size={radius / 3}"
            axes.add_patch(
                FancyBboxPatch((x - radius, y - radius), 2 * radius, 2 * radius, boxstyle=box, **look)
            )
    middle: dict[str, Any] = {"color": _INK, "ha": "center", "va": "center"}
    for name in names(figure, places, radius, frame.text):
        axes.text(name.x, name.y, name.text, fontsize=name.size * _POINT, zorder=4, **middle)
    for one in badges(figure, frame, radius):
        style = f"round,pad=0,rounding_size={one.high / 2}"
        corner = (one.x - one.wide / 2, one.y - one.high / 2)
        face, edge = _FACES["server"]
        axes.add_patch(
            FancyBboxPatch(corner, one.wide, one.high, boxstyle=style, facecolor=face, edgecolor=edge,
                           linewidth=0.6, zorder=5)
        )  # fmt: skip
        axes.text(one.x, one.y, one.text, fontsize=one.size * _POINT, zorder=6, **middle)


def _tint(colour: str) -> tuple[float, ...]:
    """Mix a colour with white, to less than half of its strength."""
    from matplotlib.colors import to_rgb

    return tuple((0.45 * np.array(to_rgb(colour)) + 0.55).tolist())
