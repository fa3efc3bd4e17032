"""Where nodes are drawn: on their coordinates where they have some, else by their distances.

Units are arbitrary; neighbours on a grid are 1 apart.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from addressing.grid import Grid
from topos.families.bcube import BCube
from topos.graph import Fabric

Points = NDArray[np.float64]
#: Above this many nodes, springs from a spectral start instead of exact distances: seconds, not minutes.
_EXACT = 250
#: Hosts are drawn this far from their switch.
_HOST = 0.34
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
    points, ends = _on_grid(fabric), fabric.cables[:, [0, 2]]
    if points is None:
        return Drawing(_by_distance(fabric), _beside_each_other(ends))
    return Drawing(points, _beside_each_other(ends) + _round_others(points, ends))


def _on_grid(fabric: Fabric) -> Points | None:
    """Nodes with two coordinates at them, their hosts around, other switches among or before the
    servers that they join; None where nodes have no coordinates or more of them."""
    if isinstance(fabric.family, BCube) and fabric.family.k == 1:
        return _bcube(fabric, fabric.family)
    if not Grid.fits(fabric.family):
        return None
    grid = Grid.of(fabric)
    if len(grid.sizes) != 2:
        return None
    points = np.full((fabric.size, 2), np.nan)
    for node in filter(grid.holds, range(fabric.size)):
        points[node] = grid.coordinates(node)[::-1]
    for node in range(fabric.servers, fabric.size):
        if not grid.holds(node):
            middle = points[list(fabric.neighbours(node))].mean(axis=0)
            points[node] = middle + 0.5 if (middle % 1 == 0).all() else middle  # off the others' places
    _place_hosts(fabric, points)
    return points


def _bcube(fabric: Fabric, family: BCube) -> Points:
    """Servers (a_1, a_0) in rows and columns, each row's and each column's switch before it."""
    points = np.array([family.digits(server) for server in range(fabric.servers)], dtype=float)
    before = (np.array([-0.75, 0.0]), np.array([0.0, -0.75]))
    switches = [
        points[min(fabric.neighbours(switch))] + before[family.level(switch)]
        for switch in range(fabric.servers, fabric.size)
    ]
    return np.concatenate([points, switches])


def _place_hosts(fabric: Fabric, points: Points) -> None:
    """Plain hosts around their switch, between the directions of a grid's links."""
    for switch in range(fabric.servers, fabric.size):
        hosts = [node for node in fabric.neighbours(switch) if fabric.is_plain(node)]
        for number, host in enumerate(hosts):
            angle = math.pi / 4 + 2 * math.pi * number / max(4, len(hosts))
            points[host] = points[switch] + _HOST * np.array([math.cos(angle), math.sin(angle)])


def _by_distance(fabric: Fabric) -> Points:
    """Drawn so that distances on paper are like distances in the network."""
    graph = nx.Graph()
    graph.add_nodes_from(range(fabric.size))
    graph.add_edges_from(fabric.cables[:, [0, 2]].tolist())
    if fabric.size <= _EXACT and nx.is_connected(graph):
        found = nx.kamada_kawai_layout(graph)
    else:
        found = nx.spring_layout(graph, pos=nx.spectral_layout(graph), seed=1, iterations=100)
    points = np.array([found[node] for node in range(fabric.size)])
    ends = fabric.cables[:, [0, 2]]
    lengths = np.linalg.norm(points[ends[:, 0]] - points[ends[:, 1]], axis=1)
    scaled: Points = points / (np.median(lengths) or 1.0)
    return scaled


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
