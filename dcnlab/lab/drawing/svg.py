"""A network as one SVG picture, drawn as the web view draws it."""

from __future__ import annotations

from xml.sax.saxutils import escape

import numpy as np

from dcnlab.lab.drawing.layout import draw
from topos.fabric import Fabric
from topos.graph import Node
from topos.layout import Points

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
    middles = _middles(points, fabric, drawing.bows)
    shown = np.concatenate([points, middles])
    low, high = shown.min(axis=0) - _MARGIN, shown.max(axis=0) + _MARGIN
    points, middles, (width, height) = points - low, middles - low, high - low
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}"'
        f' viewBox="0 0 {width:.1f} {height:.1f}">',
        f"<title>{escape(fabric.spec)}</title><style>{_STYLE}</style>",
    ]
    for (a, b), middle in zip(fabric.link_ends[:, [0, 2]].tolist(), middles, strict=True):
        x, y = 2 * middle - (points[a] + points[b]) / 2  # the control point of a curve through the middle
        start, end = ("{:.1f} {:.1f}".format(*points[node]) for node in (a, b))
        parts.append(f'<path d="M{start}Q{x:.1f} {y:.1f} {end}"/>')
    parts += [_node(node, x, y) for node, (x, y) in zip(fabric.nodes(), points.tolist(), strict=True)]
    return "\n".join([*parts, "</svg>", ""])


def _middles(points: Points, fabric: Fabric, bows: Points) -> Points:
    """The middle of each link's curve."""
    start, end = points[fabric.link_ends[:, 0]], points[fabric.link_ends[:, 2]]
    along = end - start
    return (start + end) / 2 + bows[:, None] * np.stack([along[:, 1], -along[:, 0]], axis=1)


def _node(node: Node, x: float, y: float) -> str:
    if node.kind == "server":
        side = 2 * _SERVER
        shape = f'<rect x="{x - _SERVER:.1f}" y="{y - _SERVER:.1f}" width="{side}" height="{side}"/>'
    else:
        shape = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{_SWITCH}"/>'
    title = escape(f"{node.name} {node.label}")
    return f'<g><title>{title}</title>{shape}<text x="{x:.1f}" y="{y + 18:.1f}">{node.name}</text></g>'
