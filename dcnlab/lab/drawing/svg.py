"""A picture of a network as SVG."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from xml.sax.saxutils import escape

import numpy as np

from dcnlab.lab.drawing.figure import Arrow, Figure
from topos.fabric import Fabric
from topos.layout import Points

#: From coordinates of the layout to pixels.
Pixels = Callable[[Points], Points]
#: Pixels between neighbours on a grid, and the most of a picture's side; around the drawing; a line of text.
_UNIT, _MOST, _MARGIN, _LINE = 90.0, 2400.0, 24.0, 17.0
#: The narrowest picture, so that its text fits.
_NARROWEST = 420.0
_STYLE = """
  :root{--paper:#fff;--ink:#1c2330;--quiet:#69707d;--link:#b3b9c3;--server:#2f6fb3;--server-face:#e4eefa;
    --switch:#a8641b;--switch-face:#fbeedd;--path:#17965b;--cut:#d03a3a}
  .paper{fill:var(--paper)}.links path{stroke:var(--link);fill:none}
  .links .faint{opacity:.4}
  .links .cut{stroke:var(--cut);stroke-dasharray:2 5}.links .path{stroke:var(--path);opacity:.65}
  .server{fill:var(--server-face);stroke:var(--server)}.switch{fill:var(--switch-face);stroke:var(--switch)}
  .chosen{stroke:var(--path);stroke-width:3.5px}.arrows{fill:var(--path);stroke:var(--path)}
  text{font-family:sans-serif;fill:var(--ink)}.names text{text-anchor:middle;dominant-baseline:central}
  .caption text{font-size:12px}.caption text+text{fill:var(--quiet)}
"""


def svg(fabric: Fabric) -> str:
    """The picture of a network with nothing marked."""
    return written(Figure(fabric))


def written(figure: Figure) -> str:
    """The picture: servers as circles, switches as squares, labels as tooltips."""
    low, high = figure.bounds()
    unit = min(_UNIT, _MOST / float(max(high - low)) if (high > low).any() else _UNIT)
    size, radius = (high - low) * unit + 2 * _MARGIN, figure.radius * unit
    caption = wrapped(figure.text, max(_NARROWEST, size[0]))
    width, height = max(_NARROWEST, size[0]), size[1] + _LINE * len(caption) + _MARGIN / 2
    shift = np.array([_MARGIN + (width - size[0]) / 2, _MARGIN]) - low * unit

    def pixels(points: Points) -> Points:
        return points * unit + shift

    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}"'
            f' viewBox="0 0 {width:.1f} {height:.1f}">',
            f"<title>{escape(figure.fabric.spec)}</title><style>{_STYLE}</style>",
            '<rect class="paper" width="100%" height="100%"/>',
            '<g class="links">',
            *_links(figure, pixels),
            '</g><g class="arrows">',
            *(_arrow(figure, arrow, pixels, radius) for arrow in figure.marks.arrows),
            '</g><g class="names">',
            *_nodes(figure, pixels, radius),
            '</g><g class="caption">',
            *(
                f'<text x="{_MARGIN:.0f}" y="{size[1] + _LINE * (number + 0.6):.1f}">{escape(line)}</text>'
                for number, line in enumerate(caption)
            ),
            "</g></svg>",
            "",
        ]
    )


def wrapped(lines: tuple[str, ...], width: float) -> list[str]:
    """The lines, none longer than a picture of this many pixels is wide."""
    import textwrap

    most = max(20, int((width - 2 * _MARGIN) / 6.4))
    return [part for line in lines for part in textwrap.wrap(line, most)]


def _links(figure: Figure, pixels: Pixels) -> list[str]:
    thin = 1.2 if figure.fabric.size <= 300 else 0.6
    return [
        *(_link(figure, link, pixels, thin, "") for link in range(len(figure.fabric.link_ends))),
        *(_link(figure, link, pixels, 6.0, "path") for link in figure.marks.path),
    ]


def _link(figure: Figure, link: int, pixels: Pixels, width: float, kind: str) -> str:
    kind, width = ("cut", 2.0) if not kind and link in figure.marks.down else (kind, width)
    kind = kind or ("faint" if figure.drawing.faint[link] else "")
    shown = ""
    for curve in figure.curve(link):
        start, control, end = ("{:.1f} {:.1f}".format(*point) for point in pixels(curve))
        shown += f"M{start}Q{control} {end}"
    named = f' class="{kind}"' if kind else ""
    return f'<path{named} stroke-width="{width}" d="{shown}"/>'


def _arrow(figure: Figure, arrow: Arrow, pixels: Pixels, radius: float) -> str:
    """A shaft as wide, and a head as large, as the share of packets."""
    shaft, tail, tip = pixels(figure.arrow(arrow))
    ahead = (tip - tail) / max(1e-9, float(np.linalg.norm(tip - tail)))
    size = min(9.0, 0.9 * radius) * (0.5 + 0.5 * arrow.weight)
    side = np.array([-ahead[1], ahead[0]]) * size * 0.55
    back = tip - ahead * size
    head = " ".join("{:.1f},{:.1f}".format(*point) for point in (tip, back + side, back - side))
    width = 0.6 + 1.4 * arrow.weight
    line = "M{:.1f} {:.1f}L{:.1f} {:.1f}".format(*shaft, *back)
    return f'<path d="{line}" stroke-width="{width:.1f}"/><polygon points="{head}" stroke="none"/>'


def _nodes(figure: Figure, pixels: Pixels, radius: float) -> Iterator[str]:
    colours, chosen = figure.colours(), set(figure.marks.nodes)
    for node, (x, y) in zip(figure.fabric.nodes(), pixels(figure.drawing.points).tolist(), strict=True):
        kind = node.kind + (" chosen" if node.index in chosen else "")
        look = f'class="{kind}" stroke-width="{min(1.6, 0.3 * radius):.1f}"'
        if colour := colours[node.index]:
            look += f' style="fill:{colour};fill-opacity:.45"'
        if node.kind == "server":
            shape = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" {look}/>'
        else:
            shape = (
                f'<rect x="{x - radius:.1f}" y="{y - radius:.1f}" width="{2 * radius:.1f}"'
                f' height="{2 * radius:.1f}" rx="{radius / 3:.1f}" {look}/>'
            )
        size = radius * (0.68 if len(node.name) > 3 else 0.85)
        text = f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:.1f}">{node.name}</text>' if size > 3 else ""
        back = (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" class="paper"/>' if colours[node.index] else ""
        )
        yield f"<g><title>{escape(f'{node.name} {node.label}')}</title>{back}{shape}{text}</g>"
