"""A picture of a network as SVG."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from xml.sax.saxutils import escape

from dcnlab.lab.drawing.figure import Arrow, Figure
from dcnlab.lab.drawing.frame import Frame, arrow_shapes, badges, wrapped
from dcnlab.lab.drawing.names import Name, names
from topos.constructions.layout import Points
from topos.fabric import Fabric

#: From coordinates of the layout to pixels.
Pixels = Callable[[Points], Points]
_STYLE = """
  :root{--paper:#fff;--ink:#1c2330;--quiet:#69707d;--link:#b3b9c3;--server:#2f6fb3;--server-face:#e4eefa;
    --switch:#a8641b;--switch-face:#fbeedd;--path:#17965b;--cut:#d03a3a}
  .paper{fill:var(--paper)}.links path{stroke:var(--link);fill:none}
  .links .faint{opacity:.4}
  .links .cut{stroke:var(--cut);stroke-dasharray:2 5}.links .path{stroke:var(--path);opacity:.65}
  .server{fill:var(--server-face);stroke:var(--server)}.switch{fill:var(--switch-face);stroke:var(--switch)}
  .chosen{stroke:var(--path);stroke-width:3.5px}.arrows{fill:var(--path);stroke:var(--path)}
  text{font-family:sans-serif;fill:var(--ink)}.names text{text-anchor:middle;dominant-baseline:central}
  .coast path{fill:none;stroke:#c9cdd2}.badge{fill:var(--server-face);stroke:var(--server)}
  .caption text{font-size:12px}.caption text+text{fill:var(--quiet)}
"""


def svg(fabric: Fabric) -> str:
    """The picture of a network with nothing marked."""
    return written(Figure(fabric))


def written(figure: Figure) -> str:
    """The picture: servers as circles, switches as squares, labels as tooltips."""
    frame = Frame.of(figure)
    caption = wrapped(figure.text, frame.width, frame.margin, frame.font) if figure.look.caption else []
    height = frame.size[1] + frame.line * len(caption) + (frame.margin / 2 if caption else 0)
    radius, font = figure.radius * frame.unit, f' style="font-size:{frame.font:.1f}px"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{frame.width:.0f}" height="{height:.0f}"'
            f' viewBox="0 0 {frame.width:.1f} {height:.1f}">',
            f"<title>{escape(figure.fabric.spec)}</title><style>{_STYLE}</style>",
            '<rect class="paper" width="100%" height="100%"/>',
            *_coast(figure, frame),
            '<g class="links">',
            *_links(figure, frame.pixels, radius),
            '</g><g class="arrows">',
            *(_arrow(figure, arrow, frame) for arrow in figure.marks.arrows),
            '</g><g class="names">',
            *_nodes(figure, frame, radius),
            '</g><g class="badges">',
            *_badges(figure, frame, radius),
            '</g><g class="caption">',
            *(
                f'<text x="{frame.margin:.0f}" y="{frame.size[1] + frame.line * (number + 0.6):.1f}"'
                f"{font if figure.look.width else ''}>{escape(line)}</text>"
                for number, line in enumerate(caption)
            ),
            "</g></svg>",
            "",
        ]
    )


def _links(figure: Figure, pixels: Pixels, radius: float) -> list[str]:
    thin = min(1.2 if figure.fabric.size <= 300 else 0.6, 0.25 * radius)
    return [
        *(_link(figure, link, pixels, thin, "") for link in figure.links),
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


def _arrow(figure: Figure, arrow: Arrow, frame: Frame) -> str:
    """Draw an arrow: a shaft along the link, and a head."""
    shaft, head, width = arrow_shapes(figure, arrow, frame)
    corners = " ".join("{:.1f},{:.1f}".format(*point) for point in head)
    line = "M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}".format(*shaft.ravel())
    return (
        f'<path d="{line}" fill="none" stroke-width="{width:.1f}"/><polygon points="{corners}" stroke="none"/>'
    )


def _coast(figure: Figure, frame: Frame) -> Iterator[str]:
    """Draw the coast of a map, inside the picture and not behind its caption."""
    if not figure.drawing.coast:
        return
    yield f'<svg class="coast" width="{frame.width:.1f}" height="{frame.size[1]:.1f}">'
    for line in figure.drawing.coast:
        yield f'<path d="M{"L".join("{:.1f} {:.1f}".format(*point) for point in frame.pixels(line))}"/>'
    yield "</svg>"


def _nodes(figure: Figure, frame: Frame, radius: float) -> Iterator[str]:
    colours, chosen, places = figure.colours(), set(figure.marks.nodes), frame.pixels(figure.drawing.points)
    shown = names(figure, places, radius, frame.text) if figure.look.names else ()
    written = {one.node: one for one in shown}
    for node, (x, y) in zip(figure.fabric.nodes(), places.tolist(), strict=True):
        if node.index in figure.folded:
            continue
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
        name = written.get(node.index)
        text = _text(name) if name else ""
        back = (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" class="paper"/>' if colours[node.index] else ""
        )
        yield f"<g><title>{escape(f'{node.name} {node.label}')}</title>{back}{shape}{text}</g>"


def _text(name: Name) -> str:
    return f'<text x="{name.x:.1f}" y="{name.y:.1f}" font-size="{name.size:.1f}">{escape(name.text)}</text>'


def _badges(figure: Figure, frame: Frame, radius: float) -> Iterator[str]:
    for one in badges(figure, frame, radius):
        yield (
            f'<rect class="badge" x="{one.x - one.wide / 2:.1f}" y="{one.y - one.high / 2:.1f}"'
            f' width="{one.wide:.1f}" height="{one.high:.1f}" rx="{one.high / 2:.1f}"/><text x="{one.x:.1f}"'
            f' y="{one.y:.1f}" font-size="{one.size:.1f}" text-anchor="middle" dominant-baseline="central">'
            f"{one.text}</text>"
        )
