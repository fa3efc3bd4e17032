"""A drawing of a network: positions of nodes, and curved links where a straight one would cross a node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcnlab.lab.drawing.bundling import BUNDLED, bundle
from dcnlab.lab.drawing.coast import coast
from dcnlab.lab.drawing.rounding import LARGEST, clearance, radius, round_nodes
from topos.constructions.layout import MAX_DIMENSIONS, Points, positions
from topos.fabric import Fabric

#: A link that would pass another node closer than this is curved; by a share of its length.
_CLEARANCE, _BOW = 0.14, 0.16
#: The curvatures to try, in this order.
_BOWS = (0.0, _BOW, -_BOW, _BOW / 2, -_BOW / 2, 1.6 * _BOW, -1.6 * _BOW)


#: How far around the nodes of a map its coast is drawn, as a share of the map.
_COAST = 0.4

#: Links that wrap around at least so many others are stubs.
_LONG_ROW = 4


@dataclass(frozen=True)
class Drawing:
    """``points``: float[nodes, 2], x and y of each node; ``bows``: float[links], the distance by which the
    middle of each link moves to its left, as a share of its length (0: a straight line); ``controls``:
    float[links, 2], the control point of each link's quadratic curve; ``wraps``: bool[links], whether a link
    wraps around a large grid and is better drawn as a stub at each end; ``led``: bool[links], whether
    ``controls`` leads a link along others, or round nodes, rather than by its bow; ``radius``: that of nodes;
    ``faint``: bool[links], whether a link passes through a node that it does not join; ``coast``: where the
    drawing is a map, the lines of its coast."""

    points: Points
    bows: Points
    controls: Points
    wraps: NDArray[np.bool_]
    led: NDArray[np.bool_]
    radius: float
    faint: NDArray[np.bool_]
    coast: tuple[Points, ...] = ()

    def caption(self, fabric: Fabric) -> str:
        """How the network is drawn, in a sentence or two."""
        stubs = " Stubs continue at the opposite border." if self.wraps.any() else ""
        coast = " Coast: Natural Earth." if self.coast else ""
        return f"{fabric.family.layout_caption}{stubs}{coast}"


def draw(fabric: Fabric) -> Drawing:
    """The drawing of a fabric; deterministic."""
    points, ends = positions(fabric), fabric.link_ends[:, [0, 2]]
    if fabric.family.map_scale is not None:
        return _map(points, ends, fabric.family.map_scale)
    bows = _round_others(points, ends, _beside_each_other(ends))
    wraps = _wraps(fabric, ends) | fabric.family.wraps(ends)
    is_bundled = fabric.size > BUNDLED and fabric.family.bundles
    controls, led = bundle(points, ends, fabric.family.part_numbers() if is_bundled else None)
    led &= ~wraps
    along = points[ends[:, 1]] - points[ends[:, 0]]
    straight = points[ends].mean(axis=1) + 2 * bows[:, None] * np.stack([along[:, 1], -along[:, 0]], axis=1)
    controls = np.where(led[:, None], controls, straight)
    if len(ends) > LARGEST:
        return Drawing(points, bows, controls, wraps, led, radius(points), np.zeros(len(ends), dtype=np.bool_))
    whole = np.flatnonzero(~wraps)
    controls[whole], led[whole] = round_nodes(points, ends[whole], controls[whole])
    clear = clearance(points, ends, controls)
    size = radius(points, float(clear[whole].min(initial=np.inf)))
    return Drawing(points, bows, controls, wraps, led, size, (clear < size) & ~wraps)


def _map(points: Points, ends: NDArray[np.int32], scale: tuple[float, float]) -> Drawing:
    """Draw nodes where they are on Earth, and the coast; links are straight unless they are parallel."""
    bows, none = _beside_each_other(ends), np.zeros(len(ends), dtype=np.bool_)
    along = points[ends[:, 1]] - points[ends[:, 0]]
    controls = points[ends].mean(axis=1) + 2 * bows[:, None] * np.stack([along[:, 1], -along[:, 0]], axis=1)
    low, high = points.min(axis=0), points.max(axis=0)
    room = _COAST * float(max(high - low))
    lines = coast(low - room, high + room, scale)
    return Drawing(points, bows, controls, none, none, radius(points), none, tuple(lines))


def _wraps(fabric: Fabric, ends: NDArray[np.int32]) -> NDArray[np.bool_]:
    """The links between the first and the last of a long row of a torus that is drawn as a grid."""
    family = fabric.family
    sizes = family.grid_sizes
    if not family.grid_wraps or not 1 < len(sizes) <= MAX_DIMENSIONS or family.centric == "symmetric":
        return np.zeros(len(ends), dtype=np.bool_)
    vertices = ends.astype(np.int64) - (0 if family.centric == "server" else fabric.servers)
    inside: NDArray[np.bool_] = np.asarray((vertices >= 0) & (vertices < np.prod(sizes)))
    on_grid: NDArray[np.bool_] = np.asarray(inside.all(axis=1))
    places = np.stack(np.unravel_index(np.where(on_grid[:, None], vertices, 0), sizes), axis=-1)
    gaps: NDArray[np.int64] = np.asarray(np.abs(places[:, 0] - places[:, 1]))
    last = (gaps == np.array(sizes) - 1) & (gaps >= _LONG_ROW)
    return np.asarray(on_grid & ((gaps > 0).sum(axis=1) == 1) & last.any(axis=1), dtype=np.bool_)


def _beside_each_other(ends: NDArray[np.int32]) -> Points:
    """Return the bow of each link: that of parallel links grows from one to the next."""
    seen: Counter[tuple[int, int]] = Counter()
    bows = np.zeros(len(ends))
    for number, (a, b) in enumerate(ends.tolist()):
        pair = min(a, b), max(a, b)
        bows[number] = _BOW * seen[pair] * (1 if a < b else -1)
        seen[pair] += 1
    return bows


def _round_others(points: Points, ends: NDArray[np.int32], bows: Points) -> Points:
    """Return ``bows``, enlarged where a link would pass too close to another node, as in rows of a grid.

    A link gets the first curvature with enough distance to other nodes; if there is none, the one with most."""
    nearest, room = _nearest_nodes(points), _room(points)
    best, most = bows.copy(), np.full(len(ends), -1.0)
    crowded = np.arange(len(ends))
    for more in _BOWS:
        bow = bows[crowded] + more
        clear = nearest(ends[crowded], bow)
        better = (clear > most[crowded]) | (clear >= room)
        best[crowded[better]], most[crowded[better]] = bow[better], clear[better]
        crowded = crowded[clear < room]
    return best


def _room(points: Points) -> float:
    """The distance that links keep from nodes; less where nodes are close together."""
    from scipy.spatial import KDTree  # a fifth of a second: only for drawings

    if len(points) < 2:
        return _CLEARANCE
    gaps = np.asarray(KDTree(points).query(points, k=2)[0])[:, 1]
    return min(_CLEARANCE, 0.38 * float(np.quantile(gaps, 1 / 8, method="lower")))


def _nearest_nodes(points: Points) -> Callable[[NDArray[np.int32], Points], Points]:
    """Return a function that gives the smallest distance of each link to nodes that it does not join.

    Its arguments are links and their bows."""
    from scipy.spatial import KDTree

    tree, share = KDTree(points), np.linspace(0.02, 0.98, 33)[:, None]

    def clearance(ends: NDArray[np.int32], bows: Points) -> Points:
        start, along = points[ends[:, 0]], points[ends[:, 1]] - points[ends[:, 0]]
        aside = bows[:, None] * np.stack([along[:, 1], -along[:, 0]], axis=1)
        curves = start + share[..., None] * along + 4 * (share * (1 - share))[..., None] * aside
        # The two ends of the link are among the nearest nodes.
        gaps, nodes = map(np.asarray, tree.query(curves, k=3))
        own = (nodes[..., None] == ends[None, :, None, :]).any(axis=3)
        gaps_left: Points = np.where(own, np.inf, gaps).min(axis=2).min(axis=0, initial=np.inf)
        return gaps_left

    return clearance
