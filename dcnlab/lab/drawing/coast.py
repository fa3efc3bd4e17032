"""Coastlines below networks whose nodes are places on Earth: Natural Earth, from the npm package world-atlas.

``make assets`` and the build of a wheel install it; without it a map has no coast.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from topos.constructions.layout import Points

FILE = Path(__file__).parents[1] / "view" / "static" / "vendor" / "land.json"


def coast(low: Points, high: Points, scale: tuple[float, float], file: Path = FILE) -> list[Points]:
    """The coast between two corners of a drawing in which a degree is so much: lines of points (x, y)."""
    factors = np.array(scale) * (1, -1)
    lines: list[Points] = []
    for arc in _arcs(file):
        points = arc * factors
        inside: NDArray[np.bool_] = np.asarray(((points >= low) & (points <= high)).all(axis=1))
        seen = inside.copy()  # with the neighbours of those inside: lines lead out of the drawing
        seen[1:] |= inside[:-1]
        seen[:-1] |= inside[1:]
        for run in _runs(seen):
            line = np.clip(_coarser(points[run], float(max(high - low)) / 1500), low, high)
            if len(line) > 1:
                lines.append(line)
    return lines


@cache
def _arcs(file: Path) -> tuple[Points, ...]:
    """The arcs of a TopoJSON file as longitudes and latitudes; none where the file is not there."""
    try:
        read = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return ()
    scale, shift = (np.array(read["transform"][key]) for key in ("scale", "translate"))
    return tuple(np.cumsum(np.array(arc), axis=0) * scale + shift for arc in read["arcs"])


def _runs(seen: NDArray[np.bool_]) -> list[slice]:
    """The stretches in which all is seen."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], seen, [False]])))
    return [slice(begin, end) for begin, end in edges.reshape(-1, 2).tolist()]


def _coarser(points: Points, step: float) -> Points:
    """The points without those nearer than a step to the one before; first and last stay."""
    kept = [0]
    for number in range(1, len(points) - 1):
        if float(np.abs(points[number] - points[kept[-1]]).max()) >= step:
            kept.append(number)
    chosen: Points = points[[*kept, len(points) - 1]] if len(points) > 1 else points
    return chosen
