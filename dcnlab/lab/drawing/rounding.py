"""Links that go round the nodes they would pass through, and nodes small enough for the room that is left."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topos.constructions.layout import Points
from topos.graph import IntArray

#: Above this many links they are not led round nodes: there is no room.
LARGEST = 600
#: The radius of nodes, and the most of it as a share of the distance to the next node.
RADIUS, _SHARE = 0.16, 0.42
#: The distance that a link keeps from other nodes, in radii; nodes shrink to this share of their radius for it.
_ROOM, _LEAST = 1.12, 0.72
#: Points of a link that are looked at: so far apart, but not more nor fewer than this.
_APART, _FEWEST, _MOST = 0.06, 40, 300
#: A link moves at most so far to its side (neighbours on a grid are 1 apart).
_FARTHEST = 2.5
#: Where the control point of a link may be: the share of its length along it, and to its side.
_PLACES = tuple(
    (along, sign * aside)
    for aside in (0.06, 0.12, 0.2, 0.3, 0.42, 0.56, 0.75)
    for sign in (1, -1)
    for along in (0.5, 0.25, 0.75, 0.0, 1.0)
)


def round_nodes(points: Points, ends: IntArray, controls: Points) -> tuple[Points, NDArray[np.bool_]]:
    """The control points of the links' quadratic curves, and which links have a new one: those that would
    pass through a node, and the nearest curve round it."""
    chosen, room = controls.copy(), _ROOM * radius(points)
    most = clearance(points, ends, chosen)
    crowded = np.flatnonzero(most < room)
    start, along = points[ends[:, 0]], points[ends[:, 1]] - points[ends[:, 0]]
    aside = np.stack([along[:, 1], -along[:, 0]], axis=1)
    lengths, crossing = np.linalg.norm(along, axis=1), crowded
    for share, bow in _PLACES:
        crowded = crowded[abs(bow) * lengths[crowded] <= _FARTHEST]
        if not len(crowded):
            break
        tried = start[crowded] + share * along[crowded] + 2 * bow * aside[crowded]
        clear = clearance(points, ends[crowded], tried)
        better = clear > most[crowded] + 1e-9
        chosen[crowded[better]], most[crowded[better]] = tried[better], clear[better]
        crowded = crowded[most[crowded] < room]
    lost = crossing[most[crossing] < _LEAST * room / _ROOM]  # no curve helps: the straightest is the best
    chosen[lost] = controls[lost]
    return chosen, np.asarray((chosen != controls).any(axis=1))


def clearance(points: Points, ends: IntArray, controls: Points) -> Points:
    """Per link the smallest distance of its curve to a node that it does not join (infinite without one)."""
    from scipy.spatial import KDTree  # a fifth of a second: only for drawings

    start, end = points[ends[:, 0]], points[ends[:, 1]]
    longest = float(np.linalg.norm(end - start, axis=1).max(initial=0.0))
    at = np.linspace(0.005, 0.995, int(np.clip(longest / _APART, _FEWEST, _MOST)))[:, None, None]
    curves = (1 - at) ** 2 * start + 2 * at * (1 - at) * controls + at**2 * end
    gaps, nodes = map(np.asarray, KDTree(points).query(curves, k=3))  # its two ends are among the nearest
    own = (nodes[..., None] == ends[None, :, None, :]).any(axis=3)
    least: Points = np.where(own, np.inf, gaps).min(axis=2).min(axis=0, initial=np.inf)
    return least


def radius(points: Points, least: float = np.inf) -> float:
    """The radius of nodes, as large as the distances between them allow, and ``least``, that of links to
    nodes: unless nodes would be much smaller for a few links."""
    from scipy.spatial import KDTree

    if len(points) < 2:
        return RADIUS
    gaps = np.asarray(KDTree(points).query(points, k=2)[0])[:, 1]
    wanted = min(RADIUS, _SHARE * float(np.quantile(gaps, 1 / 8, method="lower")))
    return 0.97 * least if _LEAST * wanted < 0.97 * least < wanted else wanted
