"""Links between the same two parts of a structure, drawn as one bundle."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topos.constructions.layout import Points
from topos.graph import IntArray

#: Above this many nodes links are bundled.
BUNDLED = 300
#: How far the middle of a link moves to that of its bundle; shorter links stay straight (neighbours on a grid
#: are 1 apart).
_STRENGTH, _SHORT = 0.85, 1.6
#: How far the middle of a bundle moves to the middle of the drawing, so that bundles pass beside parts.
_INWARD = 0.15


def bundle(points: Points, ends: IntArray, parts: NDArray[np.int64] | None) -> tuple[Points, NDArray[np.bool_]]:
    """The control point of each link's quadratic curve, and whether the link is in a bundle: all long links
    between two parts pass near one point."""
    middles = points[ends].mean(axis=1)
    if parts is None or not len(ends):
        return middles, np.zeros(len(ends), dtype=np.bool_)
    lengths = np.linalg.norm(points[ends[:, 1]] - points[ends[:, 0]], axis=1)
    sides = np.sort(_with_blocks(parts)[ends], axis=1)
    long = (sides[:, 0] != sides[:, 1]) & (lengths > _SHORT)
    bundles, number = np.unique(sides[long], axis=0, return_inverse=True)
    sums = np.zeros((len(bundles), 2))
    np.add.at(sums, number.ravel(), middles[long])
    means = sums / np.bincount(number.ravel(), minlength=len(bundles))[:, None]
    means += _INWARD * (points.mean(axis=0) - means)
    controls = middles.copy()
    controls[long] += 2 * _STRENGTH * (means[number.ravel()] - middles[long])
    return controls, long


def _with_blocks(parts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The parts; nodes outside all of them, such as core switches, as blocks of one size each."""
    numbers, outside = parts.copy(), np.flatnonzero(parts < 0)
    count = int(parts.max(initial=0)) + 1
    numbers[outside] = count + np.arange(len(outside)) * count // max(1, len(outside))
    return numbers
