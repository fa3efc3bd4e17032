"""What a picture of a network shows, before it is written in any format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dcnlab.lab.drawing.layout import Drawing, draw
from dcnlab.lab.drawing.rounding import radius
from topos.constructions.layout import Points
from topos.fabric import Fabric

#: The length of each part of a link that wraps around; neighbours on a grid are 1 apart.
_STUB = 0.55
#: Hosts are numbers at their switch where there are more than so many, and the radius of nodes, in pixels, is
#: smaller.
_FEW, _DENSE = 8, 6.0
#: Pixels between neighbours on a grid, the most of a picture's side, and of an inch.
UNIT, MOST, INCH = 90.0, 2400.0, 96.0
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
class Look:
    """How a picture fits a page: its width in inches (0: as drawn; else its text has 7 pt), and whether it has
    a caption, and names of nodes."""

    width: float = 0.0
    caption: bool = True
    names: bool = True


@dataclass(frozen=True)
class Figure:
    """A picture: the network, how it is drawn, what is marked, and the lines of text below it."""

    fabric: Fabric
    marks: Marks = Marks()
    lines: tuple[str, ...] = ()
    look: Look = Look()
    drawing: Drawing = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "drawing", draw(self.fabric))

    @property
    def text(self) -> tuple[str, ...]:
        """The lines below the drawing: the network, how it is drawn, then those of this picture."""
        fabric = self.fabric
        counts = f"{fabric.servers} servers, {fabric.switches} switches, {len(fabric.link_ends)} links"
        return (f"{fabric.spec}: {counts}", f"{self.drawing.caption(fabric)}{self._hidden}", *self.lines)

    @property
    def _hidden(self) -> str:
        """A sentence on hosts that are not drawn."""
        if not self.folded:
            return ""
        sizes = set(self.counts.values())
        each = (
            f"{sizes.pop()} at each of {len(self.counts)} switches" if len(sizes) == 1 else "as many as written"
        )
        return f" {len(self.folded)} hosts are not drawn: {each}."

    @cached_property
    def hosts(self) -> Mapping[int, int]:
        """Return the switch of each server that hangs on one."""
        fabric = self.fabric
        links = ((server, list(fabric.ports(server))) for server in range(fabric.servers))
        return {
            server: ports[0][1].node
            for server, ports in links
            if len(ports) == 1 and ports[0][1].node >= fabric.servers
        }

    @cached_property
    def folded(self) -> frozenset[int]:
        """The hosts that are drawn as a number at their switch: in dense drawings with names all that are not
        marked."""
        wide, high = (np.ptp(self.drawing.points, axis=0) + 2 * self.drawing.radius).tolist()
        unit = INCH * self.look.width / wide if self.look.width else min(UNIT, MOST / max(wide, high))
        if not self.look.names or len(self.hosts) <= _FEW or self.drawing.radius * unit >= _DENSE:
            return frozenset()
        marked = {*self.marks.nodes, *(arrow.node for arrow in self.marks.arrows)}
        return frozenset(self.hosts) - marked

    @property
    def counts(self) -> Mapping[int, int]:
        """Count the hosts of each switch that are not drawn."""
        return Counter(self.hosts[server] for server in self.folded)

    @cached_property
    def titled(self) -> Mapping[int, str]:
        """The nodes that somebody has named, with their names."""
        family = self.fabric.family
        return {node: family.label(node) for node in family.node_names()} if family.named else {}

    @cached_property
    def links(self) -> tuple[int, ...]:
        """The links that are drawn."""
        ends = self.fabric.link_ends[:, [0, 2]].tolist()
        return tuple(link for link, pair in enumerate(ends) if not self.folded.intersection(pair))

    @cached_property
    def radius(self) -> float:
        """The radius of nodes: where hosts are numbers, others have their room."""
        if not self.folded:
            return self.drawing.radius
        others = [node for node in range(self.fabric.size) if node not in self.folded]
        return max(self.drawing.radius, radius(self.drawing.points[others]))

    def colours(self) -> list[str | None]:
        """Return the colour of each node's part; None for nodes outside all parts."""
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
        """The curve of an arrow, along the link from the edge of its node: start, control, tip."""
        is_back = int(self.fabric.link_ends[arrow.link, 0]) != arrow.node
        curves = self.curve(arrow.link)
        curve = curves[-1 if is_back else 0]
        if len(curves) == 1 and is_back:
            curve = curve[::-1]
        length = float(np.linalg.norm(curve[2] - curve[0]))
        begin, end = min(0.4, 1.1 * self.radius / max(length, 1e-9)), 0.55 if len(curves) == 1 else 0.95
        return _part(curve, begin, end)

    def bounds(self) -> tuple[Points, Points]:
        """The lowest and the highest x and y of everything drawn."""
        curves = [piece for link in self.links for piece in self.curve(link)]
        along = np.linspace(0, 1, 11)[:, None]
        inside = [
            (1 - along) ** 2 * start + 2 * along * (1 - along) * control + along**2 * end
            for start, control, end in curves
        ]
        seen = [node for node in range(self.fabric.size) if node not in self.folded]
        shown = np.concatenate([self.drawing.points[seen], *inside])
        return shown.min(axis=0), shown.max(axis=0)


def _part(curve: Points, begin: float, end: float) -> Points:
    """The part of a quadratic curve between two of its parameters, as a curve."""
    start, control, stop = curve

    def at(t: float) -> Points:
        point: Points = (1 - t) ** 2 * start + 2 * t * (1 - t) * control + t**2 * stop
        return point

    between = (1 - begin) * (1 - end) * start
    between = between + (begin * (1 - end) + end * (1 - begin)) * control + begin * end * stop
    return np.array([at(begin), between, at(end)])
