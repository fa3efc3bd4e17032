"""A drawing of a network: where its nodes stand, and which links bow so that they hide behind no node."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lab.view.places import Points, places
from topos.graph import Fabric

#: A link that would pass another node closer than this bows; by this share of its length.
_CLEARANCE, _BOW = 0.14, 0.16


@dataclass(frozen=True)
class Drawing:
    """``points`` has a row (x, y) per node; ``bows`` says per link by which share of its length
    its middle is moved to its left (0: a straight line)."""

    points: Points
    bows: Points


def draw(fabric: Fabric) -> Drawing:
    """The drawing of a fabric; always the same for the same fabric."""
    points, ends = places(fabric), fabric.cables[:, [0, 2]]
    return Drawing(points, _beside_each_other(ends) + _round_others(points, ends))


def _beside_each_other(ends: NDArray[np.int32]) -> Points:
    """Bows of parallel links, each more than the one before."""
    seen: Counter[tuple[int, int]] = Counter()
    bows = np.zeros(len(ends))
    for number, (a, b) in enumerate(ends.tolist()):
        pair = min(a, b), max(a, b)
        bows[number] = _BOW * seen[pair] * (1 if a < b else -1)
        seen[pair] += 1
    return bows


def _round_others(points: Points, ends: NDArray[np.int32]) -> Points:
    """Bows of links that would pass too close by another node, as in the rows of a grid."""
    return np.array([_BOW * _passes_close(points, a, b) for a, b in ends.tolist()])


def _passes_close(points: Points, a: int, b: int) -> bool:
    start, along = points[a], points[b] - points[a]
    length = float(np.hypot(*along))
    if not length:
        return False
    offsets = points - start
    share = offsets @ along / length**2
    away = np.abs(offsets @ np.array([-along[1], along[0]])) / length
    near = (away < _CLEARANCE) & (share > 0.02) & (share < 0.98)
    near[[a, b]] = False
    return bool(near.any())
