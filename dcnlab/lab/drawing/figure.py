"""What a picture of a network shows, before it is written in any format."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dcnlab.lab.drawing.layout import Drawing, draw
from topos.fabric import Fabric
from topos.layout import Points

#: The length of each part of a link that wraps around; neighbours on a grid are 1 apart.
_STUB = 0.55
#: Colours of parts that people who are colour-blind can tell apart (Okabe and Ito).
COLOURS = ("#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7", "#8c8c8c")


@dataclass(frozen=True)
class Arrow:
    """A next hop: at ``node``, by the link ``link``, with a share of the packets there."""

    node: int
    link: int
    weight: float


@dataclass(frozen=True)
class Marks:
    """What is drawn over the network: links that are down, next hops, the links of a path, chosen nodes."""

    down: frozenset[int] = frozenset()
    arrows: tuple[Arrow, ...] = ()
    path: tuple[int, ...] = ()
    nodes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Figure:
    """A picture: the network, how it is drawn, what is marked, and the lines of text below it."""

    fabric: Fabric
    marks: Marks = Marks()
    lines: tuple[str, ...] = ()
    drawing: Drawing = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "drawing", draw(self.fabric))

    @property
    def text(self) -> tuple[str, ...]:
        """The lines below the drawing: the network, how it is drawn, then those of this picture."""
        fabric = self.fabric
        counts = f"{fabric.servers} servers, {fabric.switches} switches, {len(fabric.link_ends)} links"
        return (f"{fabric.spec}: {counts}", fabric.family.layout_caption, *self.lines)

    @property
    def radius(self) -> float:
        """The radius of nodes."""
        return self.drawing.radius

    def colours(self) -> list[str | None]:
        """Per node the colour of its part; None for nodes outside all parts."""
        numbers = self.fabric.family.part_numbers()
        if numbers is None:
            return [None] * self.fabric.size
        return [None if part < 0 else COLOURS[part % len(COLOURS)] for part in numbers.tolist()]

    def curve(self, link: int) -> list[Points]:
        """The link as curves of three points (start, control, end); two for a link that wraps around."""
        start, end = self.drawing.points[self.fabric.link_ends[link, [0, 2]]]
        if not self.drawing.wraps[link]:
            return [np.array([start, self.drawing.controls[link], end])]
        step = _STUB * (end - start) / np.linalg.norm(end - start)
        return [np.array([start, start - step / 2, start - step]), np.array([end, end + step / 2, end + step])]

    def arrow(self, arrow: Arrow) -> Points:
        """Points along the link from an arrow's node: where the arrow's shaft begins, its tail, its tip."""
        is_back = int(self.fabric.link_ends[arrow.link, 0]) != arrow.node
        curves = self.curve(arrow.link)
        curve = curves[-1 if is_back else 0]
        if len(curves) == 1 and is_back:
            curve = curve[::-1]
        at = np.array([0.12, 0.42, 0.55] if len(curves) == 1 else [0.25, 0.6, 0.95])[:, None]
        points: Points = (1 - at) ** 2 * curve[0] + 2 * at * (1 - at) * curve[1] + at**2 * curve[2]
        return points

    def bounds(self) -> tuple[Points, Points]:
        """The lowest and the highest x and y of everything drawn."""
        curves = [piece for link in range(len(self.fabric.link_ends)) for piece in self.curve(link)]
        along = np.linspace(0, 1, 11)[:, None]
        inside = [
            (1 - along) ** 2 * start + 2 * along * (1 - along) * control + along**2 * end
            for start, control, end in curves
        ]
        shown = np.concatenate([self.drawing.points, *inside])
        return shown.min(axis=0), shown.max(axis=0)
