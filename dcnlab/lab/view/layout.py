"""A drawing of a network: where its nodes stand, and which links bow so that they hide behind no node."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topos.fabric import Fabric
from topos.layout import Points, positions

#: A link that would pass another node closer than this bows; by a share of its length.
_CLEARANCE, _BOW = 0.14, 0.16
#: What is tried in turn.
_BOWS = (0.0, _BOW, -_BOW, _BOW / 2, -_BOW / 2, 1.6 * _BOW, -1.6 * _BOW)


@dataclass(frozen=True)
class Drawing:
    """``points`` has a row (x, y) per node; ``bows`` says per link by which share of its length
    its middle is moved to its left (0: a straight line)."""

    points: Points
    bows: Points


def draw(fabric: Fabric) -> Drawing:
    """The drawing of a fabric; always the same for the same fabric."""
    points, ends = positions(fabric), fabric.link_ends[:, [0, 2]]
    return Drawing(points, _round_others(points, ends, _beside_each_other(ends)))


def _beside_each_other(ends: NDArray[np.int32]) -> Points:
    """Bows of parallel links, each more than the one before."""
    seen: Counter[tuple[int, int]] = Counter()
    bows = np.zeros(len(ends))
    for number, (a, b) in enumerate(ends.tolist()):
        pair = min(a, b), max(a, b)
        bows[number] = _BOW * seen[pair] * (1 if a < b else -1)
        seen[pair] += 1
    return bows


def _round_others(points: Points, ends: NDArray[np.int32], bows: Points) -> Points:
    """``bows``, more of them where a link would pass too close by another node, as in the rows of a grid."""
    room, pairs = _room(points), zip(ends.tolist(), bows.tolist(), strict=True)
    return np.array([_free(points, a, b, bow, room) for (a, b), bow in pairs])


def _room(points: Points) -> float:
    """How far links keep away from nodes; less where nodes stand, and so are drawn, close together."""
    gaps = np.linalg.norm(points[:, None] - points[None], axis=2)
    np.fill_diagonal(gaps, np.inf)
    return min(_CLEARANCE, 0.38 * float(np.quantile(gaps.min(axis=1), 1 / 8, method="lower")))


def _free(points: Points, a: int, b: int, bow: float, room: float) -> float:
    """The first bow that keeps clear of other nodes; where none does, the one that does best."""
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
    """How close a link comes to other nodes."""
    along = end - start
    aside = bow * np.array([along[1], -along[0]])
    share = np.linspace(0.02, 0.98, 33)[:, None]
    curve = start + share * along + 4 * share * (1 - share) * aside
    gaps = np.linalg.norm(curve[:, None] - others[None], axis=2)
    return float(gaps.min(initial=np.inf))
