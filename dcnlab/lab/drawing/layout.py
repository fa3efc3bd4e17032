"""A drawing of a network: positions of nodes, and curved links where a straight one would cross a node."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topos.fabric import Fabric
from topos.layout import Points, positions

#: A link that would pass another node closer than this is curved; by a share of its length.
_CLEARANCE, _BOW = 0.14, 0.16
#: The curvatures to try, in this order.
_BOWS = (0.0, _BOW, -_BOW, _BOW / 2, -_BOW / 2, 1.6 * _BOW, -1.6 * _BOW)


@dataclass(frozen=True)
class Drawing:
    """``points``: float[nodes, 2], x and y of each node; ``bows``: float[links], the distance by which the
    middle of each link moves to its left, as a share of its length (0: a straight line)."""

    points: Points
    bows: Points


def draw(fabric: Fabric) -> Drawing:
    """The drawing of a fabric; deterministic."""
    points, ends = positions(fabric), fabric.link_ends[:, [0, 2]]
    return Drawing(points, _round_others(points, ends, _beside_each_other(ends)))


def _beside_each_other(ends: NDArray[np.int32]) -> Points:
    """Bows of parallel links, increasing in turn."""
    seen: Counter[tuple[int, int]] = Counter()
    bows = np.zeros(len(ends))
    for number, (a, b) in enumerate(ends.tolist()):
        pair = min(a, b), max(a, b)
        bows[number] = _BOW * seen[pair] * (1 if a < b else -1)
        seen[pair] += 1
    return bows


def _round_others(points: Points, ends: NDArray[np.int32], bows: Points) -> Points:
    """``bows``, and more where a link would pass too close to another node, as in rows of a grid."""
    room, pairs = _room(points), zip(ends.tolist(), bows.tolist(), strict=True)
    return np.array([_free(points, a, b, bow, room) for (a, b), bow in pairs])


def _room(points: Points) -> float:
    """The distance that links keep from nodes; less where nodes are close together."""
    gaps = np.linalg.norm(points[:, None] - points[None], axis=2)
    np.fill_diagonal(gaps, np.inf)
    return min(_CLEARANCE, 0.38 * float(np.quantile(gaps.min(axis=1), 1 / 8, method="lower")))


def _free(points: Points, a: int, b: int, bow: float, room: float) -> float:
    """The first bow with enough distance to other nodes; if there is none, the one with the most."""
    others = np.delete(points, [a, b], axis=0)
    best, most = bow, -1.0
    for more in _BOWS:
        clear = _clearance(points[a], points[b], bow + more, others)
        if clear >= room:
            return bow + more
        if clear > most:
            best, most = bow + more, clear
    return best


def _clearance(start: Points, end: Points, bow: float, others: Points) -> float:
    """The smallest distance of a link to other nodes."""
    along = end - start
    aside = bow * np.array([along[1], -along[0]])
    share = np.linspace(0.02, 0.98, 33)[:, None]
    curve = start + share * along + 4 * share * (1 - share) * aside
    gaps = np.linalg.norm(curve[:, None] - others[None], axis=2)
    return float(gaps.min(initial=np.inf))
