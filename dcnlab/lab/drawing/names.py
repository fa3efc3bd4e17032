"""Where the names of nodes are written: inside their node, or beside it where no other name is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dcnlab.lab.drawing.figure import Figure
from topos.constructions.layout import Points

#: Letters of a name inside its node, and how wide one is in sizes of the font.
_LETTERS, _WIDE = 5, 0.6
#: Sizes of fonts as shares of a node's radius: of short names and of others; the least that is written.
_SHORT, _LONG, _LEAST = 0.85, 0.68, 3.0
#: The size of names beside nodes, and how many nodes a drawing may have that names them so.
_BESIDE, _MOST = 11.0, 3000


@dataclass(frozen=True)
class Name:
    """A name at the middle of its text, with the size of its font, in pixels."""

    node: int
    text: str
    x: float
    y: float
    size: float


def names(figure: Figure, places: Points, radius: float, size: float = 0.0) -> Iterator[Name]:
    """The names of a figure whose nodes are at these pixels; ``size``: that of all fonts, 0: as nodes are."""
    fabric, titled = figure.fabric, figure.titled
    taken: dict[int, list[tuple[float, float, float]]] = {}
    order = sorted(fabric.nodes(), key=lambda node: node.kind == "server")  # switches first
    for node in order:
        if node.index in figure.folded:
            continue
        x, y = places[node.index].tolist()
        text = titled.get(node.index, node.name)
        own = size or radius * (_LONG if len(text) > 3 else _SHORT)
        fits = len(text) <= _LETTERS and _WIDE * own * len(text) <= 2.3 * radius and own > _LEAST
        if fits and node.index not in titled:
            yield Name(node.index, text, x, y, own)
        elif fabric.size <= _MOST:
            own = size or _BESIDE
            away, wide = radius + 0.65 * own, radius + (0.5 * _WIDE * len(text) + 0.3) * own
            around = ((x, y + away), (x, y - away), (x + wide, y), (x - wide, y))
            places_for = (Name(node.index, text, *place, own) for place in around)
            if free := next((one for one in places_for if _takes(taken, one)), None):
                yield free


def _takes(taken: dict[int, list[tuple[float, float, float]]], name: Name) -> bool:
    """Whether a name fits where it is, among those that are there; it is then."""
    half, high = 0.5 * _WIDE * name.size * len(name.text) + 1, 1.1 * name.size
    row = round(name.y / high)
    near = (one for number in (row - 1, row, row + 1) for one in taken.get(number, ()))
    if any(abs(y - name.y) < high and abs(x - name.x) < half + other for x, y, other in near):
        return False
    taken.setdefault(row, []).append((name.x, name.y, half))
    return True
