"""A network as one SVG picture, drawn as the web view draws it."""

from __future__ import annotations

from xml.sax.saxutils import escape

import numpy as np

from dcnlab.lab.view.layout import draw
from topos.fabric import Fabric

#: Pixels between neighbours on a grid; around the drawing; half the side of a server, a switch's radius.
_UNIT, _MARGIN, _SERVER, _SWITCH = 90.0, 30.0, 7.0, 8.0
_STYLE = (
    "line,path{stroke:#888;fill:none} rect{fill:#4a7fb5} circle{fill:#d08a3c}"
    " text{font:9px sans-serif;text-anchor:middle;fill:#222}"
)


def svg(fabric: Fabric) -> str:
    """The picture: servers as squares, switches as circles, labels as tooltips."""
    drawing = draw(fabric)
    points = drawing.points * _UNIT
    low, high = points.min(axis=0) - _MARGIN, points.max(axis=0) + _MARGIN
    points, (width, height) = points - low, high - low
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}"'
        f' viewBox="0 0 {width:.1f} {height:.1f}">',
        f"<title>{escape(fabric.spec)}</title><style>{_STYLE}</style>",
    ]
    for (a, b), bow in zip(fabric.link_ends[:, [0, 2]].tolist(), drawing.bows.tolist(), strict=True):
        (x, y), (u, v) = points[a], points[b]
        control = (points[a] + points[b]) / 2 + 2 * bow * np.array([v - y, x - u])
        curve = f"M{x:.1f} {y:.1f}Q{control[0]:.1f} {control[1]:.1f} {u:.1f} {v:.1f}"
        parts.append(f'<path d="{curve}"/>')
    for node, (x, y) in zip(fabric.nodes(), points.tolist(), strict=True):
        if node.kind == "server":
            side = 2 * _SERVER
            shape = f'<rect x="{x - _SERVER:.1f}" y="{y - _SERVER:.1f}" width="{side}" height="{side}"/>'
        else:
            shape = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{_SWITCH}"/>'
        title = escape(f"{node.name} {node.label}")
        text = f'<text x="{x:.1f}" y="{y + 18:.1f}">{node.name}</text>'
        parts.append(f"<g><title>{title}</title>{shape}{text}</g>")
    return "\n".join([*parts, "</svg>", ""])
