"""Positions of nodes in drawings, as in the papers' figures: grids, cubes, levels, circles; else by distance.

A position is a row (x, y).  Neighbours on a grid are 1 apart; y grows downwards, as on a screen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from topos.fabric import Fabric
from topos.graph import IntArray

Points = NDArray[np.float64]
#: Points as x + iy: a product with a number of absolute value 1 turns them.
Complex = NDArray[np.complex128]

#: More dimensions are drawn by distance.
MAX_DIMENSIONS, MAX_BITS = 3, 6
#: Hosts are drawn this far from their switch; an only one farther, as no other host is between two switches.
_HOST, _ONLY_HOST = 0.34, 0.45
#: The distance of neighbours on the widest level; that of two levels, as a share of its width, and at least.
_NEXT, _STEP, _LEAST_STEP = 0.4, 0.16, 0.8
#: Cayley graphs of more vertices are drawn by distance.
MOST_DRAWN = 5040
#: The room between parts in a circle, and the turns of a part that are tried.
_BETWEEN_PARTS, _TURNS = 0.55, 48
#: The length of a cube's edge with servers on it.
CORNERS_APART = 3.6
#: The distance of two rings, that of neighbours on a full ring; how often the order on rings is improved, and
#: how often neighbours push each other apart.
_RING, _RING_GAP, _SWEEPS, _PUSHES = 1.3, 1.0, 12, 300
#: Above this many nodes, springs from a spectral start instead of exact distances: seconds, not minutes.
_EXACT = 250


def positions(fabric: Fabric) -> Points:
    """A row (x, y) per node: the family's drawing, or one by distances."""
    points = fabric.family.layout()
    return by_distance(fabric.size, fabric.link_ends[:, [0, 2]]) if points is None else points


def grid(sizes: tuple[int, ...]) -> Points | None:
    """The points of a grid with two or three dimensions, in row-major order; the first of three dimensions is
    drawn obliquely.  None for other numbers of dimensions."""
    if not 1 < len(sizes) <= MAX_DIMENSIONS:
        return None
    *deep, _, _ = sizes
    apart = 1.0 if not deep else max(2.0, 0.9 * deep[0])
    axes = np.array([[0.9, -0.7], [0.0, apart], [apart, 0.0]])[-len(sizes) :]
    coordinates = np.stack(np.unravel_index(np.arange(math.prod(sizes)), sizes), axis=1)
    points: Points = coordinates @ axes
    return points


def with_hosts_around(switches: Points, per_switch: NDArray[np.int64]) -> Points:
    """Hosts around their switches, between the directions of a grid's links; then the switches.  Switch v has
    ``per_switch[v]`` hosts."""
    most = int(per_switch.max(initial=0))
    turn = math.pi / 4 + 2 * math.pi * np.arange(most) / max(4, most)
    around = (_HOST if most > 1 else _ONLY_HOST) * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    there = np.arange(most) < per_switch[:, None]
    return np.concatenate([(switches[:, None] + around)[there], switches])


def beside(points: Points, taken: Points) -> Points:
    """The points; those near a taken one are moved by half a step."""
    gaps = np.linalg.norm(points[:, None] - taken[None], axis=2).min(axis=1)
    return points + np.where(gaps < 0.3, 0.5, 0.0)[:, None]


def levels(sizes: Sequence[int]) -> Points:
    """Rows with these numbers of nodes, from the bottom up, all of the same width."""
    width = _NEXT * max(sizes)
    step = max(_LEAST_STEP, _STEP * width)
    rows = [
        np.stack([(np.arange(size) + 0.5) * width / size, np.full(size, -height * step)], axis=1)
        for height, size in enumerate(sizes)
    ]
    return np.concatenate(rows)


def corners(bits: int) -> Points:
    """The corners of a hypercube by their addresses: bits 0 to 2 as a solid cube, three more as a cube of
    such cubes."""
    axes = np.array([[1.0, 0.0], [0.0, -1.0], [0.5, -0.4], [2.2, 0.3], [0.3, -2.2], [1.5, -1.3]])
    address = np.arange(2**bits)[:, None] >> np.arange(bits) & 1
    points: Points = address @ axes[:bits]
    return points


def along_edges(
    switches: Points, here: NDArray[np.int64], there: NDArray[np.int64], lane: NDArray[np.float64]
) -> Points:
    """Servers near the switch ``here`` on the straight line to the switch ``there``; those of lane 0 on the
    line, those of other lanes beside it."""
    along = switches[there] - switches[here]
    side = np.stack([-along[:, 1], along[:, 0]], axis=1) / np.linalg.norm(along, axis=1)[:, None]
    side[here > there] *= -1  # the same side of an edge, seen from both of its ends
    points: Points = switches[here] + 0.28 * along + 0.55 * lane[:, None] * side
    return points


def in_cosets(inner: Complex, members: IntArray, ends: IntArray) -> Points:
    """Parts that look alike in a circle, each turned so that its links lead towards the parts that they
    join.  ``members``: a row per part, of the vertices at the points ``inner``; ``ends``: edges, rows of two
    vertices."""
    parts, size = members.shape
    part = np.empty(members.size, dtype=np.int64)
    part[members.ravel()] = np.repeat(np.arange(parts), size)
    points = np.empty(members.size, dtype=np.complex128)
    centres = circle(parts) * (np.abs(inner).max() + _BETWEEN_PARTS) / math.sin(math.pi / max(2, parts))
    both = np.concatenate([ends, ends[:, ::-1]])
    outer = both[part[both[:, 0]] != part[both[:, 1]]]
    shapes = np.concatenate([circle(_TURNS)[:, None] * inner, circle(_TURNS)[:, None] * inner.conj()])
    for number, row in enumerate(members):
        place = np.empty(members.size, dtype=np.int64)
        place[row] = np.arange(size)
        mine = outer[part[outer[:, 0]] == number]
        shape = shapes[0]
        if len(mine):
            gaps = np.abs(centres[number] + shapes[:, place[mine[:, 0]]] - centres[part[mine[:, 1]]])
            shape = shapes[int(np.argmin(gaps.sum(axis=1).round(9)))]
        points[row] = centres[number] + shape
    return scaled(real(points), ends)


def rings(size: int, ends: IntArray) -> Points:
    """Vertices on rings round the first: a ring holds those of one distance, near the vertices that they join.
    ``ends``: edges of a connected graph, rows of two vertices."""
    neighbours = _neighbours(size, ends)
    outer, radii = _by_level(neighbours)[1:], [0.0]
    for level in outer:
        radii.append(max(radii[-1] + _RING, len(level) * _RING_GAP / (2 * math.pi)))
    turn, points = np.zeros(size), np.zeros((size, 2))
    for _ in range(_SWEEPS):
        for level, radius in zip(outer, radii[1:], strict=True):
            wanted = np.array([np.exp(1j * turn[neighbours[v]]).sum() for v in level])
            turn[level] = _round_ring(wanted, _RING_GAP / radius)
            points[level] = radius * real(np.exp(1j * turn[level]))
    return points


def ring_numbers(size: int, ends: IntArray) -> NDArray[np.int64]:
    """The ring of each vertex: its distance from the first."""
    numbers = np.zeros(size, dtype=np.int64)
    for number, level in enumerate(_by_level(_neighbours(size, ends))):
        numbers[level] = number
    return numbers


def _neighbours(size: int, ends: IntArray) -> list[list[int]]:
    adjacent: list[list[int]] = [[] for _ in range(size)]
    for a, b in ends.tolist():
        adjacent[a].append(b)
        adjacent[b].append(a)
    return adjacent


def _by_level(neighbours: list[list[int]]) -> list[list[int]]:
    """The vertices by their distance from the first."""
    levels, seen = [[0]], {0}
    while levels[-1]:
        levels.append(list(dict.fromkeys(v for u in levels[-1] for v in neighbours[u] if v not in seen)))
        seen.update(levels[-1])
    return levels[:-1]


def _round_ring(wanted: Complex, gap: float) -> NDArray[np.float64]:
    """The angles of a ring's vertices, in the order of the directions that they want: evenly on the first ring
    and on one that is half full, else at those directions, moved at least about ``gap`` apart."""
    directions = np.angle(wanted) % (2 * math.pi)
    order = np.argsort(directions, kind="stable")
    angles, spread = directions[order], np.empty(len(wanted))
    if len(wanted) * gap > math.pi or not np.abs(wanted - wanted[0]).any():
        even = 2 * math.pi * np.arange(len(wanted)) / len(wanted)
        angles = even + np.angle((wanted[order] * np.exp(-1j * even)).sum())
    else:
        for _ in range(_PUSHES):
            after = np.append(angles[1:], angles[:1] + 2 * math.pi) - angles
            push = np.maximum(0.0, gap - after) / 2
            angles = angles - push + np.roll(push, 1)
    spread[order] = angles
    return spread


def circle(count: int) -> Complex:
    """Points on a circle of radius 1 around 0, the first at its top."""
    points: Complex = np.exp(2j * math.pi * np.arange(count) / count - 0.5j * math.pi)
    return points


def real(points: Complex) -> Points:
    """Rows (x, y) from numbers x + iy."""
    return np.stack([points.real, points.imag], axis=1)


def by_distance(size: int, ends: IntArray) -> Points:
    """Distances in the drawing like distances in the graph, whose edges are rows of two nodes."""
    import networkx as nx  # a third of a second: only for drawings

    graph = nx.Graph()
    graph.add_nodes_from(range(size))
    graph.add_edges_from(ends.tolist())
    if size <= _EXACT and nx.is_connected(graph):
        places = nx.kamada_kawai_layout(graph)
    else:
        places = nx.spring_layout(graph, pos=nx.spectral_layout(graph), seed=1, iterations=100)
    return scaled(np.array([places[node] for node in range(size)]), ends)


def scaled(points: Points, ends: IntArray) -> Points:
    """The points at a scale at which the links, rows of two nodes, have a median length of 1."""
    lengths = np.linalg.norm(points[ends[:, 0]] - points[ends[:, 1]], axis=1)
    unit = float(np.median(lengths)) if len(lengths) else 0.0
    return points / (unit or 1.0)
