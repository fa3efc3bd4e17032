"""Where the parts of a picture are, in pixels: the same in every format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dcnlab.lab.drawing.figure import INCH, MOST, UNIT, Arrow, Figure
from topos.constructions.layout import Points

#: Pixels around the drawing, and of a line of text.
_MARGIN, _LINE = 24.0, 17.0
#: The least size of a number.
_READABLE = 5.0
#: The narrowest picture, so that its text fits.
_NARROWEST = 420.0
#: Where the width is given: pixels around the drawing, and the size of all text, 7 pt.
_TIGHT, _SMALL = 8.0, 7 * INCH / 72


@dataclass(frozen=True)
class Frame:
    """Turns coordinates of the layout into pixels: the scale, the picture without caption, the fonts."""

    unit: float
    size: Points
    width: float
    margin: float
    line: float
    font: float
    #: The size of all text, 7 pt, where the width of the picture is given; else 0.
    text: float
    shift: Points

    @classmethod
    def of(cls, figure: Figure) -> Frame:
        """The frame of a figure."""
        low, high = figure.bounds()
        extent = np.maximum(high - low, 1e-9)
        if figure.look.width:
            width, margin, line, font = INCH * figure.look.width, _TIGHT, 1.35 * _SMALL, _SMALL
            unit = float((width - 2 * margin) / (extent[0] + 2 * figure.radius))
            border = margin + figure.radius * unit  # nodes at the border are inside
            size = (high - low) * unit + 2 * border + np.array([0.0, font if figure.titled else 0.0])
            return cls(unit, size, width, margin, line, font, font, border - low * unit)
        unit = min(UNIT, MOST / float(max(extent)) if (high > low).any() else UNIT)
        size = (high - low) * unit + 2 * _MARGIN
        width = max(_NARROWEST, size[0])
        shift = np.array([_MARGIN + (width - size[0]) / 2, _MARGIN]) - low * unit
        return cls(unit, size, width, _MARGIN, _LINE, 12.0, 0.0, shift)

    def pixels(self, points: Points) -> Points:
        """Points of the layout in pixels."""
        return points * self.unit + self.shift


def wrapped(lines: tuple[str, ...], width: float, margin: float = _MARGIN, font: float = 12.0) -> list[str]:
    """The lines, none longer than a picture of this many pixels is wide."""
    import textwrap

    most = max(20, int((width - 2 * margin) / (0.53 * font)))
    return [part for line in lines for part in textwrap.wrap(line, most)]


def arrow_shapes(figure: Figure, arrow: Arrow, frame: Frame) -> tuple[Points, Points, float]:
    """The curve of an arrow's shaft, along the link, the corners of its head, and its width: as large as the
    share of packets, and not larger than the link has room for."""
    radius = figure.radius * frame.unit
    start, control, tip = frame.pixels(figure.arrow(arrow))
    ahead = (tip - control) / max(1e-9, float(np.linalg.norm(tip - control)))
    size = min(9.0, 0.9 * radius, 0.5 * float(np.linalg.norm(tip - start))) * (0.5 + 0.5 * arrow.weight)
    side, back = np.array([-ahead[1], ahead[0]]) * size * 0.55, tip - ahead * size
    shaft = np.array([start, control, tip - ahead * size / 2])
    return shaft, np.array([tip, back + side, back - side]), min(0.6 + 1.4 * arrow.weight, 0.3 * radius)


@dataclass(frozen=True)
class Badge:
    """A number in a box around a point, with the size of its font."""

    text: str
    x: float
    y: float
    wide: float
    high: float
    size: float


def badges(figure: Figure, frame: Frame, radius: float) -> Iterator[Badge]:
    """How many hosts a switch has, where they are not drawn."""
    size = min(frame.text or max(7.0, 0.8 * radius), 1.6 * radius)
    if size < _READABLE:
        return
    places = frame.pixels(figure.drawing.points)
    for switch, hosts in sorted(figure.counts.items()):
        x, y = (places[switch] + radius * np.array([1, -1])).tolist()
        yield Badge(str(hosts), x, y, size * (0.64 * len(str(hosts)) + 0.6), 1.2 * size, size)
